"""Parts of PromQL that several rules are made of."""

from collections.abc import Iterable
from textwrap import dedent

GPU_REQUEST = 'resource=~"nvidia_com_(gpu|gpu_shared|mig_.+)"'
"""GPUs and parts of them as kube-state-metrics spells resources."""
GPU_QUOTA = 'resource=~"nvidia[.]com/.+"'
"""Likewise as Kueue does."""
LEADER = 'replica_role!="follower"'
"""Of several replicas of Kueue, the one that decides."""
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


def workload_pods(metric: str) -> str:
    """A DCGM metric of GPUs that pods hold, with `namespace` and `pod` being the pod's.

    The exporter's own namespace and pod are the target's; the workload's come as exported_... (components.md 10.2).
    """
    inner = f'label_replace({metric}, "namespace", "$1", "exported_namespace", "(.+)")'
    return f'label_replace({inner}, "pod", "$1", "exported_pod", "(.+)")'
