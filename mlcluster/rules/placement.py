"""What lands where."""

from collections.abc import Iterator

from mlcluster.findings import Finding, found
from mlcluster.plan.model import Plan
from mlcluster.plan.names import ACCELERATOR_TAINT
from mlcluster.rules.places import place


def untainted_accelerators(plan: Plan) -> Iterator[Finding]:
    """GPU001: nothing keeps CPU pods off these nodes."""
    for pool in plan.pools:
        if pool.accelerator is None or any(taint.key == ACCELERATOR_TAINT for taint in pool.taints):
            continue
        yield found(
            "GPU001",
            place(pool.spec_path),
            f"the nodes of {pool.name} have {pool.accelerator.gpus} GPUs and no {ACCELERATOR_TAINT} taint: "
            "CPU pods will fill them",
            f"leave gpu.taint on, or on an existing cluster taint the nodes with {ACCELERATOR_TAINT} and list it",
        )


def nowhere_for_cpu_work(plan: Plan) -> Iterator[Finding]:
    """GPU002: teams can submit CPU work to no pool."""
    if plan.teams and all(pool.accelerator is not None for pool in plan.pools):
        yield found(
            "GPU002",
            ("nodePools",),
            "every pool has GPUs: pods without one (notebooks, data loading, controllers) have nowhere to run",
            "add a pool without accelerators",
        )


def network_policies_enforced(plan: Plan) -> Iterator[Finding]:
    """NET001: a NetworkPolicy is only as good as the CNI that enforces it."""
    if not plan.teams or plan.cluster.target == "eks":
        return
    why = (
        "the lab has no pod network"
        if plan.cluster.target == "local"
        else "whether the cluster's CNI enforces them cannot be told from here"
    )
    yield found(
        "NET001",
        ("teams",),
        f"network policies are created, but {why}",
        "on an existing cluster use a CNI that enforces NetworkPolicy (Cilium, Calico, VPC CNI with it switched on)",
    )
