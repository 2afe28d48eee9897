"""Every guarantee of every team, at once and whole, is admitted and bound beside all controllers: no miss is allowed.

The specs are random (`tests.guaranteed`). Of each that validates, the lab gets the nodes, a workload for every pod of
its components, its policies, queues and teams. The real scheduler and Kueue do the rest.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan import build
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.kueue import kueue_configuration
from mlcluster.plan.components.simulated import simulated_pods
from mlcluster.plan.model import Manifest, Plan, PlanRelease
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.simulated_nodes import simulated_nodes
from mlcluster.progress import Silent
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components import Components
from mlcluster.spec.problems import SpecInvalidError
from mlcluster.spec.targets import LocalTarget
from tests.guaranteed import (
    EVERY_COMPONENT,
    INSTEAD_OF_OTHERS,
    WITHIN,
    Work,
    every_component,
    guaranteed_work,
    job,
    random_spec,
)
from tests.lab.workloads import condition
from tests.specs import SYSTEM, Data, checked, cluster
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
FEW = 24
MANY = 200
FIRST_OF_MANY = 1000
SYSTEM_NAMESPACES = frozenset({"default", "kube-system"})
IN_ORDER = (
    "PriorityClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "Topology",
    "ResourceFlavor",
    "Cohort",
    "ClusterQueue",
    "Namespace",
    "LimitRange",
    "ResourceQuota",
    "LocalQueue",
)
QUEUES = ("ClusterQueue", "Cohort", "ResourceFlavor")
KUEUE = "kueue.x-k8s.io/v1beta2"

Case = tuple[int, ClusterSpec, Plan]
"""A seed, its spec, its plan."""


def valid_specs(first: int) -> Iterator[Case]:
    """Yield the specs from a seed on that `validate` accepts without a reason under `allow`, with their plans."""
    seed = first
    while True:
        made = _accepted(random_spec(seed))
        if made is not None:
            yield seed, *made
        seed += 1


def _accepted(data: Data) -> tuple[ClusterSpec, Plan] | None:
    try:
        spec = checked(data)
    except SpecInvalidError:
        return None
    plan = build(spec)
    blocking = any(finding.blocks for finding in findings(plan, spec) if finding.id != "NET002")
    return None if blocking else (spec, plan)


@pytest.fixture(scope="module")
def kube(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Kube]:
    """Yield a control plane with Kueue, configured as `up` does it, and nothing else."""
    lab = make_lab("guarantees")
    lab.start(toolchain, Silent())
    spec = checked(cluster(SYSTEM, teams=[{"name": "a", "borrow": "all"}]))
    lab.start_kueue(kueue_configuration(ComponentContext(spec, (), {})), toolchain, Silent())
    with Kube.from_kubeconfig(lab.kubeconfig) as found:
        yield found
    lab.reset(Silent())


@pytest.mark.parametrize("number", range(FEW))
def test_every_guarantee_is_admitted_and_bound(
    kube: Kube, specs: list[tuple[int, ClusterSpec, Plan]], number: int
) -> None:
    seed, spec, plan = specs[number]
    _assert_guarantees_hold(kube, seed, spec, plan)


@pytest.fixture(scope="module")
def specs() -> list[Case]:
    """Return the first valid specs."""
    found = valid_specs(1)
    return [next(found) for _ in range(FEW)]


@pytest.mark.soak
def test_every_guarantee_of_many_more_specs_is_admitted_and_bound(kube: Kube) -> None:
    found = valid_specs(FIRST_OF_MANY)
    for _ in range(MANY):
        _assert_guarantees_hold(kube, *next(found))


def _assert_guarantees_hold(kube: Kube, seed: int, spec: ClusterSpec, plan: Plan) -> None:
    stand_ins = _stand_ins(plan)
    nodes = simulated_nodes(plan.cluster.name, LocalTarget(kind="local"), plan.pools)
    try:
        _make(kube, plan, stand_ins, [node.inputs for node in nodes])
        expected = _expected_pods(plan)
        _assert_bound(kube, f"seed {seed}: controllers", expected)
        jobs = [job(work, number) for number, work in enumerate(guaranteed_work(spec, plan))]
        for made in jobs:
            kube.create(made)
        _assert_bound(kube, f"seed {seed}: guarantees", expected + sum(made["spec"]["parallelism"] for made in jobs))
    finally:
        _clear(kube, plan, stand_ins, [node.inputs for node in nodes])


def _stand_ins(plan: Plan) -> list[Manifest]:
    """Return workloads with the pods of all components."""
    owners = dict.fromkeys(pod.owner for pod in plan.pods)
    releases = [
        PlanRelease(
            id=owner.id,
            name=owner.name,
            chart="",
            version="",
            repository="",
            namespace="",
            values={},
            needs=(),
            realisation="simulated",
            spec_path=(),
        )
        for owner in owners
    ]
    made = simulated_pods(plan.cluster.name, plan.pods, releases)
    return [entry.manifest for entries in made.values() for entry in entries]


def _expected_pods(plan: Plan) -> int:
    """Return the number of pods of all components."""
    single = sum(pod.replicas for pod in plan.pods if pod.kind not in {"DaemonSet", "Job"})
    daemons = (
        pool.max_size for pod in plan.pods if pod.kind == "DaemonSet" for pool in plan.pools if lands_on(pod, pool)
    )
    return single + sum(daemons)


def _make(kube: Kube, plan: Plan, stand_ins: list[Manifest], nodes: list[Manifest]) -> None:
    for node in nodes:
        kube.apply(node)
        kube.apply({**node, "spec": {}}, subresource="status")
    for namespace in {made["metadata"]["namespace"] for made in stand_ins} - SYSTEM_NAMESPACES:
        wait_for("the old namespace's end", partial(_not_ending, kube, namespace))
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    objects = [entry.manifest for kind in IN_ORDER for entry in plan.objects if entry.manifest["kind"] == kind]
    for made in (*objects, *stand_ins):
        kube.apply(made)
    wait_for("the queues of all teams", lambda: all(_is_active(kube, team.namespace) for team in plan.teams))


def _is_active(kube: Kube, namespace: str) -> bool:
    """Return whether Kueue knows the team's queue: jobs made before would get none."""
    queue = kube.get_object(KUEUE, "LocalQueue", "default", namespace)
    return condition(queue, "Active").get("status") == "True"


