"""kube-prometheus-stack, or a Prometheus that is there: rules, dashboards, and what it scrapes for them.

Facts: chart 88.5.3. The chart asks for hardly any resources; what we ask for is what the plan
counts. Alertmanager's receivers and whoever may see Grafana from outside are the user's, in `values`.
"""

from typing import Literal

from mlcluster.catalog.components import pin
from mlcluster.findings import Finding, found
from mlcluster.plan.components.charts import chart_release, daemon_set_pods, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import PRIVILEGED, Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.monitoring_values import PRIORITY, REQUESTS, stack_values
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import make
from mlcluster.plan.observe.controllers import ENDPOINTS, controller_monitor
from mlcluster.plan.observe.dashboards import as_data, dashboards
from mlcluster.plan.observe.facts import node_label_keys
from mlcluster.plan.observe.rules import API, rule_spec
from mlcluster.plan.observe.scrape import STACK, kueue_monitor, monitor_labels, namespace, rule_labels
from mlcluster.plan.observe.team_pods import team_monitor, team_scraper
from mlcluster.plan.places import place
from mlcluster.spec.components.observe import Monitoring

Kind = Literal["Deployment", "StatefulSet", "Job"]

RELEASE_ID = release_id(STACK)
DEFINITIONS = tuple(
    f"{name}.monitoring.coreos.com"
    for name in ("alertmanagers", "podmonitors", "probes", "prometheuses", "prometheusrules", "servicemonitors")
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
        definitions=DEFINITIONS if ours else (),
    )
    # Node exporter sees the host's processes, network and file systems.
    reaches_in = {namespace(context.spec): PRIVILEGED} if ours else {}
    return Contribution(
        releases=(release,),
        objects=(_rule(context), *_monitors(context), *_dashboards(context, settings)),
        pods=_pods(context, settings) if ours else (),
        namespaces=reaches_in,
        findings=(*_unpriced(context), *_unlabelled(context, ours=ours)),
        callers=(team_scraper(context.spec, context.spec_path(STACK)),),
    )


def _rule(context: ComponentContext) -> PlanObject:
    return _object(context, "PrometheusRule", "mlcluster", {"spec": rule_spec(context)}, rule_labels(context.spec))


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


def _pods(context: ComponentContext, settings: Monitoring) -> tuple[PlanPod, ...]:
    home, source = namespace(context.spec), f"values of the release, over those of {pin(STACK).source}"
    controllers: dict[str, tuple[Kind, str, dict[str, str]]] = {
        "operator": ("Deployment", "kube-prometheus-stack-operator", REQUESTS["operator"]),
        "prometheus": (
            "StatefulSet",
            "prometheus-kube-prometheus-stack-prometheus",
            {**REQUESTS["prometheus"], "memory": settings.memory},
        ),
        "alertmanager": (
            "StatefulSet",
            "alertmanager-kube-prometheus-stack-alertmanager",
            REQUESTS["alertmanager"],
        ),
        "grafana": ("Deployment", "kube-prometheus-stack-grafana", REQUESTS["grafana"]),
        "kube-state-metrics": ("Deployment", "kube-prometheus-stack-kube-state-metrics", REQUESTS["state"]),
        **{job: ("Job", f"kube-prometheus-stack-admission-{job}", {}) for job in ("create", "patch")},
    }
    left_out = {"alertmanager": not settings.alertmanager, "grafana": not settings.grafana.install}
    made = tuple(
        deployment_pod(
            context,
            RELEASE_ID,
            name,
            requests,
            namespace=home,
            source=source,
            spec_path=context.spec_path(STACK),
            priority_class="" if kind == "Job" else PRIORITY,
            kind=kind,
        )
        for part, (kind, name, requests) in controllers.items()
        if not left_out.get(part)
    )
    exporters = daemon_set_pods(
        context,
        RELEASE_ID,
        "kube-prometheus-stack-prometheus-node-exporter",
        context.pools,
        REQUESTS["nodes"],
        namespace=home,
        source=source,
    )
    return (*made, *exporters)


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
