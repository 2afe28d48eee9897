"""Envoy Gateway: the Gateway API and the entry point of served models (chart gateway-helm v1.9.0).

Envoy Gateway makes the proxies of each Gateway. The chart has no values for their replicas, nodes, requests and
Service; an EnvoyProxy sets these, and the GatewayClass refers to it.
"""

import hashlib

from mlcluster.catalog.components import pin
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.mirror import mirrored
from mlcluster.plan.components.releases import realisation, release_id
from mlcluster.plan.components.replicas import BUDGET, REPLICAS, spread
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import add, canonical, parse
from mlcluster.spec.components.serving import GatewayService
from mlcluster.spec.document import Loc

NAME = "envoy-gateway"
API = "gateway.networking.k8s.io/v1"
CLASS = "mlcluster"
CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
PROXY_API = "gateway.envoyproxy.io/v1alpha1"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}
PROXY_REQUESTS = {"cpu": "100m", "memory": "512Mi"}
SHUTDOWN_MANAGER = {"cpu": "10m", "memory": "32Mi"}
"""Requests of the container that Envoy Gateway adds to each proxy pod (api/v1alpha1/shared_types.go)."""

_UNTIL_DONE = {"helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}
"""The rights of the job that makes certificates are hooks of Helm, which by default never deletes them."""

CLASS_ID = object_id("GatewayClass", CLASS)

_PREFIX = "gateway.envoyproxy.io"
_REFERENCE = {"group": _PREFIX, "kind": "EnvoyProxy", "name": CLASS}
_PROXY_LABELS = {"app.kubernetes.io/component": "proxy", "app.kubernetes.io/managed-by": NAME}
_OWNERS = (f"{_PREFIX}/owning-gateway-namespace", f"{_PREFIX}/owning-gateway-name")
_AWS = "service.beta.kubernetes.io/aws-load-balancer"
_SCHEMES = {
    "internal": {f"{_AWS}-scheme": "internal", f"{_AWS}-internal": "true"},
    "internetFacing": {f"{_AWS}-scheme": "internet-facing"},
}
"""The AWS Load Balancer Controller reads `scheme`, the cloud controller of EKS reads `internal`."""

_LONGEST = 48


def _values(context: ComponentContext) -> Manifest:
    tolerations = toleration_manifests(controller_tolerations(context))
    return {
        "deployment": {
            "priorityClassName": CLUSTER_CRITICAL,
            "pod": {"tolerations": tolerations},
            "envoyGateway": {"resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}}},
        },
        "certgen": {"job": {"tolerations": tolerations}, "rbac": {"annotations": _UNTIL_DONE}},
    }


def _objects(context: ComponentContext) -> tuple[PlanObject, ...]:
    """Return the class of gateways, with its EnvoyProxy; other components make the gateways."""
    proxies = () if realisation(context, NAME) == "present" else (_proxies(context, pin(NAME).namespace),)
    reference = {"parametersRef": {**_REFERENCE, "namespace": pin(NAME).namespace}} if proxies else {}
    of_gateways = make(
        context.cluster,
        API,
        "GatewayClass",
        CLASS,
        {"spec": {"controllerName": CONTROLLER, **reference}},
        needs=(release_id(NAME), *(entry.id for entry in proxies)),
        spec_path=context.spec_path(NAME),
    )
    return (*proxies, of_gateways)


def own_proxies(context: ComponentContext, namespace: str) -> tuple[tuple[PlanObject, ...], Manifest]:
    """Return the EnvoyProxy in a Gateway's namespace, and the field of the Gateway that refers to it.

    Both are empty if mlcluster installs Envoy Gateway. The namespace of an existing installation may have any name, so
    its class refers to no EnvoyProxy.
    """
    if realisation(context, NAME) != "present":
        return (), {}
    return (_proxies(context, namespace),), {"infrastructure": {"parametersRef": _REFERENCE}}


def _together(*containers: dict[str, str]) -> dict[str, str]:
    total = add(*({name: parse(name, text) for name, text in requests.items()} for requests in containers))
    return {name: canonical(name, amount) for name, amount in total.items()}


def proxy_pod(context: ComponentContext, namespace: str, gateway: str, spec_path: Loc) -> PlanPod:
    """Return the pod of the proxies that Envoy Gateway makes for a Gateway.

    They run in the namespace of Envoy Gateway (internal/infrastructure/kubernetes/proxy/resource_provider.go, v1.9.0).
    """
    requests = _together(PROXY_REQUESTS, SHUTDOWN_MANAGER)
    workload = Workload(_proxies_of(namespace, gateway), requests, replicas=REPLICAS)
    return workload_pod(context, NAME, workload, spec_path=spec_path)


def _proxies_of(namespace: str, gateway: str) -> str:
    """Return the name of the Deployment of a Gateway's proxies (`ExpectedResourceHashedName`, v1.9.0)."""
    whole = f"{namespace}/{gateway}"
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"envoy-{whole.replace('/', '-')[:_LONGEST].removesuffix('-')}-{digest}"


def _proxies(context: ComponentContext, namespace: str) -> PlanObject:
    """Return the EnvoyProxy, in the namespace of the object that refers to it."""
    registry = context.spec.components.registry
    container: Manifest = {"resources": {"requests": PROXY_REQUESTS, "limits": {"memory": "1Gi"}}}
    if registry:
        container["image"] = mirrored(pin(NAME).images[f"EnvoyProxy {CLASS}"], registry)
    pod: Manifest = {
        "priorityClassName": CLUSTER_CRITICAL,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "topologySpreadConstraints": spread(_PROXY_LABELS, *_OWNERS),
    }
    kubernetes: Manifest = {
        "envoyDeployment": {"replicas": REPLICAS, "pod": pod, "container": container},
        "envoyPDB": BUDGET,
        "envoyService": _service(context),
    }
    return make(
        context.cluster,
        PROXY_API,
        "EnvoyProxy",
        CLASS,
        {"spec": {"provider": {"type": "Kubernetes", "kubernetes": kubernetes}}},
        namespace=namespace,
        needs=(release_id(NAME),),
        spec_path=context.spec_path(NAME),
    )


def _service(context: ComponentContext) -> Manifest:
    """Return the Service by which clients reach the proxies."""
    settings = context.spec.components.gateway
    asked = settings.service if settings else GatewayService()
    annotations = {**(_SCHEMES[asked.scheme] if asked.scheme else {}), **asked.annotations}
    return {
        "type": asked.type,
        **({"loadBalancerClass": asked.load_balancer_class} if asked.load_balancer_class else {}),
        **({"annotations": annotations} if annotations else {}),
        **({"loadBalancerSourceRanges": asked.source_ranges} if asked.source_ranges else {}),
    }


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(
        Workload(NAME, REQUESTS),
        Workload(f"{NAME}-gateway-helm-certgen", kind="Job", priority_class=""),
    ),
    crds=(
        *(f"{kind}.gateway.networking.k8s.io" for kind in ("gatewayclasses", "gateways", "httproutes")),
        "envoyproxies.gateway.envoyproxy.io",
    ),
    objects=_objects,
)
contribute = COMPONENT.contribute
