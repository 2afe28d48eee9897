"""Alerts about GPUs that teams hold and do not use."""

from mlcluster.plan.observe import thresholds as at
from mlcluster.plan.observe.promql import GPU_QUOTA, GPU_REQUEST, LEADER, one_of, text, with_team
from mlcluster.plan.observe.records import BUSY, IDLE_COUNT, MEMORY_BUSY
from mlcluster.plan.observe.rule import Alert, Group

_HERE = "{{ $labels.namespace }}/{{ $labels.pod }}"


def gpu_use() -> Group:
    """GPUs that teams hold and do not use."""
    return Group("mlcluster-gpu-use", (_underused(), _memory_bound(), _spinning(), _idle(), _uncounted()))


def _trains() -> str:
    """Pods that run to an end, and have run long enough to be judged."""
    owners = f'kube_pod_owner{{owner_kind=~"{one_of(at.TRAINING_OWNERS)}"}}'
    return text(f"""
        and on (namespace, pod) max by (namespace, pod) ({owners})
        and on (namespace, pod) (time() - max by (namespace, pod) (kube_pod_start_time) > {at.BUSY_GRACE_SECONDS})
    """)


def _mean(record: str) -> str:
    return f"avg by (namespace, pod) (avg_over_time({record}[{at.BUSY_WINDOW}]))"


def _underused() -> Alert:
    return Alert(
        "TrainingGpuUnderused",
        with_team(f"({_mean(BUSY)} < {at.BUSY_LOW})\n{_trains()}"),
        "warning",
        f"{_HERE} of team {{{{ $labels.team }}}} uses {{{{ $value | humanizePercentage }}}} of its GPUs",
        f"For {at.BUSY_WINDOW} the GPUs of a training pod worked less than half of the time. Mostly data loading, small"
        " batches, checkpoints or a GPU too many.",
        at.BUSY_HOLD,
    )


def _memory_bound() -> Alert:
    return Alert(
        "TrainingMemoryBound",
        with_team(f"({_mean(MEMORY_BUSY)} > {at.MEMORY_HIGH})\n{_trains()}"),
        "info",
        f"{_HERE} of team {{{{ $labels.team }}}} copies memory {{{{ $value | humanizePercentage }}}} of the time",
        "Memory bandwidth is what the job waits for: more GPUs of this kind make it no faster per GPU.",
        at.MEMORY_HOLD,
    )


def _spinning() -> Alert:
    still = f"{_mean(MEMORY_BUSY)} < {at.MEMORY_STILL}"
    busy = f"{_mean(BUSY)} > {at.SPINNING_BUSY}"
    return Alert(
        "TrainingGpuSpinning",
        with_team(f"({still})\nand on (namespace, pod) ({busy})\n{_trains()}"),
        "warning",
        f"{_HERE} of team {{{{ $labels.team }}}} is busy and moves no memory",
        "Kernels run, and nothing is read or written: mostly a collective that waits for a worker which is gone.",
        at.MEMORY_HOLD,
    )


def _uncounted() -> Alert:
    """Teams that Kueue does not queue have no ClusterQueue and are left out."""
    requests = f'kube_pod_container_resource_requests{{{GPU_REQUEST},node!=""}}'
    alive = 'max by (namespace, pod) (kube_pod_status_phase{phase=~"Pending|Running"} == 1)'
    held = f"sum by (team) ({with_team(f'sum by (namespace) ({requests} and on (namespace, pod) ({alive}))')})"
    usage = _by_team(f"kueue_cluster_queue_resource_usage{{{GPU_QUOTA},{LEADER}}}")
    queued = _by_team(f"kueue_cluster_queue_info{{{LEADER}}}")
    return Alert(
        "TeamGpuUncounted",
        text(f"""
            {held}
            - on (team) ({usage} or 0 * {queued})
            > 0
        """),
        "critical",
        "Team {{ $labels.team }} uses {{ $value }} GPUs or parts of GPUs that Kueue does not count",
        "Its pods hold more on nodes than its ClusterQueue has admitted: they avoid the queue, or Kueue released their"
        " quota while they go on. Other teams do not get what they are guaranteed.",
        at.UNCOUNTED_HOLD,
    )


def _by_team(series: str) -> str:
    """A metric of ClusterQueues, which have the names of their teams."""
    return f'sum by (team) (label_replace({series}, "team", "$1", "cluster_queue", "(.+)"))'


def _idle() -> Alert:
    return Alert(
        "TeamGpuIdle",
        f"{IDLE_COUNT} > 0",
        "warning",
        "{{ $value }} GPUs of team {{ $labels.team }} do nothing",
        f"Pods in {{{{ $labels.namespace }}}} hold them, and for {at.IDLE_WINDOW} nothing ran on them. They count"
        " against the team's quota and its bill.",
        at.IDLE_HOLD,
    )
