"""The catalog and the plans against tests/charts/facts.json, the committed table of rendered charts.

The charts themselves are rendered in tests/lab/test_charts.py.
"""

from typing import Any

import pytest

from mlcluster.catalog.components import pins
from mlcluster.catalog.residue import residue_of
from mlcluster.catalog.signatures import all_signatures
from mlcluster.plan import job_kinds, names
from mlcluster.plan.chart_facts import ChartFacts
from mlcluster.plan.model import PlanPod
from mlcluster.quantities import parse
from tests.charts import comparison, table
from tests.charts.archive_versions import DIFFERENT
from tests.charts.sets import chart_names, value_sets

pytestmark = pytest.mark.unit

TABLE: dict[str, Any] = table.load()


def test_every_chart_of_the_catalog_is_in_the_table() -> None:
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
    assert comparison.residue_mismatches(residue_of(pin.name), chart, facts) == []
    signatures = all_signatures().get(pin.name)
    named = {workload for workload, shapes in TABLE[chart]["workloads"].items() if "hooks" not in shapes[0]}
    assert signatures is None or comparison.signature_mismatches(signatures, chart, facts, named) == []


@pytest.mark.parametrize("chart", [chart for chart in TABLE if TABLE[chart]["workloads"]])
def test_pods_of_every_plan_have_a_shape_of_the_table(chart: str) -> None:
    for one in value_sets():
        if one.chart != chart or one.release.realisation not in {"helm", "simulated"}:
            continue
        ours = {pod.workload: pod for pod in one.plan.pods if pod.owner.id == one.release.id}
        known = {name: pod for name, pod in ours.items() if name in TABLE[chart]["workloads"]}
        assert known, one.spec
        scaled = {
            entry.manifest["spec"]["scaleTargetRef"]["name"]: entry.manifest["spec"]["minReplicas"]
            for entry in one.plan.objects
            if entry.manifest["kind"] == "HorizontalPodAutoscaler"
        }
        for name, pod in known.items():
            replicas = {"replicas": scaled[name]} if name in scaled else {}
            theirs = [{**_of_table(shape), **replicas} for shape in TABLE[chart]["workloads"][name]]
            assert _shape(pod) in theirs, (one.spec, name)


def accounts(chart: str) -> set[str]:
    """Return the service accounts that workloads of a chart run as, hooks left out, which the chart itself makes."""
    made = set(TABLE[chart]["serviceAccounts"])
    shapes = [shape for shapes in TABLE[chart]["workloads"].values() for shape in shapes if "hooks" not in shape]
    return made & {f"{shape['namespace']}/{shape['serviceAccount']}" for shape in shapes if "serviceAccount" in shape}


@pytest.mark.parametrize("component", [name for name in [*job_kinds.USERS, "kueue"] if pins()[name].chart])
def test_policies_know_controllers_by_the_users_of_their_charts(component: str) -> None:
    user = names.KUEUE_USER if component == "kueue" else job_kinds.USERS[component]
    account = user.removeprefix("system:serviceaccount:").replace(":", "/")
    assert account in accounts(pins()[component].chart.rpartition("/")[2])


@pytest.mark.parametrize("name", ["karpenter", "cluster-autoscaler"])
def test_roles_on_aws_belong_to_the_service_accounts_of_the_charts(name: str) -> None:
    given = {
        f"{entry.inputs['namespace']}/{entry.inputs['serviceAccount']}"
        for one in value_sets()
        for entry in one.plan.resources
        if entry.type.endswith(":PodIdentityAssociation") and one.chart == name
    }
    assert given & accounts(name)


def test_prometheus_is_reached_by_a_service_of_its_chart() -> None:
    (plan,) = {one.plan.cluster.name: one for one in value_sets() if one.spec == "examples/eks-serving.yaml"}.values()
    adapter = next(release for release in plan.plan.releases if release.name == "prometheus-adapter")
    name, namespace = adapter.values["prometheus"]["url"].removeprefix("http://").split(".")[:2]
    assert f"{namespace}/{name}" in TABLE["kube-prometheus-stack"]["services"]


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
        crds=tuple(entry["crds"]),
        kept=tuple(entry["kept"]),
        webhooks=tuple(entry["webhooks"]),
        api_services=tuple(entry["apiServices"]),
        services=tuple(entry["services"]),
        service_accounts=tuple(entry["serviceAccounts"]),
        hook_residue=tuple(entry["hookResidue"]),
    )
