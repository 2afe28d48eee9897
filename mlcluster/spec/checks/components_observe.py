"""Components that watch and scale: a Prometheus that can be found, and one that is either ours or theirs."""

from collections.abc import Iterator

from mlcluster.spec.checks.labels import key_error
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.observe import Monitoring
from mlcluster.spec.components.scale import PrometheusAdapter
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import Labels

_AT: Loc = ("components", "monitoring")


def components_observe_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """What makes monitoring, and what asks it, impossible."""
    yield from _monitoring(spec)
    yield from _adapter(spec)


@as_far_as_known
def _adapter(spec: ClusterSpec) -> Iterator[Problem]:
    adapter = spec.components.prometheus_adapter
    if adapter is not None and adapter.install:
        yield from _apis(adapter)
        yield from _address(spec.components.monitoring)


@as_far_as_known
def _monitoring(spec: ClusterSpec) -> Iterator[Problem]:
    monitoring = spec.components.monitoring
    if monitoring is None:
        return
    if monitoring.install and monitoring.prometheus is not None:
        message = "says how a Prometheus is found that is there already, and mlcluster installs one"
        yield Problem((*_AT, "prometheus"), message, "say install: false, or remove it", key=True)
    if not monitoring.install and spec.target.kind == "local":
        message = "the lab has no Prometheus of its own"
        yield Problem((*_AT, "install"), message, "remove install: false")
    yield from _labels(monitoring)
    if monitoring.control_plane and spec.target.kind == "eks":
        message = "nobody reaches etcd, scheduler and controller manager of EKS"
        yield Problem((*_AT, "controlPlane"), message, "remove it")
    if monitoring.storage_class and spec.target.kind == "eks" and spec.storage.classes:
        known = [one.name for one in spec.storage.classes]
        if monitoring.storage_class not in known:
            message = f"there is no StorageClass {monitoring.storage_class} under storage.classes"
            yield Problem((*_AT, "storageClass"), message, f"one of: {', '.join(known)}")


@as_far_as_known
def _labels(monitoring: Monitoring) -> Iterator[Problem]:
    """By which a Prometheus or a Grafana finds what is ours: the API server refuses objects with other keys."""
    found = monitoring.prometheus
    given: dict[Loc, Labels] = {
        ("grafana", "dashboardLabels"): monitoring.grafana.dashboard_labels,
        ("prometheus", "serviceMonitorLabels"): found.service_monitor_labels if found else {},
        ("prometheus", "ruleLabels"): found.rule_labels if found else {},
    }
    for where, labels in given.items():
        for key in labels:
            if wrong := key_error(key):
                yield Problem((*_AT, *where, key), wrong, "for example release or example.com/release", key=True)


def _address(monitoring: Monitoring | None) -> Iterator[Problem]:
    at: Loc = ("components", "prometheusAdapter")
    if monitoring is None:
        yield Problem(at, "nothing tells it of GPUs: there is no Prometheus", "add components.monitoring", key=True)
    elif not monitoring.install and not (monitoring.prometheus and monitoring.prometheus.prometheus_url):
        message = "it has to know where Prometheus is"
        yield Problem(at, message, "give components.monitoring.prometheus.prometheusUrl", key=True)


@as_far_as_known
def _apis(adapter: PrometheusAdapter) -> Iterator[Problem]:
    """Each of these rules makes it serve one more API, of which a cluster has one server."""
    rules = adapter.values.get("rules")
    given = rules if isinstance(rules, dict) else {}
    for key, owner in (("external", "KEDA"), ("resource", "metrics-server")):
        if given.get(key):
            loc: Loc = ("components", "prometheusAdapter", "values", "rules", key)
            message = f"the API of {key} metrics belongs to {owner}"
            yield Problem(loc, message, "remove it; the adapter serves custom metrics", key=True)
