"""Webhooks without which the API server refuses requests: two replicas of the controller behind each, and a budget.

The charts are rendered with the values of every example and golden spec; the objects of the plan count with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.charts.archives import nearest
from mlcluster.charts.rendering import Renderer
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan.model import Manifest, Plan, PlanRelease
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import parse
from mlcluster.rules.upgrades import pin_of
from tests.charts import sources
from tests.charts.rendered import KUBERNETES
from tests.charts.sets import values_key
from tests.specs import plan_of_file

pytestmark = [pytest.mark.lab, sources.needs_archives]

ROOT = Path(__file__).parents[2]
SPECS = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests/golden/components").glob("*/cluster.yaml")])
WITHOUT_LEADER = {
    "cert-manager-webhook": "answers webhooks only",
    "volcano-admission": "answers webhooks only",
}
"""Deployment -> why its replicas elect no leader."""


@dataclass(frozen=True)
class Behind:
    """The Deployment behind a webhook that must be answered."""

    webhook: str
    deployment: Manifest
    objects: list[Manifest]
    plan: Plan


@pytest.fixture(scope="module")
def behind(toolchain: Toolchain) -> list[Behind]:
    """Return every webhook with `failurePolicy: Fail`, with its objects in the chart and in the plan."""
    renderer = Renderer(toolchain.path("helm"), KUBERNETES)
    found, seen = [], set()
    for path in SPECS:
        plan = plan_of_file(path)
        for release in plan.releases:
            if not _has_chart(release) or values_key(release) in seen:
                continue
            seen.add(values_key(release))
            found += list(_must_be_answered(_rendered(renderer, release), plan))
    return found


def _has_chart(release: PlanRelease) -> bool:
    """Return whether a release is of a chart of the catalog, and its pods are in the plan."""
    return pin_of(release) is not None and release.realisation in {"helm", "simulated"}


def _rendered(renderer: Renderer, release: PlanRelease) -> list[Manifest]:
    """Return the objects of the chart at the pinned version, or at the nearest one if the pin is ahead by a patch."""
    archive = nearest(sources.at_hand(), release.chart, release.version)
    assert archive is not None, f"{release.chart}: {sources.ABSENT}"
    made = renderer.objects(release, archive.path)
    return [{**entry, "metadata": {"namespace": release.namespace, **entry["metadata"]}} for entry in made]


def _must_be_answered(objects: list[Manifest], plan: Plan) -> Iterator[Behind]:
    for configuration in objects:
        for webhook in configuration.get("webhooks") or []:
            if webhook.get("failurePolicy", "Fail") != "Fail":
                continue
            service = webhook["clientConfig"]["service"]
            whole = [*objects, *(entry.manifest for entry in plan.objects)]
            (selector,) = [
                entry["spec"]["selector"]
                for entry in objects
                if (entry["kind"], entry["metadata"]["name"]) == ("Service", service["name"])
            ]
            deployments = [
                entry for entry in objects if entry["kind"] == "Deployment" and _selects(selector, _labels(entry))
            ]
            assert len(deployments) == 1, (webhook["name"], selector)
            yield Behind(f"{configuration['metadata']['name']}/{webhook['name']}", deployments[0], whole, plan)


def _labels(deployment: Manifest) -> Mapping[str, str]:
    found: Mapping[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return found


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


def _replicas(one: Behind) -> int:
    """Return the replicas that the chart sets, or that an HPA of the plan holds."""
    name = one.deployment["metadata"]["name"]
    for entry in one.objects:
        if entry["kind"] == "HorizontalPodAutoscaler" and entry["spec"]["scaleTargetRef"]["name"] == name:
            assert "replicas" not in one.deployment["spec"], f"{name}: Helm and an HPA both set its replicas"
            return int(entry["spec"]["minReplicas"])
    return int(one.deployment["spec"].get("replicas", 1))


def _budgets(one: Behind) -> list[Manifest]:
    return [
        entry["spec"]
        for entry in one.objects
        if entry["kind"] == "PodDisruptionBudget"
        and entry["metadata"]["namespace"] == one.deployment["metadata"]["namespace"]
        and _selects(entry["spec"]["selector"]["matchLabels"], _labels(one.deployment))
    ]


def test_well_known_controllers_are_among_the_deployments(behind: list[Behind]) -> None:
    assert {one.deployment["metadata"]["name"] for one in behind} >= {
        "cert-manager-webhook", "jobset-controller", "kserve-controller-manager", "kueue-controller-manager",
        "lws-controller-manager", "trainer-controller-manager", "volcano-admission",
    }  # fmt: skip


def test_every_webhook_has_two_replicas(behind: list[Behind]) -> None:
    assert {one.deployment["metadata"]["name"] for one in behind if _replicas(one) < 2} == set()


def test_a_disruption_budget_keeps_a_replica_while_nodes_drain(behind: list[Behind]) -> None:
    """And lets nodes drain: it allows one to go."""
    for one in behind:
        name = one.deployment["metadata"]["name"]
        budgets = _budgets(one)
        assert len(budgets) == 1, (name, budgets)
        (budget,) = budgets
        least = budget.get("minAvailable", _replicas(one) - int(budget.get("maxUnavailable", 0)))
        assert int(least) == _replicas(one) - 1, name


def test_replicas_prefer_two_nodes_and_can_run_on_one(behind: list[Behind]) -> None:
    for one in behind:
        pod = one.deployment["spec"]["template"]["spec"]
        spread = [entry["whenUnsatisfiable"] for entry in pod.get("topologySpreadConstraints") or []]
        anti: Mapping[str, Any] = (pod.get("affinity") or {}).get("podAntiAffinity") or {}
        preferred = [
            entry["podAffinityTerm"] for entry in anti.get("preferredDuringSchedulingIgnoredDuringExecution", [])
        ]
        name = one.deployment["metadata"]["name"]
        assert spread or preferred, name
        assert set(spread) <= {"ScheduleAnyway"}, name
        assert "requiredDuringSchedulingIgnoredDuringExecution" not in anti, name
        assert all(_selects(term["labelSelector"]["matchLabels"], _labels(one.deployment)) for term in preferred), name


def test_replicas_that_write_elect_a_leader(behind: list[Behind]) -> None:
    for one in behind:
        name = one.deployment["metadata"]["name"]
        if name in WITHOUT_LEADER:
            continue
        arguments = str(one.deployment["spec"]["template"]["spec"]["containers"])
        namespace = one.deployment["metadata"]["namespace"]
        configured = [
            text
            for entry in one.objects
            if entry["kind"] == "ConfigMap" and entry["metadata"]["namespace"] == namespace
            for text in (entry.get("data") or {}).values()
        ]
        assert "--leader-elect" in arguments or any(_elects(text) for text in configured), name


def _elects(text: str) -> bool:
    document = yaml.safe_load(text) if "leaderElect" in text else None
    return isinstance(document, dict) and document.get("leaderElection", {}).get("leaderElect") is True


def test_the_plan_counts_every_replica_as_the_chart_makes_it(behind: list[Behind]) -> None:
    for one in behind:
        name, spec = one.deployment["metadata"]["name"], one.deployment["spec"]["template"]["spec"]
        pods = [pod for pod in one.plan.pods if pod.name == name and pod.kind == "Deployment"]
        if not pods and one.plan.cluster.target == "local":  # a process of the lab
            continue
        (pod,) = pods
        assert pod.replicas == _replicas(one), name
        assert pod.requests == {**_requests(spec["containers"]), "pods": 1}, name
        assert toleration_manifests(pod.tolerations) == spec["tolerations"], name
        assert pod.priority_class == (spec.get("priorityClassName") or ""), name


def _requests(containers: list[Manifest]) -> dict[str, int]:
    found: dict[str, int] = {}
    for container in containers:
        for resource, amount in container["resources"]["requests"].items():
            found[resource] = found.get(resource, 0) + parse(resource, str(amount))
    return found
