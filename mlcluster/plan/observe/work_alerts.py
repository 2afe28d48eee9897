"""Alerts about nodes, pods and queues."""

from mlcluster.plan.observe import thresholds as at
from mlcluster.plan.observe.promql import GPU_QUOTA, GPU_REQUEST, LEADER, grown, text, with_team
from mlcluster.plan.observe.records import WAIT_P95
from mlcluster.plan.observe.rule import Alert, Group

_QUEUE = "cluster queue {{ $labels.cluster_queue }}"


def nodes_and_pods() -> Group:
    """What kube-state-metrics knows."""
    return Group("mlcluster-nodes-and-pods", (_node_not_ready(), _out_of_memory(), _no_state()))


def queues() -> Group:
    """What Kueue knows."""
    return Group(
        "mlcluster-queues",
        (_pending(), _inadmissible(), _inactive(), _idle_quota(), _pods_not_ready(), _long_wait(), _no_kueue()),
    )


def _node_not_ready() -> Alert:
    return Alert(
        "GpuNodeNotReady",
        text(f"""
            max by (node) (kube_node_status_condition{{condition="Ready",status="true"}}) == 0
            and on (node) max by (node) (kube_node_status_capacity{{{GPU_REQUEST}}} > 0)
        """),
        "critical",
        "GPU node {{ $labels.node }} is not ready",
        "Its pods are lost or about to be; it costs as before, and quota still counts it.",
        at.NODE_HOLD,
    )


def _out_of_memory() -> Alert:
    labels = "namespace, pod, container"
    killed = f'max by ({labels}) (kube_pod_container_status_terminated_reason{{reason="OOMKilled"}}) == 1'
    before = f'kube_pod_container_status_terminated_reason{{reason="OOMKilled"}} offset {at.OOM_WINDOW}'
    last = f'max by ({labels}) (kube_pod_container_status_last_terminated_reason{{reason="OOMKilled"}}) == 1'
    restarts = f"increase(kube_pod_container_status_restarts_total[{at.OOM_WINDOW}])"
    return Alert(
        "TeamPodOutOfMemory",
        with_team(
            text(f"""
                (({killed}) unless on ({labels}) (max by ({labels}) ({before}) == 1))
                or (({last}) and on ({labels}) (max by ({labels}) ({restarts}) > 0))
            """)
        ),
        "warning",
        "{{ $labels.namespace }}/{{ $labels.pod }} of team {{ $labels.team }} ran out of memory",
        "The kernel ended container {{ $labels.container }}: it used more memory than its limit. This is the memory of"
        " the node, not of a GPU.",
    )


def _no_state() -> Alert:
    return Alert(
        "KubeStateMetricsSilent",
        "absent(kube_node_info)",
        "critical",
        "There are no metrics of the cluster's objects",
        "kube-state-metrics does not run or is not scraped: no alert about nodes, pods and idle GPUs can fire, and no"
        " GPU-hours are counted.",
        at.SILENT_HOLD,
    )


def _waiting(status: str = "") -> str:
    matchers = f'status="{status}",{LEADER}' if status else LEADER
    return f"sum by (cluster_queue) (kueue_pending_workloads{{{matchers}}}) > 0"


def _pending() -> Alert:
    admitted = grown(f"kueue_admitted_workloads_total{{{LEADER}}}", "cluster_queue", at.PENDING_WINDOW)
    return Alert(
        "WorkloadsPendingTooLong",
        f"{_waiting()}\nunless on (cluster_queue) ({admitted} > 0)",
        "warning",
        f"{{{{ $value }}}} workloads wait in {_QUEUE}, and none was admitted",
        f"For {at.PENDING_WINDOW} and more nothing in this queue has started.",
        at.PENDING_HOLD,
    )


def _inadmissible() -> Alert:
    busy = f"sum by (cluster_queue) (kueue_reserving_active_workloads{{{LEADER}}}) > 0"
    return Alert(
        "WorkloadsInadmissible",
        f"{_waiting('inadmissible')}\nunless on (cluster_queue) ({busy})",
        "warning",
        f"{{{{ $value }}}} workloads in {_QUEUE} cannot be admitted, and it has nothing else to do",
        "No room is not the reason, for the queue uses nothing: they ask for more than its quota, for a resource that"
        " it does not have, or for nodes that no flavor has.",
        at.INADMISSIBLE_HOLD,
    )


def _inactive() -> Alert:
    return Alert(
        "QueueInactive",
        f'max by (cluster_queue, status) (kueue_cluster_queue_status{{status!="active",{LEADER}}}) == 1',
        "critical",
        f"{_QUEUE.capitalize()} is {{{{ $labels.status }}}}",
        "It admits nothing. A flavor or an admission check is missing, it was stopped, or it is being deleted.",
        at.INACTIVE_HOLD,
    )


def _idle_quota() -> Alert:
    labels = "cohort, cluster_queue, resource"
    nominal = f"sum by ({labels}) (kueue_cluster_queue_nominal_quota{{{GPU_QUOTA},{LEADER}}})"
    reserved = f"sum by ({labels}) (kueue_cluster_queue_resource_reservation{{{GPU_QUOTA},{LEADER}}})"
    parents = f"max by (cluster_queue, parent_cohort) (kueue_cluster_queue_info{{{LEADER}}})"
    cohorts = f'label_replace({parents}, "cohort", "$1", "parent_cohort", "(.+)")'
    asked = f"kueue_cluster_queue_resource_pending{{{GPU_QUOTA},{LEADER}}}"
    return Alert(
        "QuotaIdleWhileOthersWait",
        text(f"""
            {nominal} - ({reserved} or 0 * {nominal}) >= 1
            and on (cohort, resource)
              (sum by (cohort, resource) ({asked} * on (cluster_queue) group_left (cohort) {cohorts}) > 0)
        """),
        "warning",
        f"{{{{ $value }}}} {{{{ $labels.resource }}}} of {_QUEUE} are idle while others of its cohort wait",
        "What the teams may lend and borrow keeps it idle, or what waits needs it all at once, in one place.",
        at.IDLE_QUOTA_HOLD,
    )


def _pods_not_ready() -> Alert:
    evicted = f'kueue_evicted_workloads_total{{reason="PodsReadyTimeout",{LEADER}}}'
    return Alert(
        "WorkloadPodsNotReady",
        f"{grown(evicted, 'cluster_queue', at.EVICTION_WINDOW)} > 0",
        "warning",
        f"{{{{ $value }}}} workloads of {_QUEUE} were put back: their pods were not ready in time",
        "Kueue had admitted them: nodes did not come, images were not pulled, or too few pods fitted.",
    )


def _long_wait() -> Alert:
    return Alert(
        "QueueWaitLong",
        f"{WAIT_P95} > {at.WAIT_SECONDS}",
        "info",
        f"Workloads in {_QUEUE} wait up to {{{{ $value | humanizeDuration }}}}",
        "One in twenty waited longer than this before it was admitted.",
        at.WAIT_HOLD,
    )


def _no_kueue() -> Alert:
    return Alert(
        "KueueSilent",
        "absent(kueue_build_info)",
        "critical",
        "There are no metrics of Kueue",
        "It does not run or is not scraped: no alert about queues can fire. Without Kueue no pod of a team starts.",
        at.SILENT_HOLD,
    )
