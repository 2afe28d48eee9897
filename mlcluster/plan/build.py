"""ClusterSpec in, Plan out."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mlcluster.catalog.pins import LAB_KUBERNETES
from mlcluster.plan import job_kinds
from mlcluster.plan.admission import policy_objects
from mlcluster.plan.bounds import default_requests, with_default_containers
from mlcluster.plan.components.assembly import component_parts, contributions, labelled
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.index import selected
from mlcluster.plan.components.member_roles import kinds_of_members
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.components.system_nodes import pods_on, system_selector
from mlcluster.plan.controllers import with_controllers
from mlcluster.plan.limits import with_limits
from mlcluster.plan.model import Amounts, ClusterFacts, Plan, PlanObject, PlanPod, PlanResource, Pool, TeamPlan
from mlcluster.plan.namespaces import ingress_objects, members_of, namespace_objects
from mlcluster.plan.network import Caller
from mlcluster.plan.overhead import with_daemon_sets
from mlcluster.plan.pools import plan_pools
from mlcluster.plan.queue_readers import queue_readers
from mlcluster.plan.queues import queue_objects, queue_rules
from mlcluster.plan.quota import cohort_plans, for_teams, team_plans
from mlcluster.plan.simulated_nodes import simulated_nodes
from mlcluster.plan.tiers import resolve_tiers, tier_objects
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.targets import ExistingTarget, LocalTarget

if TYPE_CHECKING:
    from mlcluster.plan.eks.parts import EksParts
    from mlcluster.plan.rendered_pods import Rendered

KUEUE_RELEASE = release_id("kueue")


def build(spec: ClusterSpec, rendered: "Rendered | None" = None) -> Plan:
    """Return the plan of a spec that `spec.load` accepted. Pure: the same spec gives the same plan.

    Args:
        rendered: pods of rendered charts (`charts.pods`), which take the place of the declared ones.
    """
    cluster = spec.metadata.name
    pools, pods, chosen = _pools_and_pods(spec, rendered or {})
    requests = default_requests(pools)
    pools = with_default_containers(pools, requests)
    shared = for_teams(pools)
    teams = team_plans(spec, shared)
    cohorts = cohort_plans(spec, shared, teams)
    tiers = resolve_tiers(spec)
    volcano = any(team.scheduler == "volcano" for team in spec.teams)
    policies = policy_objects(cluster, shared, job_kinds.controllers(spec, chosen), volcano=volcano)
    parts = component_parts(ComponentContext(spec, pools, chosen, teams, cohorts))
    teams = with_limits(spec.teams, teams, shared, kinds_of_members(parts.objects))
    cloud = None if spec.target.kind != "eks" else _cloud(spec, spec.target, pools, teams, parts.resources)
    objects = [
        *tier_objects(cluster, tiers, KUEUE_RELEASE, headroom=any(pool.warm for pool in spec.node_pools)),
        *policies,
        *queue_objects(cluster, shared, teams, cohorts, KUEUE_RELEASE, rules=queue_rules(spec, shared)),
        *parts.objects,
        *(cloud.objects if cloud else ()),
        *_team_objects(spec, teams, requests, tuple(entry.id for entry in policies), parts.callers),
    ]
    return Plan(
        cluster=_facts(spec),
        pools=pools,
        teams=teams,
        cohorts=cohorts,
        tiers=tiers,
        components=parts.components,
        resources=cloud.resources if cloud else _nodes(spec, pools),
        releases=parts.releases,
        objects=tuple(sorted(objects, key=lambda entry: entry.id)),
        pods=pods,
        findings=parts.findings,
        default_requests=requests,
    )


def _team_objects(
    spec: ClusterSpec,
    teams: tuple[TeamPlan, ...],
    requests: Amounts,
    guards: tuple[str, ...],
    callers: Iterable[Caller],
) -> Iterator[PlanObject]:
    """Yield the objects in the namespace of each team.

    Args:
        requests: of a container that names none.
        guards: ids of the policies that are in force before a team has a namespace.
        callers: pods of components that connect to pods of teams.
    """
    cluster = spec.metadata.name
    written = list(zip(spec.teams, teams, strict=True))
    queued = [team for given, team in written if given.scheduler == "kueue"]
    for given, team in written:
        yield from namespace_objects(cluster, given, team, requests, guards)
        yield from ingress_objects(cluster, team, callers)
        if team in queued:
            yield from queue_readers(cluster, team, queued, members_of(given))


def _pools_and_pods(
    spec: ClusterSpec, rendered: "Rendered"
) -> tuple[tuple[Pool, ...], tuple[PlanPod, ...], dict[str, Loc]]:
    """Pools less daemon sets and controllers, every pod of components, and the components with what brought them.

    Which daemon set lands on which pool follows from the pools' labels and taints, so components are asked twice.
    """
    pools = plan_pools(spec)
    chosen = selected(spec, pools)
    made = contributions(ComponentContext(spec, pools, chosen))
    pools = labelled(pools, made)
    pods = tuple(pod for one in made.values() for pod in one.pods)
    if isinstance(spec.target, EksTarget):
        from mlcluster.plan.eks.context import EksContext
        from mlcluster.plan.eks.parts import eks_pods

        pods = (*pods, *eks_pods(EksContext(spec, spec.target, pools)))
    pods = pods_on(system_selector(pools, on_existing=spec.target.kind == "existing"), pods)
    if rendered:
        from mlcluster.plan.rendered_pods import with_rendered  # only `plan --chart-dir` waits for it

        pods = with_rendered(pods, rendered)
    return with_controllers(with_daemon_sets(pools, pods), pods), pods, chosen


def _cloud(
    spec: ClusterSpec,
    target: EksTarget,
    pools: tuple[Pool, ...],
    teams: tuple[TeamPlan, ...],
    of_components: tuple[PlanResource, ...],
) -> "EksParts":
    """Return the AWS resources; their modules are imported only here, so that other targets do not load them."""
    from mlcluster.plan.eks.context import EksContext
    from mlcluster.plan.eks.parts import eks_parts

    return eks_parts(EksContext(spec, target, pools), teams, of_components)


def _nodes(spec: ClusterSpec, pools: tuple[Pool, ...]) -> tuple[PlanResource, ...]:
    if not isinstance(spec.target, LocalTarget):
        return ()
    return simulated_nodes(spec.metadata.name, spec.target, pools)


def _facts(spec: ClusterSpec) -> ClusterFacts:
    target, name = spec.target, spec.metadata.name
    budget = spec.budget.max_hourly_usd if spec.budget else None
    match target:
        case EksTarget():
            return ClusterFacts(
                name, "eks", target.region, target.kubernetes_version, target.kubernetes_provider, budget
            )
        case ExistingTarget():
            return ClusterFacts(name, "existing", "", "", target.kubernetes_provider, budget)
        case LocalTarget():
            return ClusterFacts(name, "local", "local", LAB_KUBERNETES, "builtin", budget)
