"""Monitoring components, and the components that scale workloads on metrics."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import LABEL, SUBDOMAIN, Doc, Quantity, SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.pools import Labels

Namespace = Annotated[str, Field(pattern=LABEL, min_length=1, max_length=63)]
TIME = r"^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?$"
PrometheusTime = Annotated[str, Field(pattern=TIME, min_length=2, max_length=32)]
"""A Prometheus duration, with each unit once and the largest first: "15d" or "1w12h"."""
PrometheusUrl = Annotated[str, Field(pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$", max_length=253)]


class ExistingPrometheus(SpecModel):
    """An existing Prometheus that a Prometheus Operator manages."""

    namespace: Annotated[Namespace, Doc(example="observability")] = "monitoring"
    """Existing namespace for rules, monitors and dashboards."""
    prometheus_url: Annotated[PrometheusUrl | None, Doc(example="http://prometheus.monitoring.svc:9090")] = None
    """URL of Prometheus inside the cluster. `prometheusAdapter` requires it."""
    service_monitor_labels: Annotated[Labels, Doc(example={"release": "prometheus"}, key="LABEL")] = {}
    """Labels for ServiceMonitors and PodMonitors, so that the `serviceMonitorSelector` of Prometheus matches them."""
    rule_labels: Annotated[Labels, Doc(example={"release": "prometheus"}, key="LABEL")] = {}
    """Labels for PrometheusRules, so that the `ruleSelector` of Prometheus matches them."""


class Grafana(SpecModel):
    """Grafana and its dashboards."""

    install: bool = True
    """Install Grafana. With `false`, mlcluster still creates the dashboards, for an existing Grafana."""
    dashboards: bool = True
    """Create ConfigMaps with dashboards of the cluster, its teams and its queues."""
    dashboard_labels: Annotated[Labels, Field(min_length=1), Doc(example={"grafana_dashboard": "1"}, key="LABEL")] = {
        "grafana_dashboard": "1"
    }
    """Labels of the dashboard ConfigMaps, by which the sidecar of Grafana finds them."""


class Monitoring(ChartComponent):
    """kube-prometheus-stack with alerts and dashboards; with `install: false`, these for an existing Prometheus."""

    prometheus: Annotated[ExistingPrometheus | None, Doc(targets=("eks", "existing"))] = None
    """Existing Prometheus to use with `install: false`."""
    retention: Annotated[PrometheusTime, Doc(example="30d")] = "15d"
    """Retention time of Prometheus: years, weeks, days, hours and minutes, as in `1w12h`."""
    storage: Annotated[Quantity, Doc(example="500Gi", unit="bytes")] = "100Gi"
    """Size of the volume of Prometheus, which deletes its oldest data before the volume is full."""
    storage_class: Annotated[
        Annotated[str, Field(pattern=SUBDOMAIN, max_length=253)] | None,
        Doc(example="fast", default="the default StorageClass of the cluster"),
    ] = None
    """StorageClass of the volume of Prometheus."""
    memory: Annotated[Quantity, Doc(example="16Gi", unit="bytes")] = "4Gi"
    """Memory request of Prometheus. Plan about 4 KiB per active series."""
    grafana: Grafana = Grafana()
    """Grafana and its dashboards."""
    alertmanager: bool = True
    """Install Alertmanager. Configure its receivers in `values`, under `alertmanager.config`."""
    control_plane: Annotated[bool, Doc(targets=("existing", "local"))] = False
    """Monitor etcd, the scheduler and the controller manager. Prometheus must be able to reach them, which managed
    control planes do not allow."""


class Keda(ChartComponent):
    """KEDA, which scales workloads on events and queries, and serves the external metrics API."""


class PrometheusAdapter(ChartComponent):
    """Prometheus adapter, which serves GPU metrics for HorizontalPodAutoscalers through the custom metrics API."""
