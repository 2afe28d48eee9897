"""Series that alerts, dashboards and the bill are made of."""

from mlcluster.plan.observe.facts import NODE_GPUS, SHARE
from mlcluster.plan.observe.promql import (
    GPU_QUOTA,
    GPU_REQUEST,
    LEADER,
    NODE_POOL,
    TEAM,
    of_whole_gpu,
    text,
    with_team,
    workload_pods,
)
from mlcluster.plan.observe.rule import Group, Record
from mlcluster.plan.observe.thresholds import IDLE, IDLE_WINDOW

BUSY = "mlcluster:gpu_busy:ratio"
MEMORY_BUSY = "mlcluster:gpu_memory_busy:ratio"
ALLOCATED = "mlcluster:gpu_allocated:gpus"
USED = "mlcluster:gpu_used:gpus"
IDLE_COUNT = "mlcluster:gpu_idle:count"
PRESENT = "mlcluster:gpu_present:gpus"
QUOTA = "mlcluster:gpu_quota:gpus"
RESERVED = "mlcluster:gpu_reserved:gpus"
WAIT_P50 = "mlcluster:kueue_wait_seconds:p50"
WAIT_P95 = "mlcluster:kueue_wait_seconds:p95"

NVLINK_RECOVERIES = "mlcluster:gpu_nvlink_recoveries:total"
COUNTED = {
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "mlcluster:gpu_ecc_double_bit:total",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "mlcluster:gpu_ecc_single_bit:total",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": "mlcluster:gpu_remapped_rows:total",
    "DCGM_FI_DEV_THERMAL_VIOLATION": "mlcluster:gpu_thermal_violation_ns:total",
    "DCGM_FI_DEV_POWER_VIOLATION": "mlcluster:gpu_power_violation_ns:total",
}
"""DCGM's counters of a GPU, whichever pod has it: a series of the exporter ends when the pod does."""


def gpu_records() -> Group:
    """How busy GPUs are, and who has them."""
    kernels = of_whole_gpu('DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}', "DCGM_FI_DEV_GPU_UTIL")
    busy = f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{exported_pod!=""}} or ({kernels}) / 100'
    memory = 'DCGM_FI_DEV_MEM_COPY_UTIL{exported_pod!=""} / 100 or DCGM_FI_PROF_DRAM_ACTIVE{exported_pod!=""}'
    return Group(
        "mlcluster-gpu-records",
        (
            Record(BUSY, _per_pod(busy)),
            Record(MEMORY_BUSY, _per_pod(memory)),
            *(Record(name, f"max by (node, gpu, UUID) ({field})") for field, name in COUNTED.items()),
            Record(NVLINK_RECOVERIES, _nvlink_recoveries()),
            Record(ALLOCATED, _allocated()),
            Record(USED, _used()),
            Record(IDLE_COUNT, with_team(_idle())),
            Record(PRESENT, f"count by (pool) ({NODE_POOL}) * on (pool) group_left () {NODE_GPUS}"),
        ),
    )


def _nvlink_recoveries() -> str:
    """As `COUNTED`; the exporter names the GPU of a link `gpu_uuid`, and versions differ in what has a link."""
    return "max by (node, gpu, UUID, gpu_uuid, nvlink) (DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL)"


def queue_records() -> Group:
    """Quota and reservations in physical GPUs, and how long workloads wait."""
    wait = f"sum by (cluster_queue, le) (rate(kueue_admission_wait_time_seconds_bucket{{{LEADER}}}[1h]))"
    return Group(
        "mlcluster-queue-records",
        (
            Record(QUOTA, _physical("kueue_cluster_queue_nominal_quota")),
            Record(RESERVED, _physical("kueue_cluster_queue_resource_reservation")),
            Record(WAIT_P50, f"histogram_quantile(0.5, {wait})"),
            Record(WAIT_P95, f"histogram_quantile(0.95, {wait})"),
        ),
    )


def _per_pod(metric: str) -> str:
    """One series for each GPU, or part of one, and the pod that has it, however many exporters report it."""
    labels = "node, UUID, GPU_I_ID, GPU_I_PROFILE, modelName, namespace, pod"
    return f"max by ({labels}) ({workload_pods(metric)})"


def _allocated() -> str:
    """Physical GPUs that pods of teams hold: bound to a node and not done, images being pulled included."""
    return text(f"""
        sum by (team, namespace, pool) (
          max by (namespace, pod, container, node, resource) (
            kube_pod_container_resource_requests{{{GPU_REQUEST},node!=""}}
          )
          * on (namespace, pod) group_left ()
            max by (namespace, pod) (kube_pod_status_phase{{phase=~"Pending|Running"}} == 1)
          * on (node) group_left (pool) {NODE_POOL}
          * on (pool, resource) group_left () max by (pool, resource) ({SHARE})
          * on (namespace) group_left (team) {TEAM}
        )
    """)


def _used() -> str:
    """The same GPUs, each counted by the share of time that it works.

    Of a GPU that pods share each has its part, and no more than one GPU comes of it; the time is that of the whole GPU.
    A MIG profile that the pool's resources do not name (Bottlerocket calls every instance a GPU) counts as the smallest
    piece of the pool.
    """
    return text(f"""
        sum by (team, namespace, pool) (
          (
            {BUSY} * on (node) group_left (pool) {NODE_POOL}
            * on (pool, GPU_I_PROFILE) group_left () max by (pool, GPU_I_PROFILE) ({SHARE})
            or
            {BUSY} * on (node) group_left (pool) {NODE_POOL}
            * on (pool) group_left () min by (pool) ({SHARE})
          )
          * on (namespace) group_left (team) {TEAM}
        )
    """)


def _idle() -> str:
    """GPUs and parts of GPUs that did nothing; those that their pod has not had for as long are left out."""
    return text(f"""
        count by (namespace) (
          max_over_time({BUSY}[{IDLE_WINDOW}]) < {IDLE}
          and {BUSY}
          and {BUSY} offset {IDLE_WINDOW}
        )
    """)


def _physical(metric: str) -> str:
    """A metric of Kueue in physical GPUs; cluster queues are called as teams are, flavors as pools before any dot."""
    named = f"max by (cluster_queue, flavor, resource) ({metric}{{{GPU_QUOTA},{LEADER}}})"
    parts = (("cluster_queue", "team", "(.+)"), ("flavor", "pool", "([^.]+).*"), ("resource", "kueue_resource", "(.+)"))
    for theirs, ours, what in parts:
        named = f'label_replace({named}, "{ours}", "$1", "{theirs}", "{what}")'
    shares = f"max by (pool, kueue_resource) ({SHARE})"
    return f"sum by (team, pool) ({named} * on (pool, kueue_resource) group_left () {shares})"
