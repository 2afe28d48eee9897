"""KServe 0.20, standard mode: InferenceService becomes a Deployment (charts kserve-crd and kserve-resources).

Values: the charts' common files of October 2026. Pods of a model come from its ReplicaSet, so
Kueue holds each of them back like any other pod of the team.
"""

from dataclasses import replace

from mlcluster.catalog.components import pin
from mlcluster.plan.components import gateway
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import member_roles
from mlcluster.plan.components.tolerations import controller_tolerations
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.network import Caller
from mlcluster.plan.objects import make
from mlcluster.spec.components.serving import ServingIngress

NAME = "kserve"
CRDS = "kserve-crd"
GROUP = "serving.kserve.io"
GATEWAY = "kserve-ingress-gateway"
KINDS = ("inferenceservices", "inferencegraphs", "servingruntimes", "trainedmodels")
DEFINITIONS = tuple(f"{kind}.{GROUP}" for kind in (*KINDS, "clusterservingruntimes", "clusterstoragecontainers"))
MODEL_PORT, AGENT_PORT = 8080, 9081
REQUESTS = {"cpu": "100m", "memory": "300Mi"}


def contribute(context: ComponentContext) -> Contribution:
    """Definitions, controller, the gateway if models are to be reached from outside, and members' rights."""
    settings = context.spec.components.kserve
    ingress = settings.ingress if settings else None
    definitions = chart_release(context, NAME, {}, chart=CRDS, definitions=DEFINITIONS)
    release = chart_release(context, NAME, _values(context, ingress), needs=(definitions.id,), answers=(_probe(),))
    definitions = replace(definitions, version=release.version)  # the two charts are made together
    return Contribution(
        releases=(definitions, release),
        objects=(
            *([_gateway(context)] if ingress else []),
            *member_roles(context, NAME, GROUP, KINDS, ["clusterservingruntimes"]),
        ),
        pods=() if realisation(context, NAME) == "present" else (_pod(context),),
        callers=(_caller(context),) if ingress else (),
    )


def _caller(context: ComponentContext) -> Caller:
    """Return the connections of the gateway's proxies to models; KServe's controller connects to no pod of a team.

    Sources: Envoy Gateway v1.9.0 (labels of proxies: internal/gatewayapi/helpers.go and the proxy's Deployment), KServe
    v0.20.0 pkg/constants (ports of a model's container and, with a logger or batcher, of its agent).
    """
    return Caller(
        name=f"from-{GATEWAY}",
        namespace=pin(gateway.NAME).namespace,
        pods={
            "app.kubernetes.io/component": "proxy",
            "app.kubernetes.io/managed-by": "envoy-gateway",
            "gateway.envoyproxy.io/owning-gateway-name": GATEWAY,
            "gateway.envoyproxy.io/owning-gateway-namespace": pin(NAME).namespace,
        },
        to={"matchExpressions": [{"key": f"{GROUP}/inferenceservice", "operator": "Exists"}]},
        ports=(MODEL_PORT, AGENT_PORT),
        spec_path=f"{context.spec_path(NAME)}.ingress",
    )


def _values(context: ComponentContext, ingress: ServingIngress | None) -> Manifest:
    network: Manifest = {"disableIstioVirtualHost": True, "disableIngressCreation": ingress is None}
    if ingress is not None:
        network["domain"] = ingress.domain
        network["ingressGateway"] = {
            "enableGatewayApi": True,
            "createGateway": False,
            "kserveGateway": f"{pin(NAME).namespace}/{GATEWAY}",
        }
    return {
        "kserve": {
            "controller": {
                "deploymentMode": "Standard",
                "tolerations": controller_tolerations(context),
                "resources": {"requests": REQUESTS, "limits": {"cpu": "2", "memory": "1Gi"}},
                "gateway": network,
            }
        }
    }


def _gateway(context: ComponentContext) -> PlanObject:
    """One way in for the models of every team: routes come from their namespaces."""
    listener: Manifest = {
        "name": "http",
        "protocol": "HTTP",
        "port": 80,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    return make(
        context.cluster,
        gateway.API,
        "Gateway",
        GATEWAY,
        {"spec": {"gatewayClassName": gateway.CLASS, "listeners": [listener]}},
        namespace=pin(NAME).namespace,
        needs=(gateway.CLASS_ID, release_id(gateway.NAME)),
        spec_path=f"{context.spec_path(NAME)}.ingress",
    )


def _pod(context: ComponentContext) -> PlanPod:
    """The controller and its proxy (kube-rbac-proxy), which asks for as much again."""
    return deployment_pod(
        context,
        release_id(NAME),
        "kserve-controller-manager",
        {"cpu": "200m", "memory": "600Mi"},
        namespace=pin(NAME).namespace,
        source=pin(NAME).source,
        spec_path=context.spec_path(NAME),
        priority_class="",  # the chart has no place for one
    )


def _probe() -> Manifest:
    """A model that the webhooks look at."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "mlcluster-probe", "namespace": "default"},
        "spec": {"predictor": {"containers": [{"name": "kserve-container", "image": "none"}]}},
    }
