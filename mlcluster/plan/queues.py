"""Kueue's objects: a flavor per pool, a cohort, a cluster queue and a local queue per team (Kueue 0.18.3, v1beta2)."""

from collections.abc import Iterable, Mapping

from mlcluster.plan import names
from mlcluster.plan.model import Amounts, CohortPlan, FlavorQuota, Manifest, PlanObject, Pool, TeamPlan
from mlcluster.plan.objects import KUEUE_API, make, object_id
from mlcluster.plan.quantities import canonical, ordered


def queue_objects(
    cluster: str,
    pools: tuple[Pool, ...],
    teams: tuple[TeamPlan, ...],
    cohorts: tuple[CohortPlan, ...],
    kueue: str,
) -> list[PlanObject]:
    """Flavors first, then cohorts, then each team's queues."""
    made = [_flavor(cluster, pool, kueue) for pool in pools]
    flavors = tuple(entry.id for entry in made)
    made += [_cohort(cluster, cohort, (kueue, *flavors)) for cohort in cohorts]
    for team in teams:
        made.append(_cluster_queue(cluster, team, kueue))
        made.append(_local_queue(cluster, team))
    return made


def _flavor(cluster: str, pool: Pool, kueue: str) -> PlanObject:
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]
    tolerations = [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in pool.taints
        if taint.key != names.ACCELERATOR_TAINT
    ]
    body: Manifest = {"spec": {"nodeLabels": dict(pool.selector)}}
    if taints:
        body["spec"]["nodeTaints"] = taints
    if tolerations:
        body["spec"]["tolerations"] = tolerations
    return make(cluster, KUEUE_API, "ResourceFlavor", pool.name, body, needs=(kueue,), spec_path=pool.spec_path)


def _cohort(cluster: str, cohort: CohortPlan, needs: tuple[str, ...]) -> PlanObject:
    quotas = [FlavorQuota(pool, amounts, None, None) for pool, amounts in cohort.remainder.items()]
    spec: Manifest = {"resourceGroups": _resource_groups(quotas)} if quotas else {}
    return make(cluster, KUEUE_API, "Cohort", cohort.name, {"spec": spec}, needs=needs, spec_path=cohort.spec_path)


def _cluster_queue(cluster: str, team: TeamPlan, kueue: str) -> PlanObject:
    body: Manifest = {
        "spec": {
            "cohortName": team.cohort,
            "namespaceSelector": {"matchLabels": {names.TEAM: team.name}},
            "queueingStrategy": "BestEffortFIFO",
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": _resource_groups(team.quotas),
        }
    }
    flavors = tuple(object_id("ResourceFlavor", quota.pool) for quota in team.quotas)
    return make(
        cluster,
        KUEUE_API,
        "ClusterQueue",
        team.name,
        body,
        labels={names.TEAM: team.name},
        needs=(kueue, object_id("Cohort", team.cohort), *flavors),
        spec_path=team.spec_path,
    )


def _local_queue(cluster: str, team: TeamPlan) -> PlanObject:
    return make(
        cluster,
        KUEUE_API,
        "LocalQueue",
        names.LOCAL_QUEUE,
        {"spec": {"clusterQueue": team.name}},
        namespace=team.namespace,
        labels={names.TEAM: team.name},
        needs=(object_id("ClusterQueue", team.name),),
        spec_path=team.spec_path,
    )


def _resource_groups(quotas: Iterable[FlavorQuota]) -> list[Manifest]:
    """One group: cpu stands in every flavor and may stand in one group only.

    Every flavor lists every covered resource, in the same order; what a pool does not have is "0".
    """
    quotas = list(quotas)
    covered = ordered({name for quota in quotas for name in quota.nominal})
    if not covered:
        return []
    flavors = [{"name": quota.pool, "resources": [_resource(quota, name) for name in covered]} for quota in quotas]
    return [{"coveredResources": covered, "flavors": flavors}]


def _resource(quota: FlavorQuota, name: str) -> Manifest:
    entry = {"name": name, "nominalQuota": _amount(quota.nominal, name)}
    if quota.borrowing is not None:
        entry["borrowingLimit"] = _amount(quota.borrowing, name)
    if quota.lending is not None:
        entry["lendingLimit"] = _amount(quota.lending, name)
    return entry


def _amount(amounts: Amounts | Mapping[str, int], name: str) -> str:
    return canonical(name, amounts.get(name, 0))
