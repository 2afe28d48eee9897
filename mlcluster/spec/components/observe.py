"""Components that watch the cluster."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import LABEL, SUBDOMAIN, Quantity, SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.pools import Labels

Namespace = Annotated[str, Field(pattern=LABEL, min_length=1, max_length=63)]
TIME = r"^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?$"
PrometheusTime = Annotated[str, Field(pattern=TIME, min_length=2, max_length=32)]
"""How long, as Prometheus writes it, each unit once and the largest first: "15d", "1w12h"."""


class ExistingPrometheus(SpecModel):
    """A Prometheus that is there already, run by a Prometheus operator."""

    namespace: Namespace = "monitoring"
    """Where rules, monitors and dashboards go; it is there already."""
    prometheus_url: Annotated[str, Field(pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$", max_length=253)] | None = None
    """Where pods reach it, e.g. http://prometheus.monitoring.svc:9090; the Prometheus adapter asks it."""
    service_monitor_labels: Labels = {}
    """What its serviceMonitorSelector wants, e.g. {release: prometheus}."""
    rule_labels: Labels = {}
    """What its ruleSelector wants."""


class Grafana(SpecModel):
    """Grafana, and the dashboards of mlcluster."""

    install: bool = True
    """false: without Grafana; the dashboards are there for another one unless `dashboards` is false too."""
    dashboards: bool = True
    """ConfigMaps with dashboards of the cluster, its teams and its queues."""
    dashboard_labels: Annotated[Labels, Field(min_length=1)] = {"grafana_dashboard": "1"}
    """What the sidecar of a Grafana that is there already looks for."""


class Monitoring(ChartComponent):
    """kube-prometheus-stack, alerts and dashboards; or these for a Prometheus that is there (install: false)."""

    prometheus: ExistingPrometheus | None = None
    """How to be found by a Prometheus that is there; with install: false."""
    retention: PrometheusTime = "15d"
    """How long Prometheus keeps series."""
    storage: Quantity = "100Gi"
    """Size of Prometheus's volume; it drops its oldest series before that is full."""
    storage_class: Annotated[str, Field(pattern=SUBDOMAIN, max_length=253)] | None = None
    """StorageClass of the volume; default: the cluster's default class."""
    memory: Quantity = "4Gi"
    """What Prometheus asks for; about 4 KiB for each series that it holds."""
    grafana: Grafana = Grafana()
    alertmanager: bool = True
    """Alertmanager; its receivers are in `values`, under alertmanager.config."""
    control_plane: bool = False
    """Watch etcd, scheduler and controller manager too, where Prometheus can reach them: not on managed clusters."""
