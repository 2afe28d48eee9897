"""The PrometheusRule of a cluster: the alerts and recording rules of `templates/rules`, and the facts of the plan."""

from typing import Any, Protocol

from mlcluster.plan.model import Manifest, Pool, TeamPlan
from mlcluster.plan.observe.facts import facts_group
from mlcluster.plan.templates import Values, filled

API = "monitoring.coreos.com/v1"

FILES = (
    "gpu-records",
    "chargeback",
    "gpu-use",
    "gpu-health",
    "gpu-supply",
    "queue-records",
    "team-quota",
    "nodes-and-pods",
    "queues",
)
"""Files of `templates/rules`, in the order of their groups: records come before the rules that read them."""


class Watched(Protocol):
    """A cluster, as its rules see it; a `ComponentContext` is one."""

    @property
    def pools(self) -> tuple[Pool, ...]: ...
    @property
    def teams(self) -> tuple[TeamPlan, ...]: ...
    def has(self, component: str) -> bool: ...


def rule_spec(of: Watched) -> Manifest:
    """Return the spec of the PrometheusRule, which is also the content of a rule file of Prometheus."""
    flags = {
        "gpus": any(pool.accelerator is not None for pool in of.pools),
        **{component: of.has(component) for component in ("gpu-operator", "node-problem-detector")},
    }
    files = [filled(f"rules/{name}.yaml", Values(flags)) for name in FILES]
    groups: list[Any] = [facts_group(of.pools, of.teams), *(group for file in files for group in file["groups"])]
    return {"groups": groups}