def _not_ending(kube: Kube, namespace: str) -> bool:
    found = kube.get_object("v1", "Namespace", namespace)
    return found is None or "deletionTimestamp" not in found["metadata"]


def _assert_bound(kube: Kube, what: str, count: int) -> None:
    """Wait until there are that many pods and each has a node; fail with the messages of the scheduler and Kueue."""

    def bound() -> bool:
        pods = kube.list("v1", "Pod")
        return len(pods) >= count and all(pod["spec"].get("nodeName") for pod in pods)

    try:
        wait_for(what, bound)
    except AssertionError as error:
        pods = kube.list("v1", "Pod")
        messages = [
            f"{entry['metadata']['namespace']}/{entry['metadata']['name']}: {said.get('message', '')}"
            for entry in (*pods, *kube.list(KUEUE, "Workload"))
            for said in (entry.get("status") or {}).get("conditions") or []
            if said["status"] == "False"
        ]
        raise AssertionError(f"{error}; {len(pods)} of {count} pods; " + "; ".join(messages[:20])) from None


def _clear(kube: Kube, plan: Plan, stand_ins: list[Manifest], nodes: list[Manifest]) -> None:
    """Take everything away that another spec's pods could meet; policies stay, the next spec overwrites them."""
    for team in plan.teams:
        for made in kube.list("batch/v1", "Job", team.namespace):
            kube.delete("batch/v1", "Job", made["metadata"]["name"], team.namespace)
    for made in stand_ins:
        kube.delete("apps/v1", made["kind"], made["metadata"]["name"], made["metadata"]["namespace"])
    wait_for("the pods' end", lambda: not kube.list("v1", "Pod"))
    for kind in QUEUES:
        for entry in plan.objects:
            if entry.manifest["kind"] == kind:
                kube.delete(KUEUE, kind, entry.manifest["metadata"]["name"])
    for team in plan.teams:
        kube.delete("v1", "Namespace", team.namespace)
    for node in nodes:
        kube.delete("v1", "Node", node["metadata"]["name"])


def test_the_generator_reaches_all_targets_and_forms_of_sharing() -> None:
    """Specs of all targets, with and without topology, slices, system pools; some that are refused."""
    few = [plan for (_, _, plan), _ in zip(valid_specs(1), range(FEW), strict=False)]
    assert {plan.cluster.target for plan in few} == {"local", "eks", "existing"}
    assert any(pool.system_only for plan in few for pool in plan.pools)
    assert any(pool.controllers for plan in few for pool in plan.pools if not pool.system_only)
    sharing = {pool.accelerator.sharing for plan in few for pool in plan.pools if pool.accelerator}
    assert sharing == {"whole", "mig", "timeSlicing", "mps"}
    assert any("topologyName" in entry.manifest["spec"] for plan in few for entry in plan.objects
               if entry.manifest["kind"] == "ResourceFlavor")  # fmt: skip


def test_with_topology_a_whole_node_is_reclaimed_from_borrowers(kube: Kube) -> None:
    """Quota alone does not prevent small borrowed pods on every node (docs/tenancy.md)."""
    pool = {"name": "places", "instanceType": "m7i.xlarge", "maxSize": 2, "topology": "auto"}
    teams = [{"name": "owner", "guarantee": {"places": {"nodes": 2}}}, {"name": "guest", "borrow": "all"}]
    spec = checked(cluster(pool, teams=teams))
    plan = build(spec)
    nodes = [node.inputs for node in simulated_nodes("atlas", LocalTarget(kind="local"), plan.pools)]
    try:
        _make(kube, plan, [], nodes)
        small = Work("guest", plan.pools[0], 1, {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"})
        for number, node in enumerate(nodes):
            made = job(small, number)
            made["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node["metadata"]["name"]
            kube.create(made)
        _assert_bound(kube, "borrowed pods on both nodes", 2)
        (whole,) = guaranteed_work(spec, plan)
        kube.create(job(replace(whole, count=1), 9))
        wait_for(
            "the owner's pod", lambda: [pod for pod in kube.list("v1", "Pod", "owner") if pod["spec"].get("nodeName")]
        )
    finally:
        _clear(kube, plan, [], nodes)


def test_every_component_on_the_smallest_nodes(kube: Kube) -> None:
    """With one node fewer the spec is refused with the arithmetic; with enough of them it runs whole."""
    nodes = 0
    while True:
        nodes += 1
        spec = checked(every_component(nodes))
        plan = build(spec)
        refused = [finding for finding in findings(plan, spec) if finding.blocks]
        assert {finding.id for finding in refused} <= {"SCH002"}
        assert all(f"system {nodes} x (cpu " in finding.message for finding in refused)
        if not refused:
            break
    assert 2 <= nodes < 10
    assert {component.name for component in plan.components} >= {"volcano", "kserve", "kube-prometheus-stack", "jobset"}
    _assert_guarantees_hold(kube, nodes, spec, plan)


def test_every_component_has_every_field_of_the_spec() -> None:
    known = {field.alias for field in Components.model_fields.values()}
    assert known == {*EVERY_COMPONENT} | INSTEAD_OF_OTHERS | WITHIN
