"""Every release with values of its own in the plans of the examples, the golden specs and the GPU matrix."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlcluster.catalog.components import pins
from mlcluster.plan import build
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.load import load, parse
from mlcluster.spec.problems import SpecInvalidError
from tests.charts.more_specs import more_specs
from tests.golden.test_gpu_matrix import combinations

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ValueSet:
    """A release whose chart renders like no other release of these plans, and the first plan that has it."""

    spec: str
    plan: Plan
    release: PlanRelease

    @property
    def chart(self) -> str:
        """Return name of the chart."""
        return self.release.chart.rpartition("/")[2]


@cache
def value_sets() -> tuple[ValueSet, ...]:
    """Return one entry for each chart and distinct values, in the order of the specs."""
    found: dict[tuple[str, str], ValueSet] = {}
    for name, spec in specs():
        plan = build(spec)
        for release in plan.releases:
            if release.chart and release.realisation != "present":
                found.setdefault((release.chart, values_key(release)), ValueSet(name, plan, release))
    return tuple(found.values())


def specs() -> Iterator[tuple[str, ClusterSpec]]:
    """Return every spec with its name."""
    files = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/golden/components/*/cluster.yaml")]
    for path in sorted(files):
        yield str(path.relative_to(ROOT)), load(path).spec
    for name, data in more_specs():
        yield name, parse(json.dumps(data).encode(), "cluster.yaml").spec
    for name, data in combinations():
        with suppress(SpecInvalidError):  # the matrix has combinations that are refused on purpose
            yield f"GPU matrix: {name}", parse(json.dumps(data).encode(), "cluster.yaml").spec


def chart_names() -> list[str]:
    """Return the charts of the catalog."""
    return sorted({pin.chart.rpartition("/")[2] for pin in pins().values() if pin.chart})


def values_key(release: PlanRelease) -> str:
    """Return a text that is equal for releases that render the same objects."""
    return json.dumps({"name": release.name, "namespace": release.namespace, "values": release.values}, sort_keys=True)
