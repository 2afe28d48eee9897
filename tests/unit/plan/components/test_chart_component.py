"""Declarative components: the parts that a ChartComponent becomes."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds, kinds_of_members
from mlcluster.plan.components.workloads import Workload
from mlcluster.plan.pools import plan_pools
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, cluster, planned_unchecked

pytestmark = pytest.mark.unit

EXAMPLE = ChartComponent(
    name="keda",
    values=lambda context: {"cluster": context.cluster},
    workloads=(
        Workload("controller", {"cpu": "100m"}, replicas=2, source="values over {source}"),
        Workload("hook", kind="Job", priority_class=""),
    ),
    crds=("gadgets.example.com",),
    webhook_probes=({"kind": "Gadget"},),
    member_kinds=MemberKinds("example.com", ("gadgets",)),
    disruption_budgets={"controller": {"app": "controller"}},
    namespaces={"keda": {"level": "privileged"}},
)


def context(target: Data = EXISTING, **settings: Any) -> ComponentContext:
    data = cluster(SYSTEM, TRAIN, target=target, components={"keda": settings})
    spec = ClusterSpec.model_validate(data)
    return ComponentContext(spec, plan_pools(spec), {name: ("components", name) for name in ("keda", "kueue")})


def test_an_installed_component_has_everything() -> None:
    made = EXAMPLE.contribute(context(version="9.9.9"))
    (release,) = made.releases
    assert (release.version, release.realisation) == ("9.9.9", "helm")
    assert (release.crds, release.webhook_probes) == (EXAMPLE.crds, EXAMPLE.webhook_probes)
    assert release.values == {"cluster": context().cluster}
    controller, hook = made.pods
    assert (controller.owner.id, controller.name, controller.replicas) == (release.id, "controller", 2)
    assert controller.requests == {"cpu": 100, "pods": 1}
    assert controller.source.startswith("values over kedacore")
    assert (hook.kind, hook.priority_class, hook.requests) == ("Job", "", {"pods": 1})
    assert kinds_of_members(entry for entry in made.objects if entry.manifest["kind"] == "ClusterRole") == (
        "gadgets.example.com",
    )
    (budget,) = (entry for entry in made.objects if entry.manifest["kind"] == "PodDisruptionBudget")
    assert budget.manifest["metadata"]["namespace"] == "keda"
    assert made.namespaces == EXAMPLE.namespaces


def test_the_lab_simulates_the_pods() -> None:
    made = EXAMPLE.contribute(context({"kind": "local"}))
    assert made.releases[0].realisation == "simulated"
    assert len(made.pods) == 2


def test_an_existing_installation_keeps_only_the_rights_of_members() -> None:
    made = EXAMPLE.contribute(context(install=False))
    (release,) = made.releases
    assert release.realisation == "present"
    assert (made.pods, made.namespaces) == ((), {})
    assert {entry.manifest["kind"] for entry in made.objects} == {"ClusterRole"}
    assert release.crds == EXAMPLE.crds, "resources wait for the CRDs of an existing installation too"
    (ignored,) = replace(EXAMPLE, awaits_existing=False).contribute(context(install=False)).releases
    assert (ignored.values, ignored.crds, ignored.webhook_probes) == ({}, (), ())


@pytest.mark.parametrize(
    "key",
    ["certManager", "keda", "jobSet", "trainer", "kubeRay", "leaderWorkerSet", "volcano", "gateway", "dcgmExporter"],
)
def test_no_existing_installation_has_pods_in_the_plan(key: str) -> None:
    plan = planned_unchecked(SYSTEM, TRAIN, target=EXISTING, components={key: {"install": False}})
    existing = {release.id for release in plan.releases if release.realisation == "present"}
    assert existing
    assert not [pod for pod in plan.pods if pod.owner.id in existing]
