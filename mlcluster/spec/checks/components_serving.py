"""Serving: certificates that come from two places or from none, and Services that cannot be."""

from collections.abc import Iterator

from mlcluster.spec.checks.ranges import address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.serving import GatewayService
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known

_SERVICE: Loc = ("components", "gateway", "service")
AWS_SCHEMES = (
    "service.beta.kubernetes.io/aws-load-balancer-internal",
    "service.beta.kubernetes.io/aws-load-balancer-scheme",
)
"""Annotations by which the AWS controllers choose the addresses of a load balancer."""


def serving_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield the problems of the certificate of served models, and of the Service of gateways."""
    yield from _certificate(spec)
    yield from _service(spec)


@as_far_as_known
def _certificate(spec: ClusterSpec) -> Iterator[Problem]:
    kserve = spec.components.kserve
    tls = kserve.ingress.tls if kserve and kserve.ingress else None
    here: Loc = ("components", "kserve", "ingress", "tls")
    if tls is None:
        return
    if tls.issuer is None and tls.secret_name is None:
        yield Problem(here, "names neither an issuer nor a Secret", "issuer: letsencrypt, or secretName: models-tls")
    if tls.issuer is not None and tls.secret_name is not None:
        message = "the certificate comes from an issuer or from a Secret, not from both"
        yield Problem((*here, "secretName"), message, "remove one of the two", key=True)


@as_far_as_known
def _service(spec: ClusterSpec) -> Iterator[Problem]:
    gateway = spec.components.gateway
    if gateway is None:
        return
    service = gateway.service
    yield from _without_balancer(service)
    if service.scheme is not None:
        yield from _scheme(spec, service)
    for index, text in enumerate(service.source_ranges):
        yield from address_range((*_SERVICE, "sourceRanges", index), text, "10.0.0.0/8")


def _without_balancer(service: GatewayService) -> Iterator[Problem]:
    if service.type == "LoadBalancer":
        return
    given = {
        "scheme": service.scheme is not None,
        "loadBalancerClass": service.load_balancer_class is not None,
        "sourceRanges": bool(service.source_ranges),
    }
    for key in (name for name, there in given.items() if there):
        message = f"{key} is of a load balancer, and a Service of type {service.type} has none"
        yield Problem((*_SERVICE, key), message, "remove it, or set type: LoadBalancer", key=True)


def _scheme(spec: ClusterSpec, service: GatewayService) -> Iterator[Problem]:
    if spec.target.kind != "eks":
        message = f"mlcluster knows the load balancers of eks only, not those of target {spec.target.kind}"
        yield Problem((*_SERVICE, "scheme"), message, "use the annotations of your load balancer controller", key=True)
    for key in AWS_SCHEMES:
        if key in service.annotations:
            message = f"scheme and the annotation {key} both choose the addresses of the load balancer"
            yield Problem((*_SERVICE, "annotations", key), message, "remove one of the two", key=True)
