"""Rules on shared GPUs."""

from collections.abc import Iterator

from mlcluster.catalog.gpus import GPU_RESOURCE
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.gpu_duties import IMAGE, owners

_WITH_METRICS = frozenset({"gpu-operator", "dcgm-exporter"})


def production_on_time_slices(plan: Plan) -> Iterator[Finding]:
    """GPU003: a team may submit the highest tier, and all its GPUs are time slices."""
    first = max(plan.tiers, key=lambda tier: tier.value).name
    sharing = {pool.name: pool.accelerator.sharing for pool in plan.pools if pool.accelerator is not None}
    for team in plan.teams:
        pools = {quota.pool for quota in team.quotas if quota.pool in sharing}
        if first in team.tiers and pools and {sharing[pool] for pool in pools} == {"timeSlicing"}:
            yield finding(
                "GPU003",
                team.spec_path,
                f"team {team.name} may submit {first}, and has GPUs only as time slices of {', '.join(sorted(pools))}: "
                "another pod on the same GPU can crash its workloads",
                f"Guarantee it whole GPUs or MIG instances, or list its tiers without {first}.",
            )


def experimental_sharing(plan: Plan) -> Iterator[Finding]:
    """GPU004: a pool uses MPS."""
    for pool in plan.pools:
        if pool.accelerator is not None and pool.accelerator.sharing == "mps":
            yield finding(
                "GPU004",
                (*pool.spec_path, "gpu", "mps"),
                f"MPS on {pool.name} is experimental in NVIDIA's device plugin: "
                "a fault of one pod ends all pods on the GPU",
                "Use `gpu.mig` if the GPU supports MIG.",
            )


def metrics_of_gpus(plan: Plan) -> Iterator[Finding]:
    """GPU007: monitoring without a DCGM exporter."""
    names = {component.name: component.spec_path for component in plan.components}
    exporters = {pod.name for pod in plan.pods} & {"nvidia-dcgm-exporter", "dcgm-exporter"}
    present = any(one.realisation == "present" and one.name in _WITH_METRICS for one in plan.components)
    has_gpus = any(pool.accelerator is not None for pool in plan.pools)
    if "kube-prometheus-stack" in names and has_gpus and not exporters and not present:
        yield finding(
            "GPU007",
            names["kube-prometheus-stack"],
            "no component exports GPU metrics: GPU alerts and chargeback by use have no data",
            "Add `components.dcgmExporter`, with `install: false` if the cluster has one.",
        )


def early_mig_nodes(plan: Plan) -> Iterator[Finding]:
    """GPU008: the Cluster Autoscaler scales a pool whose nodes advertise MIG instances by profile."""
    if not any(component.name == "cluster-autoscaler" for component in plan.components):
        return
    for pool in plan.pools:
        device = pool.accelerator
        if device is not None and device.resource != GPU_RESOURCE and pool.min_size < pool.max_size:
            yield finding(
                "GPU008",
                (*pool.spec_path, "gpu", "mig"),
                f"a new node of {pool.name} is ready before it advertises {', '.join(device.shares)}, and the "
                "Cluster Autoscaler does not wait for them: it may start one node too many",
                f"Set `components.gpuOperator: {{migStrategy: single}}`, or `minSize: {pool.max_size}`.",
            )


def shares_made_elsewhere(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """GPU010: quotas count GPU shares that an unmanaged device plugin must create."""
    if plan.cluster.target != "existing" or any(
        component.name == "gpu-operator" and component.realisation == "present" for component in plan.components
    ):
        return  # GPU006 lists the settings that an existing operator needs
    configured = {component.name for component in plan.components if component.realisation != "present"}
    for pool in spec.resolved_pools:
        (owner, *_) = owners(pool)["devicePlugin"] or ("",)
        if pool.entry.gpu.replicas > 1 and owner not in configured:
            yield finding(
                "GPU010",
                (*pool.loc, "gpu", pool.sharing),
                f"quotas count each GPU of {pool.name} {pool.entry.gpu.replicas} times, but mlcluster does not "
                f"configure the device plugin of {'the image' if owner == IMAGE else 'the cluster'}",
                "Set the same replicas there and allow this finding with that reason, or install the GPU operator.",
            )


def guarantees_on_time_slices(plan: Plan) -> Iterator[Finding]:
    """QTA003: a guarantee of time slices does not guarantee GPU memory."""
    sliced = {pool.name for pool in plan.pools if pool.accelerator and pool.accelerator.sharing == "timeSlicing"}
    for team in plan.teams:
        for quota in team.quotas:
            if quota.pool in sliced and any(quota.nominal.values()):
                yield finding(
                    "QTA003",
                    (*team.spec_path, "guarantee", quota.pool),
                    f"team {team.name} has a guarantee of time slices of {quota.pool}: they share the memory of "
                    "one GPU, and one pod can use all of it",
                    "Use MIG if the GPU supports it.",
                )
