"""ClusterSpec in, Plan out."""

from typing import TYPE_CHECKING

from mlcluster.catalog.pins import LAB_KUBERNETES
from mlcluster.plan.admission import policy_objects
from mlcluster.plan.components import kueue
from mlcluster.plan.model import ClusterFacts, Plan, PlanObject, PlanPod, PlanResource, Pool, TeamPlan
from mlcluster.plan.namespaces import namespace_objects
from mlcluster.plan.overhead import with_daemon_sets
from mlcluster.plan.pools import resolve_pools
from mlcluster.plan.queues import queue_objects
from mlcluster.plan.quota import cohort_plans, team_plans
from mlcluster.plan.simulated_nodes import simulated_nodes
from mlcluster.plan.tiers import resolve_tiers, tier_objects
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.targets import ExistingTarget, LocalTarget

if TYPE_CHECKING:
    from mlcluster.plan.eks.parts import EksParts


def build(spec: ClusterSpec) -> Plan:
    """The plan of a spec that `spec.load` accepted. Pure: the same spec gives the same plan."""
    cluster = spec.metadata.name
    pools, pods = _pools_and_pods(spec)
    teams = team_plans(spec, pools)
    cohorts = cohort_plans(spec, pools, teams)
    tiers = resolve_tiers(spec)
    policies = policy_objects(cluster, pools)
    guards = tuple(entry.id for entry in policies)
    cloud = None if spec.target.kind != "eks" else _cloud(spec, spec.target, pools, teams)
    objects: list[PlanObject] = [
        *tier_objects(cluster, tiers, kueue.RELEASE_ID, headroom=any(pool.warm for pool in spec.node_pools)),
        *policies,
        *queue_objects(cluster, pools, teams, cohorts, kueue.RELEASE_ID),
        *(cloud.objects if cloud else ()),
    ]
    for written, team in zip(spec.teams, teams, strict=True):
        objects += namespace_objects(cluster, written, team, pools, guards)
    return Plan(
        cluster=_facts(spec),
        pools=pools,
        teams=teams,
        cohorts=cohorts,
        tiers=tiers,
        components=(kueue.kueue_component(spec), *(cloud.components if cloud else ())),
        resources=cloud.resources if cloud else _nodes(spec, pools),
        releases=(kueue.kueue_release(spec), *(cloud.releases if cloud else ())),
        objects=tuple(sorted(objects, key=lambda entry: entry.id)),
        pods=pods,
    )


def _pools_and_pods(spec: ClusterSpec) -> tuple[tuple[Pool, ...], tuple[PlanPod, ...]]:
    """Pools, less what daemon sets take of their nodes, and every pod of ours.

    Which daemon set lands on which pool follows from the pools' labels and taints, so they are resolved first.
    """
    pools, pods = resolve_pools(spec), kueue.kueue_pods(spec)
    if isinstance(spec.target, EksTarget):
        from mlcluster.plan.eks.context import EksContext
        from mlcluster.plan.eks.parts import eks_pods

        pods = (*pods, *eks_pods(EksContext(spec, spec.target, pools)))
    return with_daemon_sets(pools, pods), pods


def _cloud(spec: ClusterSpec, target: EksTarget, pools: tuple[Pool, ...], teams: tuple[TeamPlan, ...]) -> "EksParts":
    """What comes with AWS; its modules are loaded only here, so that other targets do not wait for them."""
    from mlcluster.plan.eks.context import EksContext
    from mlcluster.plan.eks.parts import eks_parts

    return eks_parts(EksContext(spec, target, pools), teams)


def _nodes(spec: ClusterSpec, pools: tuple[Pool, ...]) -> tuple[PlanResource, ...]:
    if not isinstance(spec.target, LocalTarget):
        return ()
    return simulated_nodes(spec.metadata.name, spec.target, pools)


def _facts(spec: ClusterSpec) -> ClusterFacts:
    target, name = spec.target, spec.metadata.name
    budget = spec.budget.max_hourly_usd if spec.budget else None
    match target:
        case EksTarget():
            return ClusterFacts(name, "eks", target.region, target.kubernetes_version, "official", budget)
        case ExistingTarget():
            return ClusterFacts(name, "existing", "", "", target.kubernetes_provider, budget)
        case LocalTarget():
            return ClusterFacts(name, "local", "local", LAB_KUBERNETES, "builtin", budget)
