"""ClusterSpec in, Plan out."""

from mlcluster.catalog.pins import LAB_KUBERNETES
from mlcluster.plan.admission import policy_objects
from mlcluster.plan.components import kueue
from mlcluster.plan.model import ClusterFacts, Plan, PlanObject, PlanPod
from mlcluster.plan.namespaces import namespace_objects
from mlcluster.plan.pools import resolve_pools
from mlcluster.plan.quantities import add
from mlcluster.plan.queues import queue_objects
from mlcluster.plan.quota import cohort_plans, team_plans
from mlcluster.plan.simulated_nodes import simulated_nodes
from mlcluster.plan.tiers import resolve_tiers, tier_objects
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.targets import ExistingTarget, LocalTarget


def build(spec: ClusterSpec) -> Plan:
    """The plan of a spec that `spec.load` accepted. Pure: the same spec gives the same plan."""
    cluster = spec.metadata.name
    pods = kueue.kueue_pods(spec)
    pools = resolve_pools(spec, _daemon_sets(pods))
    teams = team_plans(spec, pools)
    cohorts = cohort_plans(spec, pools, teams)
    tiers = resolve_tiers(spec)
    policies = policy_objects(cluster, pools)
    guards = tuple(entry.id for entry in policies)
    objects: list[PlanObject] = [
        *tier_objects(cluster, tiers, kueue.RELEASE_ID),
        *policies,
        *queue_objects(cluster, pools, teams, cohorts, kueue.RELEASE_ID),
    ]
    for written, team in zip(spec.teams, teams, strict=True):
        objects += namespace_objects(cluster, written, team, pools, guards)
    return Plan(
        cluster=_facts(spec),
        pools=pools,
        teams=teams,
        cohorts=cohorts,
        tiers=tiers,
        components=(kueue.kueue_component(spec),),
        resources=simulated_nodes(cluster, spec.target, pools) if spec.target.kind == "local" else (),
        releases=(kueue.kueue_release(spec),),
        objects=tuple(sorted(objects, key=lambda entry: entry.id)),
        pods=pods,
    )


def _daemon_sets(pods: tuple[PlanPod, ...]) -> dict[str, int]:
    return add(*(pod.requests for pod in pods if pod.kind == "DaemonSet"))


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
