"""Components that serve models, and what they stand on."""

from mlcluster.spec.components.base import ChartComponent


class KServe(ChartComponent):
    """KServe: InferenceService."""


class CertManager(ChartComponent):
    """cert-manager; installed by itself only where another component needs it."""


class Gateway(ChartComponent):
    """Envoy Gateway and the Gateway API: the way in for served models."""
