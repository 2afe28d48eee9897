"""Checks of model serving: the certificate of the ingress, and the Service of the gateway."""

from collections.abc import Iterator

from mlcluster.spec.checks.ip_ranges import address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.serving import GatewayService
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value

_SERVICE: Loc = ("components", "gateway", "service")
AWS_SCHEMES = (
    "service.beta.kubernetes.io/aws-load-balancer-internal",
    "service.beta.kubernetes.io/aws-load-balancer-scheme",
)
"""Annotations that select the scheme of an AWS load balancer."""


def serving_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for the certificate of the ingress and for the Service of the gateway."""
    yield from _certificate(spec)
    yield from _service(spec)


@stop_at_unknown_value
def _certificate(spec: ClusterSpec) -> Iterator[Problem]:
    kserve = spec.components.kserve
    tls = kserve.ingress.tls if kserve and kserve.ingress else None
    here: Loc = ("components", "kserve", "ingress", "tls")
    if tls is None:
        return
    if tls.issuer is None and tls.secret_name is None:
        yield Problem(here, "issuer or secretName is missing", "Set `issuer: letsencrypt` or `secretName: models-tls`")
    if tls.issuer is not None and tls.secret_name is not None:
        message = "issuer and secretName are mutually exclusive"
        yield Problem((*here, "secretName"), message, "Remove one of the two", key=True)


@stop_at_unknown_value
def _service(spec: ClusterSpec) -> Iterator[Problem]:
    gateway = spec.components.gateway
    if gateway is None:
        return
    service = gateway.service
    yield from _without_load_balancer(service)
    if service.scheme is not None:
        yield from _scheme(spec, service)
    for index, text in enumerate(service.source_ranges):
        yield from address_range((*_SERVICE, "sourceRanges", index), text, "10.0.0.0/8")


def _without_load_balancer(service: GatewayService) -> Iterator[Problem]:
    if service.type == "LoadBalancer":
        return
    given = {
        "scheme": service.scheme is not None,
        "loadBalancerClass": service.load_balancer_class is not None,
        "sourceRanges": bool(service.source_ranges),
    }
    for key in (name for name, there in given.items() if there):
        message = f"{key} has no effect, because a Service of type {service.type} has no load balancer"
        yield Problem((*_SERVICE, key), message, "Remove it, or set `type: LoadBalancer`", key=True)


def _scheme(spec: ClusterSpec, service: GatewayService) -> Iterator[Problem]:
    if spec.target.kind != "eks":
        message = f"scheme is not supported on target {spec.target.kind}"
        yield Problem((*_SERVICE, "scheme"), message, "Use the annotations of your load balancer controller", key=True)
    for key in AWS_SCHEMES:
        if key in service.annotations:
            message = f"scheme and the annotation {key} both set the scheme of the load balancer"
            yield Problem((*_SERVICE, "annotations", key), message, "Remove one of the two", key=True)
