"""The dashboard of the cluster: nodes, GPUs, their health and cost."""

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.dashboards.parts import Panel, Query, dashboard
from mlcluster.plan.observe.series import (
    ALLOCATED,
    BUSY,
    COUNTED,
    GPU_REQUEST,
    NODE_POOL,
    NVLINK_RECOVERIES,
    POOL_RATE,
    PRESENT,
    USD_RATE,
    USED,
    once,
)


def cluster_dashboard() -> Manifest:
    """For the platform engineer."""
    return dashboard("mlcluster-cluster", "mlcluster / Cluster", (*_now(), *_use(), *_health()))


def _now() -> tuple[Panel, ...]:
    unhealthy = f"sum(kube_node_status_capacity{{{GPU_REQUEST}}}) - sum(kube_node_status_allocatable{{{GPU_REQUEST}}})"
    return (
        Panel("GPUs", "stat", (Query(f"sum({PRESENT})"),), width=6),
        Panel("GPUs held by teams", "stat", (Query(f"sum({ALLOCATED})"),), width=6),
        Panel("GPUs or parts that are unhealthy", "stat", (Query(unhealthy),), width=6),
        Panel(
            "USD per hour",
            "stat",
            (Query(f"sum({POOL_RATE})", "nodes"), Query(f"sum({USD_RATE})", "held by teams")),
            "currencyUSD",
            width=6,
            description="Prices of the plan, on demand, without discounts; pools without a price are left out.",
        ),
    )


def _use() -> tuple[Panel, ...]:
    return (
        Panel("Nodes", "timeseries", (Query(f"count by (pool) ({NODE_POOL})", "{{pool}}"),), stacked=True),
        Panel(
            "GPUs held, and how much of them works",
            "timeseries",
            (
                Query(f"sum by (pool) ({PRESENT})", "{{pool}} there"),
                Query(f"sum by (pool) ({ALLOCATED})", "{{pool}} held"),
                Query(f"sum by (pool) ({USED})", "{{pool}} working"),
            ),
        ),
        Panel(
            "Time that GPUs work", "timeseries", (Query(f"avg by (node) ({once(BUSY)})", "{{node}}"),), "percentunit"
        ),
        Panel(
            "Tensor cores",
            "timeseries",
            (Query(f"avg by (node) ({once('DCGM_FI_PROF_PIPE_TENSOR_ACTIVE')})", "{{node}}"),),
            "percentunit",
        ),
        Panel(
            "GPU memory used",
            "timeseries",
            (Query(f"sum by (node) ({once('DCGM_FI_DEV_FB_USED')}) * 1048576", "{{node}}"),),
            "bytes",
        ),
        Panel(
            "Power",
            "timeseries",
            (Query("sum by (node) (max by (node, UUID) (DCGM_FI_DEV_POWER_USAGE))", "{{node}}"),),
            "watt",
        ),
    )


def _health() -> tuple[Panel, ...]:
    errors = (
        ("double-bit ECC", f"sum(increase({COUNTED['DCGM_FI_DEV_ECC_DBE_VOL_TOTAL']}[1h]))"),
        ("single-bit ECC", f"sum(increase({COUNTED['DCGM_FI_DEV_ECC_SBE_VOL_TOTAL']}[1h]))"),
        ("remapped rows", f"sum(increase({COUNTED['DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS']}[1h]))"),
    )
    recovered = f"max by (node, gpu) (increase({NVLINK_RECOVERIES}[1h]))"
    heat, power = COUNTED["DCGM_FI_DEV_THERMAL_VIOLATION"], COUNTED["DCGM_FI_DEV_POWER_VIOLATION"]
    not_ready = 'count(kube_node_status_condition{condition="Ready",status="true"} == 0)'
    return (
        Panel("Hottest GPU", "timeseries", (Query("max by (node) (DCGM_FI_DEV_GPU_TEMP)", "{{node}}"),), "celsius"),
        Panel(
            "Time throttled",
            "timeseries",
            (
                Query(f"max by (node) (rate({heat}[5m])) / 1e9", "{{node}} heat"),
                Query(f"max by (node) (rate({power}[5m])) / 1e9", "{{node}} power"),
            ),
            "percentunit",
        ),
        Panel("Memory errors per hour", "timeseries", tuple(Query(expr, name) for name, expr in errors)),
        Panel(
            "Last XID",
            "table",
            (Query("max by (node, gpu, err_code, err_msg) (DCGM_FI_DEV_XID_ERRORS > 0)"),),
        ),
        Panel("Nodes that are not ready", "timeseries", (Query(not_ready),)),
        Panel(
            "NVLink recoveries per hour",
            "timeseries",
            (Query(f"sum by (node) ({recovered})", "{{node}}"),),
        ),
    )
