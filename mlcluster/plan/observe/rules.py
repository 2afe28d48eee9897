"""The PrometheusRule of a cluster."""

from collections.abc import Iterable
from typing import Protocol

from mlcluster.plan.model import Manifest, Pool, TeamPlan
from mlcluster.plan.observe import health_alerts, supply_alerts, use_alerts, work_alerts
from mlcluster.plan.observe.chargeback import chargeback
from mlcluster.plan.observe.facts import facts_group
from mlcluster.plan.observe.records import gpu_records, queue_records
from mlcluster.plan.observe.rule import Group
from mlcluster.plan.observe.team_quota import team_quota

API = "monitoring.coreos.com/v1"


class Watched(Protocol):
    """What rules are made for; a `ComponentContext` is one."""

    @property
    def pools(self) -> tuple[Pool, ...]: ...
    @property
    def teams(self) -> tuple[TeamPlan, ...]: ...
    def has(self, component: str) -> bool: ...


def groups(of: Watched) -> tuple[Group, ...]:
    """Every group of rules; those about GPUs only where a pool has some."""
    gpus = any(pool.accelerator is not None for pool in of.pools)
    about_gpus = (
        gpu_records(),
        chargeback(),
        use_alerts.gpu_use(),
        health_alerts.gpu_health(detector=of.has("node-problem-detector")),
        supply_alerts.gpu_supply(operator=of.has("gpu-operator")),
    )
    return (
        facts_group(of.pools, of.teams),
        *(about_gpus if gpus else ()),
        queue_records(),
        team_quota(),
        work_alerts.nodes_and_pods(),
        work_alerts.queues(),
    )


def rule_spec(found: Iterable[Group]) -> Manifest:
    """The groups as the spec of a PrometheusRule, which is also what a rule file of Prometheus holds."""
    return {"groups": [group.manifest() for group in found if group.rules]}
