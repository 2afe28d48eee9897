"""Declarative components: a chart, its values, its workloads, and the items that belong to them.

A component that is only a chart is one instance of `ChartComponent`, in a module named after its field in the spec.
Fields that depend on the cluster are functions of the context. A component with more logic has a separate
`contribute` function instead.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from mlcluster.catalog.components import pin
from mlcluster.findings import Finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution, Labels
from mlcluster.plan.components.member_roles import MemberKinds, member_roles
from mlcluster.plan.components.releases import chart_release, is_installed, realisation
from mlcluster.plan.components.replicas import disruption_budget
from mlcluster.plan.components.workloads import Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.network import Caller


def _none(_: ComponentContext) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True)
class ChartComponent:
    """A component that consists of its chart.

    Attributes:
        name: the component's name in the catalog.
        values: the values of the chart that mlcluster sets.
        workloads: its controllers and the hooks of Helm; in the plan only if mlcluster installs the chart.
        pods: its other pods, e.g. of daemon sets; in the plan only if mlcluster installs the chart.
        crds: names of its CRDs; resources that need the release wait until they are Established.
        webhook_probes: objects that its webhooks validate; items that need the release wait until the webhooks respond
            to a dry run of each object.
        member_kinds: its kinds that members of teams may create; None for none.
        disruption_budgets: Deployment without a PodDisruptionBudget in the chart -> the labels of its pods.
        namespaces: namespace -> the labels that it needs beyond those of mlcluster; in the plan only if mlcluster
            installs the chart.
        objects: objects that mlcluster adds to the chart.
        callers: its pods that connect to pods of teams.
        findings: notes on how the spec uses it.
        awaits_existing: resources wait for the CRDs and webhooks of an existing installation too.
    """

    name: str
    values: Callable[[ComponentContext], Manifest]
    workloads: tuple[Workload, ...] = ()
    pods: Callable[[ComponentContext], Iterable[PlanPod]] = _none
    crds: tuple[str, ...] = ()
    webhook_probes: tuple[Manifest, ...] = ()
    member_kinds: MemberKinds | None = None
    disruption_budgets: Mapping[str, dict[str, str]] = field(default_factory=dict)
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    objects: Callable[[ComponentContext], Iterable[PlanObject]] = _none
    callers: Callable[[ComponentContext], Iterable[Caller]] = _none
    findings: Callable[[ComponentContext], Iterable[Finding]] = _none
    awaits_existing: bool = True

    def contribute(self, context: ComponentContext) -> Contribution:
        """Return what the component adds to the plan."""
        configured = self.awaits_existing or realisation(context, self.name) != "present"
        release = chart_release(
            context,
            self.name,
            self.values(context) if configured else {},
            crds=self.crds if configured else (),
            webhook_probes=self.webhook_probes if configured else (),
        )
        installed = is_installed(context, self.name)
        return Contribution(
            releases=(release,),
            objects=tuple(self._objects(context)),
            pods=tuple(self._pods(context)) if installed else (),
            namespaces=self.namespaces if installed else {},
            findings=tuple(self.findings(context)),
            callers=tuple(self.callers(context)),
        )

    def _objects(self, context: ComponentContext) -> Iterable[PlanObject]:
        yield from self.objects(context)
        if self.member_kinds is not None:
            yield from member_roles(context, self.name, self.member_kinds)
        for deployment, labels in self.disruption_budgets.items():
            yield from disruption_budget(context, self.name, deployment, labels, namespace=pin(self.name).namespace)

    def _pods(self, context: ComponentContext) -> Iterable[PlanPod]:
        for workload in self.workloads:
            yield workload_pod(context, self.name, workload)
        yield from self.pods(context)
