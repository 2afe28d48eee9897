"""kube-prometheus-stack, or a Prometheus that is there: rules, dashboards, and what it scrapes for them.

Facts: chart 88.5.3. The chart asks for hardly any resources; what we ask for is what the plan
counts. Alertmanager's receivers and whoever may see Grafana from outside are the user's, in `values`.
"""

from collections.abc import Iterator

from mlcluster.findings import Finding, found
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED, Contribution
from mlcluster.plan.components.monitoring_values import REQUESTS, stack_values
from mlcluster.plan.components.releases import chart_release, realisation, release_id
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import make
from mlcluster.plan.observe.controllers import ENDPOINTS, controller_monitor
from mlcluster.plan.observe.dashboards import as_data, dashboards
from mlcluster.plan.observe.facts import node_label_keys
from mlcluster.plan.observe.rules import API, groups, rule_spec
from mlcluster.plan.observe.scrape import STACK, kueue_monitor, monitor_labels, namespace, rule_labels
from mlcluster.plan.observe.team_pods import team_monitor, team_scraper
from mlcluster.plan.places import place
from mlcluster.spec.components.observe import Monitoring

RELEASE_ID = release_id(STACK)
CRDS = tuple(
    f"{name}.monitoring.coreos.com"
    for name in ("alertmanagers", "podmonitors", "probes", "prometheuses", "prometheusrules", "servicemonitors")
)

_SOURCE = "values of the release, over those of {source}"
_NODE_EXPORTER = Workload(
    f"{STACK}-prometheus-node-exporter",
    REQUESTS["nodes"],
    kind="DaemonSet",
    priority_class=NODE_CRITICAL,
    source=_SOURCE,
)


def contribute(context: ComponentContext) -> Contribution:
    """The stack where it is ours to install; rules, dashboards and monitors in any case."""
    settings = context.spec.components.monitoring or Monitoring()
    ours = realisation(context, STACK) != "present"
    release = chart_release(
        context,
        STACK,
        stack_values(context, settings) if ours else {},
        namespace=namespace(context.spec),
        needs=_volume_class(context, settings) if ours else (),
        crds=CRDS if ours else (),
    )
    # Node exporter sees the host's processes, network and file systems.
    reaches_in = {namespace(context.spec): PRIVILEGED} if ours else {}
    return Contribution(
        releases=(release,),
        objects=(_rule(context), *_monitors(context), *_dashboards(context, settings)),
        pods=tuple(_pods(context, settings)) if ours else (),
        namespaces=reaches_in,
        findings=(*_unpriced(context), *_unlabelled(context, ours=ours)),
        callers=(team_scraper(context.spec, context.spec_path(STACK)),),
    )


def _rule(context: ComponentContext) -> PlanObject:
    spec = rule_spec(groups(context))
    return _object(context, "PrometheusRule", "mlcluster", {"spec": spec}, rule_labels(context.spec))


def _monitors(context: ComponentContext) -> list[PlanObject]:
    """Those of teams' pods and of controllers; the exporters of GPUs bring their own. On the lab Kueue is no pod."""
    labels = monitor_labels(context.spec)
    found = []
    if context.teams:
        teams = team_monitor([team.namespace for team in context.teams])
        found.append(_object(context, "PodMonitor", "mlcluster-teams", {"spec": teams}, labels))
    if realisation(context, "kueue") != "process":
        found.append(_object(context, "ServiceMonitor", "mlcluster-kueue", {"spec": kueue_monitor()}, labels))
    for name in sorted(ENDPOINTS.keys() & context.selected.keys()):
        if realisation(context, name) == "helm":
            spec = {"spec": controller_monitor(name)}
            found.append(_object(context, ENDPOINTS[name].kind, f"mlcluster-{name}", spec, labels))
    return found


def _dashboards(context: ComponentContext, settings: Monitoring) -> list[PlanObject]:
    if not settings.grafana.dashboards:
        return []
    labels = dict(settings.grafana.dashboard_labels)
    wanted = dashboards(gpus=bool(context.gpu_pools))
    return [
        _object(context, "ConfigMap", name, {"data": as_data(name, dashboard)}, labels)
        for name, dashboard in wanted.items()
    ]


def _object(context: ComponentContext, kind: str, name: str, body: Manifest, labels: dict[str, str]) -> PlanObject:
    return make(
        context.cluster,
        "v1" if kind == "ConfigMap" else API,
        kind,
        name,
        body,
        namespace=namespace(context.spec),
        labels=labels,
        needs=(RELEASE_ID,),
        spec_path=context.spec_path(STACK),
    )


def _volume_class(context: ComponentContext, settings: Monitoring) -> tuple[str, ...]:
    """The class of Prometheus's volume, where it is ours: without it the volume is never made."""
    if context.target != "eks":
        return ()
    from mlcluster.plan.eks.storage.objects import DEFAULT_CLASS

    written = context.spec.storage.classes
    default = next((one.name for one in written if one.default), "") if written else DEFAULT_CLASS
    ours = [one.name for one in written] or [DEFAULT_CLASS]
    wanted = settings.storage_class or default
    return (f"StorageClass/{wanted}",) if wanted in ours else ()


def _pods(context: ComponentContext, settings: Monitoring) -> Iterator[PlanPod]:
    home = namespace(context.spec)
    for workload in _workloads(settings):
        yield workload_pod(context, STACK, workload, namespace=home)
    yield from daemon_set_pods(context, STACK, _NODE_EXPORTER, context.pools, namespace=home)


def _workloads(settings: Monitoring) -> Iterator[Workload]:
    name, prometheus = STACK, {**REQUESTS["prometheus"], "memory": settings.memory}
    yield Workload(f"{name}-operator", REQUESTS["operator"], source=_SOURCE)
    yield Workload(f"prometheus-{name}-prometheus", prometheus, "StatefulSet", source=_SOURCE)
    if settings.alertmanager:
        yield Workload(f"alertmanager-{name}-alertmanager", REQUESTS["alertmanager"], "StatefulSet", source=_SOURCE)
    if settings.grafana.install:
        yield Workload(f"{name}-grafana", REQUESTS["grafana"], source=_SOURCE)
    yield Workload(f"{name}-kube-state-metrics", REQUESTS["state"], source=_SOURCE)
    for hook in ("create", "patch"):
        yield Workload(f"{name}-admission-{hook}", kind="Job", priority_class="", source=_SOURCE)


def _unpriced(context: ComponentContext) -> list[Finding]:
    unknown = [pool for pool in context.gpu_pools if pool.price is None]
    return [
        found(
            "OBS001",
            place(pool.spec_path),
            f"GPU-hours of pool {pool.name} have no USD: the price of its nodes is unknown",
            "give nodeShape.hourlyUsd, or leave it: nothing is charged for it",
        )
        for pool in unknown
    ]


def _unlabelled(context: ComponentContext, *, ours: bool) -> list[Finding]:
    """What a Prometheus that is there has to know of nodes."""
    if ours:
        return []
    keys = ",".join(node_label_keys(context.pools))
    return [
        found(
            "OBS002",
            place(context.spec_path(STACK)),
            f"nodes are found in their pools by labels that kube-state-metrics leaves out by default: {keys}",
            f"start it with --metric-labels-allowlist=nodes=[{keys}]",
        )
    ]
