"""Rules on served models: how clients outside the cluster reach them."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
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
        yield finding("SRV001", where, message, "Set `tls: {issuer: NAME}`, or `tls: {secretName: NAME}`.")


def host_names_of_two_teams(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """Yield SRV002 if models of two teams can have the same host name.

    KServe forms the host name MODEL-NAMESPACE.DOMAIN (domainTemplate of chart kserve-resources v0.20.0), and the
    Gateway API gives a host to the oldest route. So model `x-a` of team `b` is model `x` of team `a-b`.
    """
    kserve = spec.components.kserve
    if kserve is None or kserve.ingress is None:
        return
    for index, team in enumerate(spec.teams):
        for other in plan.teams:
            if team.name.endswith(f"-{other.name}"):
                prefix = team.name.removesuffix(f"-{other.name}")
                yield finding(
                    "SRV002",
                    ("teams", index, "name"),
                    f"a model x of team {team.name} and a model x-{prefix} of team {other.name} have the same host, "
                    f"x-{team.name}.{kserve.ingress.domain}, and requests go to the older of the two",
                    f"Choose a team name that does not end in -{other.name}.",
                )
