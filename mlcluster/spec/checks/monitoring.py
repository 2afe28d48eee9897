"""Checks of monitoring and the Prometheus adapter: one Prometheus, which the other components can find."""

from collections.abc import Iterator

from mlcluster.spec.checks.labels import key_error
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.observe import Monitoring, PrometheusAdapter
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import Labels

_AT: Loc = ("components", "monitoring")


def monitoring_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for monitoring and for the Prometheus adapter."""
    yield from _monitoring(spec)
    yield from _adapter(spec)


@stop_at_unknown_value
def _adapter(spec: ClusterSpec) -> Iterator[Problem]:
    adapter = spec.components.prometheus_adapter
    if adapter is not None and adapter.install:
        yield from _apis(adapter)
        yield from _address(spec.components.monitoring)


@stop_at_unknown_value
def _monitoring(spec: ClusterSpec) -> Iterator[Problem]:
    monitoring = spec.components.monitoring
    if monitoring is None:
        return
    if monitoring.install and monitoring.prometheus is not None:
        message = "prometheus configures an existing Prometheus, but mlcluster installs its own"
        yield Problem((*_AT, "prometheus"), message, "Set `install: false`, or remove `prometheus`", key=True)
    if not monitoring.install and spec.target.kind == "local":
        message = "the lab has no existing Prometheus"
        yield Problem((*_AT, "install"), message, "Remove `install: false`")
    yield from _labels(monitoring)
    if monitoring.control_plane and spec.target.kind == "eks":
        message = "EKS does not expose etcd, the scheduler and the controller manager"
        yield Problem((*_AT, "controlPlane"), message, "Remove it")
    if monitoring.storage_class and spec.target.kind == "eks" and spec.storage.classes:
        known = [one.name for one in spec.storage.classes]
        if monitoring.storage_class not in known:
            message = f"StorageClass {monitoring.storage_class} is not in storage.classes"
            yield Problem((*_AT, "storageClass"), message, f"Use one of {', '.join(known)}")


@stop_at_unknown_value
def _labels(monitoring: Monitoring) -> Iterator[Problem]:
    """Yield problems for label keys that the API server rejects."""
    found = monitoring.prometheus
    given: dict[Loc, Labels] = {
        ("grafana", "dashboardLabels"): monitoring.grafana.dashboard_labels,
        ("prometheus", "serviceMonitorLabels"): found.service_monitor_labels if found else {},
        ("prometheus", "ruleLabels"): found.rule_labels if found else {},
    }
    for where, labels in given.items():
        for key in labels:
            if wrong := key_error(key):
                yield Problem((*_AT, *where, key), wrong, "For example release or example.com/release", key=True)


def _address(monitoring: Monitoring | None) -> Iterator[Problem]:
    at: Loc = ("components", "prometheusAdapter")
    if monitoring is None:
        message = "the Prometheus adapter needs a Prometheus"
        yield Problem(at, message, "Add `monitoring: {}` under `components`", key=True)
    elif not monitoring.install and not (monitoring.prometheus and monitoring.prometheus.prometheus_url):
        message = "the Prometheus adapter needs the URL of the existing Prometheus"
        yield Problem(at, message, "Set `components.monitoring.prometheus.prometheusUrl`", key=True)


@stop_at_unknown_value
def _apis(adapter: PrometheusAdapter) -> Iterator[Problem]:
    """Yield problems for rules that make the adapter serve another API, because each API has only one server."""
    rules = adapter.values.get("rules")
    given = rules if isinstance(rules, dict) else {}
    for key, owner in (("external", "KEDA"), ("resource", "metrics-server")):
        if given.get(key):
            loc: Loc = ("components", "prometheusAdapter", "values", "rules", key)
            message = f"{owner} serves the {key} metrics API"
            yield Problem(loc, message, "Remove it. The adapter serves the custom metrics API only", key=True)
