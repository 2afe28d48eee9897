"""Envoy Gateway: the Gateway API and the way in for served models (chart gateway-helm, values of v1.2 and later)."""

from typing import Literal

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.mirror import mirrored
from mlcluster.plan.components.tolerations import controller_tolerations
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make, object_id

NAME = "envoy-gateway"
API = "gateway.networking.k8s.io/v1"
CLASS = "mlcluster"
CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
DEFINITIONS = tuple(f"{kind}.gateway.networking.k8s.io" for kind in ("gatewayclasses", "gateways", "httproutes"))
PROXIES = "envoyproxies.gateway.envoyproxy.io"
PROXY_API = "gateway.envoyproxy.io/v1alpha1"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}
CLASS_ID = object_id("GatewayClass", CLASS)

_UNTIL_DONE = {"helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}
"""The rights of the job that makes certificates are hooks of Helm, which by default never deletes them."""

_REFERENCE = {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": CLASS, "namespace": pin(NAME).namespace}


def contribute(context: ComponentContext) -> Contribution:
    """The release, its controller's pod, and a class of gateways; gateways are made by whoever needs one."""
    tolerations = controller_tolerations(context)
    values: Manifest = {
        "deployment": {
            "priorityClassName": "system-cluster-critical",
            "pod": {"tolerations": tolerations},
            "envoyGateway": {"resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}}},
        },
        "certgen": {"job": {"tolerations": tolerations}, "rbac": {"annotations": _UNTIL_DONE}},
    }
    proxies = _proxies(context)
    wanted = (*DEFINITIONS, PROXIES) if proxies else DEFINITIONS
    release = chart_release(context, NAME, values, definitions=wanted)
    of_gateways = make(
        context.cluster,
        API,
        "GatewayClass",
        CLASS,
        {"spec": {"controllerName": CONTROLLER, **({"parametersRef": _REFERENCE} if proxies else {})}},
        needs=(release.id, *(entry.id for entry in proxies)),
        spec_path=context.spec_path(NAME),
    )
    workloads: tuple[tuple[Literal["Deployment", "Job"], str, dict[str, str]], ...] = (
        ("Deployment", NAME, REQUESTS),
        ("Job", f"{NAME}-gateway-helm-certgen", {}),  # a Helm hook
    )
    pods = tuple(
        deployment_pod(
            context,
            release_id(NAME),
            name,
            requests,
            namespace=pin(NAME).namespace,
            source=pin(NAME).source,
            spec_path=context.spec_path(NAME),
            priority_class="" if kind == "Job" else "system-cluster-critical",
            kind=kind,
        )
        for kind, name, requests in workloads
    )
    present = realisation(context, NAME) == "present"
    return Contribution(releases=(release,), objects=(*proxies, of_gateways), pods=() if present else pods)


def _proxies(context: ComponentContext) -> list[PlanObject]:
    """With a mirror: where the proxies of gateways come from, which no value of the chart says.

    Source: Envoy Gateway, "Deploy in air-gapped environments": without it they are pulled from docker.io.
    """
    registry = context.spec.components.registry
    if not registry:
        return []
    container = {"image": mirrored(pin(NAME).images[f"EnvoyProxy {CLASS}"], registry)}
    provider: Manifest = {"type": "Kubernetes", "kubernetes": {"envoyDeployment": {"container": container}}}
    return [
        make(
            context.cluster,
            PROXY_API,
            "EnvoyProxy",
            CLASS,
            {"spec": {"provider": provider}},
            namespace=pin(NAME).namespace,
            needs=(release_id(NAME),),
            spec_path="components.registry",
        )
    ]
