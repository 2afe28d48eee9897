"""Components that scale workloads."""

from mlcluster.spec.components.base import ChartComponent


class Keda(ChartComponent):
    """KEDA: scales on events and queues, to zero and back; owner of the API of external metrics."""


class PrometheusAdapter(ChartComponent):
    """Prometheus adapter: metrics of GPUs for HorizontalPodAutoscalers, by the API of custom metrics alone."""
