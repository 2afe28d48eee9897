"""Rules on shared GPUs."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.plan.places import place
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.gpu_duties import IMAGE, owners

_WITH_METRICS = frozenset({"gpu-operator", "dcgm-exporter"})


def production_on_time_slices(plan: Plan) -> Iterator[Finding]:
    """GPU003: the most urgent tier of a team whose GPUs are all time slices."""
    first = max(plan.tiers, key=lambda tier: tier.value).name
    sharing = {pool.name: pool.accelerator.sharing for pool in plan.pools if pool.accelerator is not None}
    for team in plan.teams:
        pools = {quota.pool for quota in team.quotas if quota.pool in sharing}
        if first in team.tiers and pools and {sharing[pool] for pool in pools} == {"timeSlicing"}:
            yield finding(
                "GPU003",
                place(team.spec_path),
                f"team {team.name} may submit {first}, and has GPUs only as time slices of {', '.join(sorted(pools))}: "
                "whoever shares the GPU can end what production runs",
                "guarantee it whole GPUs or MIG instances, or name its tiers without this one",
            )


def experimental_sharing(plan: Plan) -> Iterator[Finding]:
    """GPU004: pools with MPS."""
    for pool in plan.pools:
        if pool.accelerator is not None and pool.accelerator.sharing == "mps":
            yield finding(
                "GPU004",
                (*place(pool.spec_path), "gpu", "mps"),
                f"MPS on {pool.name} is experimental in NVIDIA's device plugin: pods of one GPU share its faults",
                "use gpu.mig where the GPU has it",
            )


def metrics_of_gpus(plan: Plan) -> Iterator[Finding]:
    """GPU007: Prometheus without a DCGM exporter."""
    names = {component.name: component.spec_path for component in plan.components}
    exporters = {pod.name for pod in plan.pods} & {"nvidia-dcgm-exporter", "dcgm-exporter"}
    present = any(one.realisation == "present" and one.name in _WITH_METRICS for one in plan.components)
    has_gpus = any(pool.accelerator is not None for pool in plan.pools)
    if "kube-prometheus-stack" in names and has_gpus and not exporters and not present:
        yield finding(
            "GPU007",
            place(names["kube-prometheus-stack"]),
            "nothing in the plan exports metrics of GPUs: alerts on them and chargeback by use stay empty",
            "add components.dcgmExporter, with install: false where the cluster has one",
        )


def early_mig_nodes(plan: Plan) -> Iterator[Finding]:
    """GPU008: pools that the Cluster Autoscaler grows and whose nodes offer MIG instances by size."""
    if not any(component.name == "cluster-autoscaler" for component in plan.components):
        return
    for pool in plan.pools:
        device = pool.accelerator
        if device is not None and device.resource != "nvidia.com/gpu" and pool.min_size < pool.max_size:
            yield finding(
                "GPU008",
                (*place(pool.spec_path), "gpu", "mig"),
                f"a new node of {pool.name} is ready before it offers {', '.join(device.shares)}, for which the "
                "Cluster Autoscaler does not wait: it may start one node too many",
                f"components.gpuOperator: {{migStrategy: single}}, or minSize: {pool.max_size}",
            )


def shares_made_elsewhere(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """GPU010: shares that quotas count, and that a device plugin makes which nobody here configures."""
    if plan.cluster.target != "existing" or any(
        component.name == "gpu-operator" and component.realisation == "present" for component in plan.components
    ):
        return  # GPU006 tells what the operator that is there needs
    configured = {component.name for component in plan.components if component.realisation != "present"}
    for index, pool in enumerate(spec.node_pools):
        (owner, *_) = owners(spec, pool)["devicePlugin"] or ("",)
        if pool.gpu.replicas > 1 and owner not in configured:
            way = "timeSlicing" if pool.gpu.time_slicing else "mps"
            yield finding(
                "GPU010",
                ("nodePools", index, "gpu", way),
                f"each GPU of {pool.name} is counted {pool.gpu.replicas} times, and its device plugin is "
                f"{'the image' if owner == IMAGE else 'the cluster'}'s own, which mlcluster does not configure",
                "set the same replicas there, and allow this with that reason; or let the GPU operator announce them",
            )


def guarantees_on_time_slices(plan: Plan) -> Iterator[Finding]:
    """QTA003: a guarantee of time slices is a guarantee of turns, not of memory."""
    sliced = {pool.name for pool in plan.pools if pool.accelerator and pool.accelerator.sharing == "timeSlicing"}
    for team in plan.teams:
        for quota in team.quotas:
            if quota.pool in sliced and any(quota.nominal.values()):
                yield finding(
                    "QTA003",
                    (*place(team.spec_path), "guarantee", quota.pool),
                    f"team {team.name} is guaranteed time slices of {quota.pool}: they share the memory of one GPU, "
                    "and one pod can use it up",
                    "use MIG where the GPU can be partitioned",
                )
