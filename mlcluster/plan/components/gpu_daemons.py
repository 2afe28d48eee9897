"""What daemon sets of GPUs have in common: the nodes that they run on, and how their metrics are found."""

from collections.abc import Iterable

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, Pool
from mlcluster.plan.observe.scrape import NODE_RELABELING, STACK, monitor_labels


def on_pools(pools: Iterable[Pool]) -> Manifest:
    """The affinity of a daemon set that runs on the nodes of these pools and on no other."""
    terms = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]} for key, value in pool.selector.items()
            ]
        }
        for pool in pools
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def service_monitor(context: ComponentContext) -> Manifest:
    """A DCGM exporter's ServiceMonitor, as both charts have it; only where something makes its definition."""
    if not context.has(STACK):
        return {"enabled": False}
    labels = monitor_labels(context.spec)
    return {
        "enabled": True,
        "honorLabels": False,
        **({"additionalLabels": labels} if labels else {}),
        "relabelings": [dict(NODE_RELABELING)],
    }
