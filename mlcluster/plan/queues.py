"""Kueue's objects: a flavor per pool, a cohort, a cluster queue and a local queue per team (Kueue 0.18.3, v1beta2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlcluster.plan import names
from mlcluster.plan.model import Amounts, CohortPlan, FlavorQuota, Manifest, Plan, PlanObject, Pool, TeamPlan
from mlcluster.plan.objects import KUEUE_API, make, object_id
from mlcluster.plan.taints import flavor_tolerations, taint_manifest, toleration_manifests
from mlcluster.plan.topology import Levels, flavor_name, pool_levels, topology_id, topology_name, topology_objects
from mlcluster.quantities import canonical, ordered
from mlcluster.spec.cluster import ClusterSpec


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Settings of queues in the spec, without amounts.

    Attributes:
        levels: pool -> the node labels by which gangs are packed.
        fair: Kueue shares borrowed quota by weight.
        weights: team -> its weight.
        displaces: team -> the highest priority of others' work that it may displace while it borrows.
        elsewhere: teams that another scheduler queues.
    """

    levels: Mapping[str, Levels] = field(default_factory=dict)
    fair: bool = False
    weights: Mapping[str, int] = field(default_factory=dict)
    displaces: Mapping[str, int] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()


def queue_rules(spec: ClusterSpec, pools: Iterable[Pool]) -> QueueRules:
    """Return the rules of a spec."""
    sharing = spec.components.kueue.fair_sharing
    values = {tier.name: tier.value for tier in spec.priority_tiers}
    return QueueRules(
        levels=pool_levels(spec, pools),
        fair=sharing is not None,
        weights=sharing.weights if sharing else {},
        displaces={team.name: values[team.displaces] for team in spec.teams if team.displaces in values},
        elsewhere=frozenset(team.name for team in spec.teams if team.scheduler != "kueue"),
    )


def queue_objects(  # noqa: PLR0913 -- pools, teams, cohorts, and how they share
    cluster: str,
    pools: tuple[Pool, ...],
    teams: tuple[TeamPlan, ...],
    cohorts: tuple[CohortPlan, ...],
    kueue: str,
    *,
    rules: QueueRules | None = None,
) -> list[PlanObject]:
    """Topologies and flavors first, then cohorts, then each team's queues."""
    rules = rules or QueueRules()
    topologies = topology_objects(cluster, pools, rules.levels, kueue)
    made = [_flavor(cluster, pool, kueue, rules.levels.get(pool.name)) for pool in pools]
    flavors = tuple(entry.id for entry in made)
    called = {pool.name: flavor_name(pool, rules.levels.get(pool.name)) for pool in pools}
    made += [_cohort(cluster, cohort, (kueue, *flavors), called) for cohort in cohorts]
    for team in teams:
        if team.name not in rules.elsewhere:
            made.append(_cluster_queue(cluster, team, kueue, rules, called))
            made.append(_local_queue(cluster, team))
    return [*topologies.values(), *made]


def queued_teams(plan: Plan) -> tuple[TeamPlan, ...]:
    """Return the teams of a plan that have a queue of Kueue's; the others have another scheduler."""
    queued = {entry.team for entry in plan.objects if entry.kind == "ClusterQueue"}
    return tuple(team for team in plan.teams if team.name in queued)


def _flavor(cluster: str, pool: Pool, kueue: str, levels: Levels | None) -> PlanObject:
    taints = [taint_manifest(taint, empty_value=True) for taint in pool.taints]
    tolerations = toleration_manifests(flavor_tolerations(pool.taints))
    body: Manifest = {"spec": {"nodeLabels": dict(pool.selector)}}
    if taints:
        body["spec"]["nodeTaints"] = taints
    if tolerations:
        body["spec"]["tolerations"] = tolerations
    needs: tuple[str, ...] = (kueue,)
    if levels:
        body["spec"]["topologyName"] = topology_name(levels)
        needs = (kueue, topology_id(levels))
    name = flavor_name(pool, levels)
    return make(cluster, KUEUE_API, "ResourceFlavor", name, body, needs=needs, spec_path=pool.spec_path, pool=pool.name)


def _cohort(cluster: str, cohort: CohortPlan, needs: tuple[str, ...], called: Mapping[str, str]) -> PlanObject:
    quotas = [FlavorQuota(pool, amounts, None, None) for pool, amounts in cohort.remainder.items()]
    spec: Manifest = {"resourceGroups": _resource_groups(quotas, called)} if quotas else {}
    return make(cluster, KUEUE_API, "Cohort", cohort.name, {"spec": spec}, needs=needs, spec_path=cohort.spec_path)


def _cluster_queue(
    cluster: str, team: TeamPlan, kueue: str, rules: QueueRules, called: Mapping[str, str]
) -> PlanObject:
    preemption: Manifest = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    if team.name in rules.displaces:
        preemption["borrowWithinCohort"] = {
            "policy": "LowerPriority",
            "maxPriorityThreshold": rules.displaces[team.name],
        }
    body: Manifest = {
        "spec": {
            "cohortName": team.cohort,
            "namespaceSelector": {"matchLabels": {names.TEAM: team.name}},
            "queueingStrategy": "BestEffortFIFO",
            "stopPolicy": "None",  # a `down` that was interrupted may have stopped it
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": preemption,
            "resourceGroups": _resource_groups(team.quotas, called),
        }
    }
    if rules.fair:
        body["spec"]["fairSharing"] = {"weight": str(rules.weights.get(team.name, 1))}
    flavors = tuple(object_id("ResourceFlavor", called[quota.pool]) for quota in team.quotas)
    return make(
        cluster,
        KUEUE_API,
        "ClusterQueue",
        team.name,
        body,
        team=team.name,
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
        team=team.name,
        needs=(object_id("ClusterQueue", team.name),),
        spec_path=team.spec_path,
    )


def _resource_groups(quotas: Iterable[FlavorQuota], called: Mapping[str, str]) -> list[Manifest]:
    """Return one resource group: every flavor has cpu, and a resource may be in one group only.

    Every flavor lists every covered resource, in the same order; a resource that the pool lacks is "0".
    """
    quotas = list(quotas)
    covered = ordered({name for quota in quotas for name in quota.nominal})
    if not covered:
        return []
    flavors = [
        {"name": called[quota.pool], "resources": [_resource(quota, name) for name in covered]} for quota in quotas
    ]
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
