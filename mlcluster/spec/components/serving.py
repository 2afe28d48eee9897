"""Model serving components and their dependencies."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import SUBDOMAIN, Doc, SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.teams import Cidr

ObjectName = Annotated[str, Field(pattern=SUBDOMAIN, max_length=253)]
AnnotationKey = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]


class ServingTls(SpecModel):
    """The TLS certificate of the gateway. With a certificate, the gateway accepts only HTTPS."""

    issuer: Annotated[ObjectName | None, Doc(example="letsencrypt")] = None
    """ClusterIssuer of cert-manager that issues a certificate for `*.DOMAIN`. An ACME issuer needs a DNS-01 solver.
    Choose this or `secretName`."""
    secret_name: Annotated[ObjectName | None, Doc(example="models-tls")] = None
    """Secret of type `kubernetes.io/tls` in the namespace `kserve`, which you create and renew. Choose this or
    `issuer`."""


class ServingIngress(SpecModel):
    """Access to models from outside the cluster, through Envoy Gateway, which mlcluster installs for it."""

    domain: Annotated[str, Field(pattern=SUBDOMAIN, max_length=200), Doc(example="models.example.com")]
    """DNS domain of the models: the host of a model is NAME-TEAM.DOMAIN. Create a DNS record for `*.DOMAIN` that points
    to the address of the gateway."""
    tls: Annotated[ServingTls | None, Doc(default="no certificate; the gateway accepts plain HTTP")] = None
    """TLS certificate of the gateway."""


class KServe(ChartComponent):
    """KServe, which serves models as InferenceServices."""

    ingress: Annotated[
        ServingIngress | None, Doc(default="no ingress; only pods of the namespace can access models, by their Service")
    ] = None
    """Access to models from outside the cluster."""


class CertManager(ChartComponent):
    """cert-manager, which issues certificates for webhooks and gateways."""


class GatewayService(SpecModel):
    """The Service of the gateway proxies."""

    type: Literal["LoadBalancer", "ClusterIP"] = "LoadBalancer"
    """Type of the Service. A ClusterIP Service is accessible only inside the cluster."""
    scheme: Annotated[
        Literal["internal", "internetFacing"] | None,
        Doc(default="the choice of AWS, which is internet-facing", targets=("eks",)),
    ] = None
    """Scheme of the load balancer: private or public addresses."""
    load_balancer_class: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$", max_length=316)] | None,
        Doc(example="service.k8s.aws/nlb", default="the class of the cloud provider"),
    ] = None
    """Load balancer class, which selects the load balancer controller. Kubernetes does not allow changes to it."""
    annotations: Annotated[
        dict[AnnotationKey, str],
        Field(max_length=50),
        Doc(example={"metallb.io/address-pool": "public"}, key="ANNOTATION"),
    ] = Field(default_factory=dict)
    """Annotations of the Service, for the load balancer controller."""
    source_ranges: Annotated[
        list[Cidr], Field(max_length=100), Doc(example=["10.0.0.0/8"], default="every address")
    ] = []
    """IP ranges that can connect to the load balancer."""


class Gateway(ChartComponent):
    """Envoy Gateway, an implementation of the Gateway API, for access to models from outside the cluster."""

    service: GatewayService = Field(default_factory=GatewayService)
    """Service of the gateway proxies."""
