"""The hard limits of a team's ResourceQuota: requests of its pods, and numbers of stored objects.

Kueue's quota limits running workloads. ResourceQuota cannot do that: it counts a pod from its creation, also while
Kueue's gate keeps it pending, and no quota scope (Terminating, BestEffort, PriorityClass, ...) separates gated pods
from running ones. A limit as low as the team's share would let pending pods of a Deployment block the pods of a Job
that Kueue has admitted. So it is twice the share; docs/tenancy.md describes the consequences.
"""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import Pool, TeamPlan
from mlcluster.quantities import add, canonical, ordered, parse
from mlcluster.spec.teams import Team, TeamLimits

QUEUED_PODS_FACTOR = 2
"""Leaves room for gated pods and for pods that are being deleted."""
PORTS_PER_LOAD_BALANCER = 16
"""Node ports of a Service of type LoadBalancer: one for each of its ports."""
REVISIONS = 12
"""A Deployment keeps ten old ReplicaSets by default, beside the current one and the next."""

_STORED = (
    "controllerrevisions.apps",
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "horizontalpodautoscalers.autoscaling",
    "leases.coordination.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "replicasets.apps",
    "replicationcontrollers",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "serviceaccounts",
    "statefulsets.apps",
)
"""Every other kind that the roles `edit` and `admin` may create, and the objects that controllers store per revision.

Events are missing: ResourceQuota ignores them (pkg/quota/v1/install, DefaultIgnoredResources), so a policy limits them.
"""
_BY_REVISION = frozenset({"controllerrevisions.apps", "replicasets.apps"})


def with_limits(
    specs: Iterable[Team], teams: Iterable[TeamPlan], pools: tuple[Pool, ...], custom: Iterable[str]
) -> tuple[TeamPlan, ...]:
    """Return the teams, each with the hard limits of its ResourceQuota.

    Args:
        custom: the custom resources that members may create, as plural.group.
    """
    kinds = (*_STORED, *custom)
    return tuple(
        replace(
            team, limits={**_requests(spec, team, pools), **_objects(spec.limits, _most_pods(spec, team, pools), kinds)}
        )
        for spec, team in zip(specs, teams, strict=True)
    )


def closed_limits(limits: TeamLimits) -> list[str]:
    """Return the limits, by their names in the spec, that open a Service to the outside and are 0."""
    found = {"ingresses": limits.ingresses, "loadBalancers": limits.load_balancers}
    return [name for name, most in found.items() if not most]


def _requests(spec: Team, team: TeamPlan, pools: tuple[Pool, ...]) -> dict[str, str]:
    most = _most(spec, team, pools)
    return {"pods" if name == "pods" else f"requests.{name}": canonical(name, most[name]) for name in ordered(most)}


def _most_pods(spec: Team, team: TeamPlan, pools: tuple[Pool, ...]) -> int:
    return _most(spec, team, pools).get("pods", 0)


def _most(spec: Team, team: TeamPlan, pools: tuple[Pool, ...]) -> dict[str, int]:
    """Return the most that pods of the team may request: twice the nominal quota plus the borrowing limit.

    For a team that Volcano queues, it is the quota itself.
    """
    by_name = {pool.name: pool for pool in pools}
    share: dict[str, int] = {}
    for quota in team.quotas:
        capacity = by_name[quota.pool].capacity
        own = capacity if quota.borrowing is None else add(quota.nominal, quota.borrowing)
        share = add(share, {name: min(amount, capacity[name]) for name, amount in own.items()})
    factor = QUEUED_PODS_FACTOR if spec.scheduler == "kueue" else 1
    every = add(dict.fromkeys((name for pool in pools for name in pool.usable), 0), share)
    return {name: amount * factor for name, amount in every.items()}


def _objects(limits: TeamLimits, pods: int, kinds: Iterable[str]) -> dict[str, str]:
    """Return the limits on numbers of objects in the namespace; `pods` is the number of pods that have not ended."""
    counts = {
        "count/pods": pods + limits.finished_pods,
        "count/jobs.batch": limits.jobs,
        "count/configmaps": limits.config_maps,
        "count/secrets": limits.secrets,
        "count/services": limits.services,
        "services.loadbalancers": limits.load_balancers,
        "services.nodeports": limits.load_balancers * PORTS_PER_LOAD_BALANCER,
        "count/ingresses.networking.k8s.io": limits.ingresses,
        "count/persistentvolumeclaims": limits.volume_claims,
        **{f"count/{kind}": limits.other_objects * (REVISIONS if kind in _BY_REVISION else 1) for kind in kinds},
    }
    hard = {name: canonical("", most) for name, most in counts.items()}
    return {**hard, "requests.storage": canonical("memory", parse("memory", limits.storage))}
