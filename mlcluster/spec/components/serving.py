"""Components that serve models, and what they stand on."""

from typing import Annotated

from pydantic import Field

from mlcluster.spec.base import SUBDOMAIN, SpecModel
from mlcluster.spec.components.base import ChartComponent


class ServingIngress(SpecModel):
    """How served models are reached from outside: through Envoy Gateway, which is installed with it."""

    domain: Annotated[str, Field(pattern=SUBDOMAIN, max_length=200)]
    """A model is NAME-TEAM.DOMAIN; somebody has to point *.DOMAIN at the gateway's address."""


class KServe(ChartComponent):
    """KServe: InferenceService."""

    ingress: ServingIngress | None = None
    """Default: none; models are reached by their Service, inside the team's namespace."""


class CertManager(ChartComponent):
    """cert-manager; installed by itself only where another component needs it."""


class Gateway(ChartComponent):
    """Envoy Gateway and the Gateway API: the way in for served models."""
