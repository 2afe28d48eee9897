"""Served models: how they are reached from outside."""

from collections.abc import Iterator

from mlcluster.findings import Finding, found
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.serving import GatewayService


def models_without_tls(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """Yield SRV001 for an ingress without TLS behind a load balancer."""
    del plan
    kserve, gateway = spec.components.kserve, spec.components.gateway
    ingress = kserve.ingress if kserve else None
    service = gateway.service if gateway else GatewayService()
    if ingress is not None and ingress.tls is None and service.type == "LoadBalancer":
        message = f"a load balancer serves the models under {ingress.domain} over plain HTTP"
        where = ("components", "kserve", "ingress")
        yield found("SRV001", where, message, "set tls: {issuer: NAME}, or tls: {secretName: NAME}")
