"""The Gateway of served models: one entry point for the models of all teams, with or without TLS."""

from mlcluster.plan.components import cert_manager, gateway
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make
from mlcluster.spec.components.serving import ServingIngress, ServingTls
from mlcluster.spec.document import Loc

_FROM_ALL: Manifest = {"namespaces": {"from": "All"}}


def ingress_objects(
    context: ComponentContext, ingress: ServingIngress, name: str, namespace: str
) -> tuple[PlanObject, ...]:
    """Return the Gateway, and before it the Certificate if an issuer makes one."""
    path = (*context.spec_path("kserve"), "ingress")
    certificate = _certificate(context, ingress, name, namespace, (*path, "tls"))
    proxies, reference = gateway.own_proxies(context, namespace)
    body = {"spec": {"gatewayClassName": gateway.CLASS, "listeners": [_listener(ingress.tls, name)], **reference}}
    before = (*certificate, *proxies)
    needs = (gateway.CLASS_ID, release_id(gateway.NAME), *(entry.id for entry in before))
    made = make(context.cluster, gateway.API, "Gateway", name, body, namespace=namespace, needs=needs, spec_path=path)
    return (*before, made)


def _listener(tls: ServingTls | None, name: str) -> Manifest:
    """Return the only listener; routes name no listener, so beside TLS a plain listener would serve all of them."""
    if tls is None:
        return {"name": "http", "protocol": "HTTP", "port": 80, "allowedRoutes": _FROM_ALL}
    secret = {"kind": "Secret", "name": _secret(tls, name)}
    terminated = {"mode": "Terminate", "certificateRefs": [secret]}
    return {"name": "https", "protocol": "HTTPS", "port": 443, "tls": terminated, "allowedRoutes": _FROM_ALL}


def _secret(tls: ServingTls, name: str) -> str:
    return tls.secret_name or f"{name}-tls"


def _certificate(
    context: ComponentContext, ingress: ServingIngress, name: str, namespace: str, path: Loc
) -> tuple[PlanObject, ...]:
    """Return the Certificate for every name under the domain, if an issuer of the cluster makes it."""
    if ingress.tls is None or ingress.tls.issuer is None:
        return ()
    spec: Manifest = {
        "secretName": _secret(ingress.tls, name),
        "dnsNames": [f"*.{ingress.domain}"],
        "issuerRef": {"group": cert_manager.GROUP, "kind": "ClusterIssuer", "name": ingress.tls.issuer},
        "privateKey": {"rotationPolicy": "Always"},
    }
    return (
        make(
            context.cluster,
            f"{cert_manager.GROUP}/v1",
            "Certificate",
            name,
            {"spec": spec},
            namespace=namespace,
            needs=(release_id(cert_manager.NAME),),
            spec_path=path,
        ),
    )
