"""Names of the series that `templates/rules` records, and parts of queries, for dashboards and facts."""

TEAM = "mlcluster:team_namespace:info"
NODE_POOL = "mlcluster:node_pool:info"

BUSY = "mlcluster:gpu_busy:ratio"
ALLOCATED = "mlcluster:gpu_allocated:gpus"
USED = "mlcluster:gpu_used:gpus"
IDLE_COUNT = "mlcluster:gpu_idle:count"
PRESENT = "mlcluster:gpu_present:gpus"

NVLINK_RECOVERIES = "mlcluster:gpu_nvlink_recoveries:total"
COUNTED = {
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "mlcluster:gpu_ecc_double_bit:total",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "mlcluster:gpu_ecc_single_bit:total",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": "mlcluster:gpu_remapped_rows:total",
    "DCGM_FI_DEV_THERMAL_VIOLATION": "mlcluster:gpu_thermal_violation_ns:total",
    "DCGM_FI_DEV_POWER_VIOLATION": "mlcluster:gpu_power_violation_ns:total",
}
"""DCGM's counter of a GPU -> the series that has it whichever pod holds the GPU."""

QUOTA = "mlcluster:gpu_quota:gpus"
RESERVED = "mlcluster:gpu_reserved:gpus"
WAIT_P50 = "mlcluster:kueue_wait_seconds:p50"
WAIT_P95 = "mlcluster:kueue_wait_seconds:p95"

USD_RATE = "mlcluster:gpu_usd_per_hour:team"
GPU_HOURS = "mlcluster:gpu_hours:1h"
USED_HOURS = "mlcluster:gpu_used_hours:1h"
USD = "mlcluster:gpu_usd:1h"
POOL_RATE = "mlcluster:pool_usd_per_hour:usd"

GUARANTEED = "mlcluster:quota_guaranteed:amount"
QUOTA_USED = "mlcluster:quota_used:amount"
BORROWED = "mlcluster:quota_borrowed:amount"
LENT = "mlcluster:quota_lent:amount"
FREE = "mlcluster:quota_free:amount"
SHARES = {"guaranteed": GUARANTEED, "used": QUOTA_USED, "borrowed": BORROWED, "lent": LENT, "free": FREE}
"""Word of a dashboard -> its series, in the order of the words."""

GPU_REQUEST = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
"""Matches GPUs and parts of GPUs by the names that kube-state-metrics has for resources."""
GPU_QUOTA = 'resource=~"nvidia[.]com/.+"'
"""Matches the same by Kueue's names."""
LEADER = 'replica_role!="follower"'
"""Matches the replica of Kueue that decides."""


def over(record: str, window: str) -> str:
    """Return a query that adds a series of one hour up over a longer time, e.g. "7d"."""
    return f"sum_over_time({record}[{window}:1h])"


def once(metric: str) -> str:
    """Return a query for a metric once for each GPU or MIG instance, however many pods share it."""
    return f"max by (node, UUID, GPU_I_ID) ({metric})"
