"""Parts of PromQL that several rules are made of."""

from collections.abc import Iterable
from textwrap import dedent

GPU_REQUEST = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
"""GPUs and parts of them as kube-state-metrics spells resources."""
GPU_QUOTA = 'resource=~"nvidia[.]com/.+"'
"""Likewise as Kueue does."""
LEADER = 'replica_role!="follower"'
"""Of several replicas of Kueue, the one that decides."""
ONE_GPU = "node, UUID, GPU_I_ID"
"""What names a GPU, or an instance of one with MIG."""
TEAM = "mlcluster:team_namespace:info"
NODE_POOL = "mlcluster:node_pool:info"


def text(expression: str) -> str:
    """An expression as it is written in our modules, without the indentation."""
    return dedent(expression).strip()


def one_of(values: Iterable[str]) -> str:
    """A regular expression that matches each of some plain words."""
    return "|".join(values)


def with_team(expression: str) -> str:
    """The series of team namespaces, with the team's name; all others are left out."""
    return f"({expression}) * on (namespace) group_left (team) {TEAM}"


def grown(expression: str, by: str, window: str) -> str:
    """By how much counters grew in `window`, per label set `by`.

    Unlike increase() it counts what a series has when it appears: Kueue makes a counter with its first event.

    Args:
        expression: a metric with its selector.
        by: labels, comma separated.
        window: e.g. "1h".
    """
    now = f"sum by ({by}) ({expression})"
    before = f"sum by ({by}) ({expression} offset {window})"
    return f"{now} - ({before} or 0 * {now})"


def of_whole_gpu(series: str, metric: str) -> str:
    """Series of `metric` that pods have, each with the value of the GPU or MIG instance that its pod holds.

    An exporter that tells of every pod on a shared GPU splits DCGM_FI_DEV_GPU_UTIL and FB_USED by process, and tells 0
    for all of them where it sees no processes; beside them is a series of the GPU itself, without a pod.
    """
    return f"{series} * 0 + on ({ONE_GPU}) group_left () {once(metric)}"


def once(metric: str) -> str:
    """A metric, once for each GPU or MIG instance, however many pods share it and exporters report it."""
    return f"max by ({ONE_GPU}) ({metric})"


def workload_pods(metric: str) -> str:
    """A DCGM metric of GPUs that pods hold, with `namespace` and `pod` being the pod's.

    The exporter's own namespace and pod are the target's; the workload's come as exported_namespace, exported_pod.
    """
    inner = f'label_replace({metric}, "namespace", "$1", "exported_namespace", "(.+)")'
    return f'label_replace({inner}, "pod", "$1", "exported_pod", "(.+)")'
