"""The catalogue and the plans against tests/charts/facts.json, the committed table of what charts render.

The charts themselves are rendered in tests/lab/test_charts.py.
"""

from typing import Any

import pytest

from mlcluster.catalog.components import pins
from mlcluster.catalog.leaves import leaves_of
from mlcluster.catalog.signs import all_signs
from mlcluster.plan.chart_facts import ChartFacts
from mlcluster.plan.model import PlanPod
from mlcluster.plan.quantities import parse
from mlcluster.plan.rendered_pods import workload_name
from tests.charts import comparison, table
from tests.charts.archive_versions import DIFFERENT
from tests.charts.sets import chart_names, value_sets

pytestmark = pytest.mark.unit

TABLE: dict[str, Any] = table.load()


def test_every_chart_of_the_catalogue_is_in_the_table() -> None:
    assert sorted(TABLE) == chart_names()


@pytest.mark.parametrize("chart", TABLE)
def test_the_table_is_of_the_pinned_version(chart: str) -> None:
    version = next(pin.version for pin in pins().values() if pin.chart.rpartition("/")[2] == chart)
    source = TABLE[chart]["source"].removeprefix(f"{chart}-").removesuffix(".tgz")
    same = source.removeprefix("v") == version.removeprefix("v")
    assert same or DIFFERENT.get(chart) == (version, source), "run `python -m tests.charts.table` (CONTRIBUTING.md)"


@pytest.mark.parametrize("chart", TABLE)
def test_residue_and_detection_signatures_are_the_tables(chart: str) -> None:
    pin = next(pin for pin in pins().values() if pin.chart.rpartition("/")[2] == chart)
    facts = [_facts(TABLE[chart])]
    assert comparison.leaves_mismatches(leaves_of(pin.name), chart, facts) == []
    signs = all_signs().get(pin.name)
    named = {workload for workload, shapes in TABLE[chart]["workloads"].items() if "hooks" not in shapes[0]}
    assert signs is None or comparison.signs_mismatches(signs, chart, facts, named) == []


@pytest.mark.parametrize("chart", [chart for chart in TABLE if TABLE[chart]["workloads"]])
def test_pods_of_every_plan_have_a_shape_of_the_table(chart: str) -> None:
    for one in value_sets():
        if one.chart != chart or one.release.realisation not in {"helm", "simulated"}:
            continue
        ours = {workload_name(pod): pod for pod in one.plan.pods if pod.owner == one.release.id}
        known = {name: pod for name, pod in ours.items() if name in TABLE[chart]["workloads"]}
        assert known, one.spec
        for name, pod in known.items():
            assert _shape(pod) in [_of_table(shape) for shape in TABLE[chart]["workloads"][name]], (one.spec, name)


def _shape(pod: PlanPod) -> dict[str, Any]:
    requests = {name: amount for name, amount in pod.requests.items() if name != "pods"}
    return {
        "kind": pod.kind,
        "namespace": pod.namespace,
        "requests": requests,
        "replicas": pod.replicas,
        "apart": pod.apart,
        "priorityClass": pod.priority_class,
    }


def _of_table(shape: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": shape["kind"],
        "namespace": shape["namespace"],
        "requests": {name: parse(name, text) for name, text in shape.get("requests", {}).items()},
        "replicas": shape["replicas"],
        "apart": shape.get("apart", False),
        "priorityClass": shape.get("priorityClass", ""),
    }


def _facts(entry: dict[str, Any]) -> ChartFacts:
    return ChartFacts(
        workloads=(),
        images=tuple(entry["images"]),
        definitions=tuple(entry["definitions"]),
        kept=tuple(entry["kept"]),
        webhooks=tuple(entry["webhooks"]),
        api_services=tuple(entry["apiServices"]),
        services=tuple(entry["services"]),
        service_accounts=tuple(entry["serviceAccounts"]),
        hook_residue=tuple(entry["hookResidue"]),
    )
