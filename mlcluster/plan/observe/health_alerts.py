"""Alerts about GPUs that break, or are about to."""

from mlcluster.plan.observe import thresholds as at
from mlcluster.plan.observe.promql import one_of, text
from mlcluster.plan.observe.records import COUNTED, NVLINK_RECOVERIES
from mlcluster.plan.observe.rule import Alert, Group

_GPU = "node, gpu, UUID"
_DEVICE = "GPU {{ $labels.gpu }} of {{ $labels.node }}"


def gpu_health(*, detector: bool) -> Group:
    """GPUs that break or are about to.

    Args:
        detector: node problem detector sets the condition GpuUnhealthy of nodes.
    """
    return Group(
        "mlcluster-gpu-health",
        (
            _xid(),
            _lost(),
            *([_unhealthy()] if detector else []),
            _health_check(),
            *_ecc(),
            *_rows(),
            *_heat(),
            _nvlink(),
        ),
    )


def _unhealthy() -> Alert:
    return Alert(
        "GpuUnhealthy",
        'max by (node) (kube_node_status_condition{condition="GpuUnhealthy",status="true"}) == 1',
        "critical",
        "A GPU of {{ $labels.node }} asked for a reset or a repair",
        "The node has the condition GpuUnhealthy, which stays until the node starts again. With nodeReadiness it takes"
        " no new pods.",
    )


def _health_check() -> Alert:
    labels = f"{_GPU}, health_watch, health_error_code"
    return Alert(
        "GpuHealthCheckFailed",
        f"max by ({labels}) (DCGM_EXP_GPU_HEALTH_STATUS) >= {at.HEALTH_FAILED}",
        "critical",
        f"{_DEVICE} fails the health check {{{{ $labels.health_watch }}}}: {{{{ $labels.health_error_code }}}}",
        "DCGM says that the GPU cannot be trusted. Drain the node and run DCGM's diagnostics on it.",
    )


def _xid() -> Alert:
    labels = "node, gpu, UUID, err_code, err_msg, exported_namespace, exported_pod"
    harmless = one_of(at.APPLICATION_XIDS)
    return Alert(
        "GpuXid",
        text(f"""
            max by ({labels}) (DCGM_FI_DEV_XID_ERRORS{{err_code!~"{harmless}"}} > 0)
            unless on (UUID, err_code) (DCGM_FI_DEV_XID_ERRORS offset {at.XID_MEMORY} > 0)
        """),
        "critical",
        f"{_DEVICE}: XID {{{{ $labels.err_code }}}} {{{{ $labels.err_msg }}}}",
        "The driver reported an error that programs do not cause. Pod at that time: {{ $labels.exported_namespace }}/"
        f"{{{{ $labels.exported_pod }}}}. Shown for {at.XID_MEMORY} after it is new.",
    )


def _lost() -> Alert:
    return Alert(
        "GpuLost",
        f'max by ({_GPU}, err_code) (DCGM_FI_DEV_XID_ERRORS{{err_code=~"{one_of(at.FATAL_XIDS)}"}} > 0)',
        "critical",
        f"{_DEVICE} needs a reset or a repair: XID {{{{ $labels.err_code }}}}",
        "After this error a GPU does not come back by itself. Take the node out of service.",
    )


def _counted(field: str, window: str) -> str:
    return f"increase({COUNTED[field]}[{window}])"


def _ecc() -> tuple[Alert, ...]:
    return (
        Alert(
            "GpuEccDoubleBit",
            f"{_counted('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', at.ECC_WINDOW)} > 0",
            "critical",
            f"{_DEVICE} has ECC errors that it cannot correct",
            "What ran on it has ended or is wrong. The GPU needs a reset; again on the same GPU means a repair.",
        ),
        Alert(
            "GpuEccSingleBitStorm",
            f"{_counted('DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', at.ECC_WINDOW)} > {at.SINGLE_BIT_STORM}",
            "warning",
            f"{_DEVICE} corrected {{{{ $value | humanize }}}} memory errors in {at.ECC_WINDOW}",
            "Each was corrected; so many announce one that is not. Drain the node at the next chance.",
        ),
    )


def _rows() -> tuple[Alert, ...]:
    rows = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"
    return (
        Alert(
            "GpuRowRemapFailed",
            f"max by ({_GPU}) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0 < {at.BLANK}",
            "critical",
            f"{_DEVICE} has broken memory and no spare rows",
            "Remapping a row failed: NVIDIA replaces such a GPU.",
        ),
        Alert(
            "GpuRowsRemapped",
            f"{_counted(rows, at.REMAP_WINDOW)} > 0 or max by ({_GPU}) (DCGM_FI_DEV_RETIRED_PENDING) > 0 < {at.BLANK}",
            "warning",
            f"{_DEVICE} put broken memory aside",
            "It takes effect with the next reset of the GPU; drain the node and reset it.",
        ),
    )


def _heat() -> tuple[Alert, ...]:
    throttled = f"rate({COUNTED['DCGM_FI_DEV_THERMAL_VIOLATION']}[5m]) / 1e9"
    events = f'DCGM_EXP_CLOCK_EVENTS_COUNT{{clock_event=~"{one_of(at.HEAT_EVENTS)}"}}'
    return (
        Alert(
            "GpuThrottledByHeat",
            f"{throttled} > {at.THROTTLED} or max by ({_GPU}) ({events}) > 0",
            "warning",
            f"{_DEVICE} runs slower, for it is too hot",
            "One slow GPU slows every worker of its job. Look at cooling and at the other GPUs of the node.",
            at.HEAT_HOLD,
        ),
        Alert(
            "GpuHot",
            f"max by ({_GPU}) (DCGM_FI_DEV_GPU_TEMP) > {at.HOT_CELSIUS} < {at.BLANK}",
            "warning",
            f"{_DEVICE} is at {{{{ $value }}}} degrees Celsius",
            "Soon it slows down by itself.",
            at.HEAT_HOLD,
        ),
    )


def _nvlink() -> Alert:
    return Alert(
        "GpuNvlinkRecovers",
        f"max by (node, gpu, UUID, gpu_uuid) (increase({NVLINK_RECOVERIES}[{at.NVLINK_WINDOW}])) > 0",
        "warning",
        f"NVLink of {_DEVICE} had to recover",
        "Collectives stall meanwhile. Again and again means a broken link: take the node out of service.",
    )
