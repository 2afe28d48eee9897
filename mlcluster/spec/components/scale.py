"""Autoscaling components for workloads."""

from mlcluster.spec.components.base import ChartComponent


class Keda(ChartComponent):
    """KEDA, which scales workloads on events and queries, and serves the external metrics API."""


class PrometheusAdapter(ChartComponent):
    """Prometheus adapter, which serves GPU metrics for HorizontalPodAutoscalers through the custom metrics API."""
