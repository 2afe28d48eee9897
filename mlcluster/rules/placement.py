"""Rules on placement: every pod of a component has a pool, and GPU nodes have a taint."""

from collections.abc import Iterator

from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan, PlanPod, Pool
from mlcluster.plan.overhead import refusal
from mlcluster.plan.quota import for_teams
from mlcluster.plan.taints import HARD_EFFECTS
from mlcluster.quantities import canonical, subtract
from mlcluster.spec.suggestions import listed


def component_pods_schedule(plan: Plan) -> Iterator[Finding]:
    """SCH001: a component's pod fits no node of any pool."""
    for pod in plan.pods:
        reasons = [f"{pool.name} {why}" for pool in plan.pools if (why := _refuses(pool, pod))]
        if len(reasons) == len(plan.pools):
            yield finding(
                "SCH001",
                pod.spec_path,
                f"the {pod.kind} {_named(pod)} fits no pool: {'; '.join(reasons)} ({pod.evidence}: {pod.source})",
                f"{_room_for(reasons)}. If other nodes of the cluster accept it, allow this finding with that reason.",
            )


def daemon_sets_fit(plan: Plan) -> Iterator[Finding]:
    """SCH001: the nodes of a pool are too small for their daemon sets and reserved resources."""
    for pool in plan.pools:
        short = [name for name, amount in pool.overhead.items() if amount > pool.allocatable.get(name, 0)]
        if not short:
            continue
        terms = "; ".join(
            f"{name} {canonical(name, pool.overhead[name])} of {canonical(name, pool.allocatable.get(name, 0))}"
            for name in short
        )
        also = " and reserved resources" if any(pool.reserved.get(name) for name in short) else ""
        yield finding(
            "SCH001",
            pool.spec_path,
            f"daemon sets of components{also} request more than a node of {pool.name} has: {terms}; "
            "some of their pods stay Pending on each of its nodes",
            "Use larger nodes" + (", or reserve less." if also else "."),
        )


def _room_for(reasons: list[str]) -> str:
    """Return the hint for a pod that fits no pool: larger nodes if only resources are missing, else untainted ones."""
    too_small = any(" has too little " in reason for reason in reasons)
    return "Use larger nodes, or lower its requests" if too_small else "Add a pool without taints"


def first_nodes(plan: Plan) -> Iterator[Finding]:
    """SCH001: on EKS, no pool has initial nodes for the autoscaler, or for CoreDNS, which `up` waits for."""
    if plan.cluster.target != "eks":
        return
    pods = [pod for pod in plan.pods if pod.kind == "Deployment" and pod.priority_class == "system-cluster-critical"]
    homes = {pod.owner.name: [pool for pool in plan.pools if not _refuses(pool, pod)] for pod in pods}
    waiting = {owner: pools for owner, pools in homes.items() if pools and not any(pool.min_size for pool in pools)}
    if waiting:
        pool = next(iter(waiting.values()))[0]
        names = listed(dict.fromkeys(waiting))
        yield finding(
            "SCH001",
            pool.spec_path,
            f"no pool that accepts {names} has an initial node, and only they can start one",
            f"Set `minSize: {min(2, pool.max_size)}` for {pool.name}.",
        )


def _named(pod: PlanPod) -> str:
    owner = pod.owner.name
    return f"{pod.name} of {owner}" if pod.name and pod.name != owner else f"of {owner}"


def _refuses(pool: Pool, pod: PlanPod) -> str:
    """Return why no node of the pool accepts the pod, as text after the pool's name; "" if one does."""
    if kept_out := refusal(pod, pool):
        return kept_out
    # `daemon_sets_fit` checks the sum of all daemon sets: `usable` already excludes the requests of this one.
    room = subtract(pool.allocatable, pool.reserved) if pod.kind == "DaemonSet" else pool.usable
    short = [name for name, amount in pod.requests.items() if amount > room.get(name, 0)]
    return f"has too little {', '.join(short)}" if short else ""


def untainted_accelerators(plan: Plan) -> Iterator[Finding]:
    """GPU001: no taint keeps CPU pods off GPU nodes."""
    for pool in plan.pools:
        if pool.accelerator is None or any(
            taint.key == ACCELERATOR_TAINT and taint.effect in HARD_EFFECTS for taint in pool.taints
        ):
            continue
        yield finding(
            "GPU001",
            pool.spec_path,
            f"the nodes of {pool.name} have {pool.accelerator.gpus} GPUs and no {ACCELERATOR_TAINT} taint: "
            "CPU pods will fill them",
            f"Keep `gpu.taint`, or on an existing cluster taint the nodes with {ACCELERATOR_TAINT} and list the taint.",
        )


def nowhere_for_cpu_work(plan: Plan) -> Iterator[Finding]:
    """GPU002: no pool for teams accepts CPU pods."""
    if plan.teams and all(pool.accelerator is not None for pool in for_teams(plan.pools)):
        yield finding(
            "GPU002",
            ("nodePools",),
            "every pool for teams has GPUs: pods without GPUs (notebooks, data loading) have no pool",
            "Add a pool without GPUs.",
        )


def network_policies_enforced(plan: Plan) -> Iterator[Finding]:
    """NET001: a CNI may not enforce NetworkPolicy objects."""
    if not plan.teams or plan.cluster.target == "eks":
        return
    if plan.cluster.target == "local":
        why, hint = "the lab has no pod network", "Test them on a cluster whose CNI enforces NetworkPolicy."
    else:
        why = "mlcluster cannot check that the CNI of the cluster enforces them"
        hint = "Use a CNI that enforces NetworkPolicy (Cilium, Calico, VPC CNI with network policies enabled)."
    yield finding("NET001", ("teams",), f"network policies are created, but {why}", hint)
