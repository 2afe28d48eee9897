"""Components that scale workloads."""

from mlcluster.spec.components.base import ChartComponent


class Keda(ChartComponent):
    """KEDA: scales on events and queues, to zero and back."""


class PrometheusAdapter(ChartComponent):
    """Prometheus adapter: metrics of GPUs for HorizontalPodAutoscalers."""
