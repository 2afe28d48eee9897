"""Components that serve models, and what they stand on."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import SUBDOMAIN, SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.teams import Cidr

ObjectName = Annotated[str, Field(pattern=SUBDOMAIN, max_length=253)]
AnnotationKey = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]


class ServingTls(SpecModel):
    """Where the certificate of the gateway comes from; with it the gateway speaks HTTPS only. Give one of the two."""

    issuer: ObjectName | None = None
    """A ClusterIssuer of cert-manager. It issues *.DOMAIN, so an ACME issuer needs a DNS-01 solver."""
    secret_name: ObjectName | None = None
    """A Secret of type kubernetes.io/tls in the namespace kserve, which you create and renew."""


class ServingIngress(SpecModel):
    """How served models are reached from outside: through Envoy Gateway, which is installed with it."""

    domain: Annotated[str, Field(pattern=SUBDOMAIN, max_length=200)]
    """A model is NAME-TEAM.DOMAIN. Create a DNS record for *.DOMAIN with the gateway's address."""
    tls: ServingTls | None = None
    """Default: none; the gateway speaks plain HTTP."""


class KServe(ChartComponent):
    """KServe: InferenceService."""

    ingress: ServingIngress | None = None
    """Default: none; models are reached by their Service, inside the team's namespace."""


class CertManager(ChartComponent):
    """cert-manager; installed by itself only where another component needs it."""


class GatewayService(SpecModel):
    """The Service through which the proxies of every gateway are reached."""

    type: Literal["LoadBalancer", "ClusterIP"] = "LoadBalancer"
    """ClusterIP: reached from inside the cluster only."""
    scheme: Literal["internal", "internetFacing"] | None = None
    """On `eks`: which addresses the load balancer has; default: what AWS chooses, which the internet reaches."""
    load_balancer_class: Annotated[str, Field(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$", max_length=316)] | None = None
    """Which controller makes the load balancer; it cannot change later. Default: the cloud provider's."""
    annotations: Annotated[dict[AnnotationKey, str], Field(max_length=50)] = Field(default_factory=dict)
    """Of the Service, for the controller that makes the load balancer."""
    source_ranges: Annotated[list[Cidr], Field(max_length=100)] = []
    """Addresses that the load balancer lets in; default: all."""


class Gateway(ChartComponent):
    """Envoy Gateway and the Gateway API: the way in for served models."""

    service: GatewayService = Field(default_factory=GatewayService)
