"""Volcano 1.15: gang scheduler and queues of the teams that choose it (chart volcano, values of v1.11 and later).

The queue of each such team has the amounts of its guarantee and of its borrowing limit. Kueue ignores their namespaces;
the namespace's ResourceQuota limits the usage of their pods as well.
"""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan import names
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.components.replicas import REPLICAS, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import Workload
from mlcluster.plan.model import Manifest, PlanObject, TeamPlan
from mlcluster.plan.objects import make
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.tiers import resolve_tiers
from mlcluster.quantities import add, canonical, ordered, subtract

NAME = "volcano"
API = "scheduling.volcano.sh/v1beta1"
REQUESTS = {"cpu": "200m", "memory": "512Mi"}
PARTS = ("scheduler", "controller", "admission")
ADMISSION = "volcano-admission"
_ADMISSION_LABELS = {"app": ADMISSION}
_SCHEDULER = """\
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
  - name: nodeorder
  - name: binpack
"""
"""The plugin `capacity` reads deserved, guarantee and capability of a queue, by resource.

The plugin `gang` would protect each gang at its minimum number of pods from preemption, so that no tier could preempt
another.
"""


def _teams(context: ComponentContext) -> list[TeamPlan]:
    chosen = {team.name for team in context.spec.teams if team.scheduler == NAME}
    return [team for team in context.teams if team.name in chosen]


def _values(context: ComponentContext) -> Manifest:
    """Return the values; webhooks match only namespaces of teams with Volcano, so an outage blocks no other teams."""
    mine = {"key": names.SCHEDULER, "operator": "In", "values": [NAME]}
    custom: Manifest = {
        "default_tolerations": toleration_manifests(controller_tolerations(context)),
        "webhooks_namespace_selector_expressions": [mine],
        "scheduler_config_override": _SCHEDULER,
        "leader_elect_enable": True,
        "admission_replicas": REPLICAS,
        "admission_affinity": prefer_apart(_ADMISSION_LABELS),
    }
    custom |= {f"{part}_resources": {"requests": REQUESTS, "limits": {"memory": "2Gi"}} for part in PARTS}
    return {
        "basic": {"image_tag_version": context.image_tag(NAME), "image_pull_policy": "IfNotPresent"},
        "custom": custom,
    }


def _queue(context: ComponentContext, team: TeamPlan) -> PlanObject:
    """Return a team's queue.

    `deserved` is the guarantee of the team, `capability` its maximum, `guarantee` the part that it never lends.
    """
    capacity = {pool.name: pool.capacity for pool in context.pools}
    deserved: dict[str, int] = {}
    most: dict[str, int] = {}
    kept: dict[str, int] = {}
    for quota in team.quotas:
        whole = capacity[quota.pool]
        own = whole if quota.borrowing is None else add(quota.nominal, quota.borrowing)
        deserved = add(deserved, quota.nominal)
        most = add(most, {name: min(amount, whole[name]) for name, amount in own.items()})
        lent = quota.nominal if quota.lending is None else quota.lending
        kept = add(kept, subtract(quota.nominal, lent))
    return make(
        context.cluster,
        API,
        "Queue",
        team.name,
        {
            "spec": {
                "weight": 1,
                "reclaimable": True,
                "deserved": _resources(deserved),
                "guarantee": {"resource": _resources(kept)},
                "capability": _resources(most),
            }
        },
        needs=(release_id(NAME),),
        spec_path=team.spec_path,
        team=team.name,
    )


def _resources(amounts: dict[str, int]) -> dict[str, str]:
    return {name: canonical(name, amounts[name]) for name in ordered(amounts) if name != "pods"}


def _findings(context: ComponentContext) -> Iterator[Finding]:
    for team in _teams(context):
        yield from _borrower(team)
        yield from _without_preemption(context, team)


def _borrower(team: TeamPlan) -> list[Finding]:
    if all(quota.borrowing is not None and not any(quota.borrowing.values()) for quota in team.quotas):
        return []
    message = (
        f"team {team.name} may borrow through Volcano what Kueue has given to another team: the two schedulers do not "
        "coordinate, so pods of one of them may stay pending"
    )
    hint = "Guarantee the team what it needs, and remove `borrow`"
    return [finding("KUE003", (*team.spec_path, "borrow"), message, hint)]


def _without_preemption(context: ComponentContext, team: TeamPlan) -> list[Finding]:
    """Return a finding for tiers whose PriorityClass has the preemption policy Never, for which Volcano never preempts.

    Source: actions/preempt/preempt.go (`taskEligibleToPreempt`) and actions/reclaim/reclaim.go of v1.15.1.
    """
    never = [tier.name for tier in resolve_tiers(context.spec) if tier.name in team.tiers and not tier.preempts_pods]
    if not never:
        return []
    message = (
        f"Volcano preempts nothing for pods of team {team.name} with the {'tiers' if len(never) > 1 else 'tier'} "
        f"{', '.join(never)}: they neither preempt lower tiers nor take the guarantee of the team back"
    )
    hint = "Set `preemptsPods: true` for the tiers of this team, and give them to no team of Kueue"
    return [finding("KUE005", (*team.spec_path, "tiers"), message, hint)]


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(
        Workload("volcano-scheduler", REQUESTS),
        Workload("volcano-controllers", REQUESTS),
        # Only the admission component serves webhooks, and it is stateless.
        Workload(ADMISSION, REQUESTS, replicas=REPLICAS),
        # Makes the certificate of the webhook, with the requests of the webhook.
        Workload("volcano-admission-init", REQUESTS, kind="Job"),
    ),
    crds=(
        "jobs.batch.volcano.sh",
        "commands.bus.volcano.sh",
        "podgroups.scheduling.volcano.sh",
        "queues.scheduling.volcano.sh",
    ),
    webhook_probes=(
        {"apiVersion": API, "kind": "Queue", "metadata": {"name": "mlcluster-probe"}, "spec": {"weight": 1}},
    ),
    member_kinds=MemberKinds("batch.volcano.sh", ("jobs",)),
    disruption_budgets={ADMISSION: _ADMISSION_LABELS},
    objects=lambda context: (_queue(context, team) for team in _teams(context)),
    findings=_findings,
)
contribute = COMPONENT.contribute
