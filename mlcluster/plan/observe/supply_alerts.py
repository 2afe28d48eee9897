"""Alerts about GPUs that are there and cannot be had, and about metrics that are missing or double."""

from mlcluster.plan.observe import thresholds as at
from mlcluster.plan.observe.facts import NODE_GPUS, NODE_SLICES
from mlcluster.plan.observe.promql import GPU_REQUEST, NODE_POOL, text
from mlcluster.plan.observe.rule import Alert, Group

_READY = 'max by (node) (kube_node_status_condition{condition="Ready",status="true"}) == 1'


def gpu_supply(*, operator: bool) -> Group:
    """GPUs that are there and cannot be had, and metrics that are missing or double."""
    from_operator = _operator() if operator else ()
    return Group(
        "mlcluster-gpu-supply", (_not_allocatable(), _incomplete(), _outside(), *from_operator, _silent(), _doubled())
    )


def _not_allocatable() -> Alert:
    capacity = f"max by (node, resource) (kube_node_status_capacity{{{GPU_REQUEST}}})"
    allocatable = f"max by (node, resource) (kube_node_status_allocatable{{{GPU_REQUEST}}})"
    return Alert(
        "GpuNotAllocatable",
        f"{capacity} - {allocatable} > 0",
        "critical",
        "{{ $value }} of {{ $labels.resource }} on {{ $labels.node }} are unhealthy",
        "The device plugin has marked them so; no pod gets them, and quota still counts them.",
        at.NODE_HOLD,
    )


def _incomplete() -> Alert:
    offered = f"max by (node, resource) (kube_node_status_capacity{{{GPU_REQUEST}}})"
    return Alert(
        "GpuNodeIncomplete",
        text(f"""
            (
              -(({offered} * on (node) group_left (pool) {NODE_POOL})
                - on (pool, resource) group_left () {NODE_SLICES}) > 0
              or
              ({NODE_POOL} * on (pool) group_left () {NODE_GPUS}) unless on (node) ({offered} > 0)
            )
            and on (node) ({_READY})
        """),
        "warning",
        "{{ $labels.node }} of pool {{ $labels.pool }} offers {{ $value }} GPUs or parts of GPUs too few",
        "The plan counts on more: a GPU is gone, MIG is not as it should be, or the device plugin does not run.",
        at.INCOMPLETE_HOLD,
    )


def _outside() -> Alert:
    return Alert(
        "GpuNodeOutsidePools",
        f"max by (node) (kube_node_status_capacity{{{GPU_REQUEST}}} > 0) unless on (node) {NODE_POOL}",
        "warning",
        "{{ $labels.node }} has GPUs and is in no pool",
        "Either nobody planned it, or kube-state-metrics does not report the labels of nodes: then every pool is"
        " empty here, and so are GPU-hours.",
        at.SILENT_HOLD,
    )


def _operator() -> tuple[Alert, ...]:
    return (
        Alert(
            "GpuOperatorNotReconciled",
            "max(gpu_operator_reconciliation_status) != 1",
            "warning",
            "The GPU operator does not get its work done",
            "Drivers, device plugins or exporters may be missing on some nodes: see the state of ClusterPolicy.",
            at.OPERATOR_HOLD,
        ),
        Alert(
            "GpuOperatorSeesNoGpus",
            "max(gpu_operator_reconciliation_has_nfd_labels) == 0",
            "warning",
            "The GPU operator sees no node with a GPU",
            "Node feature discovery does not run on GPU nodes, or there is none at the moment.",
            at.OPERATOR_HOLD,
        ),
    )


def _silent() -> Alert:
    return Alert(
        "DcgmSilent",
        text(f"""
            max by (node) (kube_node_status_capacity{{{GPU_REQUEST}}} > 0)
            unless on (node) max by (node) (DCGM_FI_DEV_GPU_TEMP)
            and on (node) ({_READY})
        """),
        "warning",
        "No metrics of the GPUs of {{ $labels.node }}",
        "While they are missing no other alert about these GPUs can fire.",
        at.SILENT_HOLD,
    )


def _doubled() -> Alert:
    labels = "UUID, GPU_I_ID, vgpu, exported_namespace, exported_pod, exported_container"
    return Alert(
        "GpuMetricsDuplicated",
        f"count by ({labels}) (DCGM_FI_DEV_GPU_TEMP) > 1",
        "warning",
        "GPU {{ $labels.UUID }} is reported {{ $value }} times",
        "Two exporters, or a ServiceMonitor beside a scrape by annotations. Sums over GPUs count it twice.",
        at.SILENT_HOLD,
    )
