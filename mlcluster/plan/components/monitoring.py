"""kube-prometheus-stack, or an existing Prometheus: rules, dashboards, and the monitors that feed them.

Facts: chart 88.5.3. The chart has hardly any requests; mlcluster sets the requests that the plan
counts. The user sets the receivers of Alertmanager and the access to Grafana in `values`.
"""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED, Contribution
from mlcluster.plan.components.monitoring_values import REQUESTS, stack_values
from mlcluster.plan.components.releases import chart_release, realisation, release_id
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.observe.controllers import ENDPOINTS, controller_monitor
from mlcluster.plan.observe.dashboards import as_data, dashboards
from mlcluster.plan.observe.facts import node_label_keys
from mlcluster.plan.observe.rules import API, rule_spec
from mlcluster.plan.observe.scrape import STACK, kueue_monitor, monitor_labels, namespace, rule_labels
from mlcluster.plan.observe.team_pods import team_monitor, team_scraper
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
    """Return rules, dashboards and monitors, and the stack unless it is an existing installation."""
    settings = context.spec.components.monitoring or Monitoring()
    managed = realisation(context, STACK) != "present"
    release = chart_release(
        context,
        STACK,
        stack_values(context, settings) if managed else {},
        namespace=namespace(context.spec),
        needs=_volume_class(context, settings) if managed else (),
        crds=CRDS if managed else (),
    )
    # Node exporter sees the host's processes, network and file systems.
    privileged = {namespace(context.spec): PRIVILEGED} if managed else {}
    return Contribution(
        releases=(release,),
        objects=(_rule(context), *_monitors(context), *_dashboards(context, settings)),
        pods=tuple(_pods(context, settings)) if managed else (),
        namespaces=privileged,
        findings=(*_unpriced(context), *_unlabelled(context, managed=managed)),
        callers=(team_scraper(context.spec, context.spec_path(STACK)),),
    )


def _rule(context: ComponentContext) -> PlanObject:
    return _object(context, "PrometheusRule", "mlcluster", {"spec": rule_spec(context)}, rule_labels(context.spec))


def _monitors(context: ComponentContext) -> list[PlanObject]:
    """Return the monitors of teams' pods and of controllers; the charts of GPU exporters have monitors.

    On the lab Kueue is a process without a pod, so it has no monitor.
    """
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
    """Return the managed StorageClass of Prometheus's volume, without which the volume is never provisioned."""
    if context.target != "eks":
        return ()
    from mlcluster.plan.eks.storage.objects import DEFAULT_CLASS

    configured = context.spec.storage.classes
    default = next((one.name for one in configured if one.default), "") if configured else DEFAULT_CLASS
    managed = [one.name for one in configured] or [DEFAULT_CLASS]
    wanted = settings.storage_class or default
    return (object_id("StorageClass", wanted),) if wanted in managed else ()


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
        finding(
            "OBS001",
            pool.spec_path,
            f"GPU-hours of pool {pool.name} have no cost in USD: the price of its nodes is unknown",
            "Set `nodeShape.hourlyUsd`; without it nothing is charged for the pool",
        )
        for pool in unknown
    ]


def _unlabelled(context: ComponentContext, *, managed: bool) -> list[Finding]:
    """Return OBS002 for the labels of nodes that an existing kube-state-metrics has to export."""
    if managed:
        return []
    keys = ",".join(node_label_keys(context.pools))
    return [
        finding(
            "OBS002",
            context.spec_path(STACK),
            f"pools are matched by node labels that kube-state-metrics does not export by default: {keys}",
            f"Start it with --metric-labels-allowlist=nodes=[{keys}]",
        )
    ]
