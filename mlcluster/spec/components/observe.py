"""Components that watch the cluster."""

from mlcluster.spec.components.base import ChartComponent


class Monitoring(ChartComponent):
    """kube-prometheus-stack, alerts and dashboards."""
