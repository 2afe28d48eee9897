"""KServe 0.20, standard mode: InferenceService becomes a Deployment.

Charts: kserve-crd, kserve-resources and kserve-runtime-configs, v0.20.0. A ReplicaSet creates the pods of a model, so
Kueue queues each of them like any other pod of the team.
"""

from collections.abc import Iterator
from dataclasses import replace

from mlcluster.catalog.components import pin
from mlcluster.plan.components import gateway
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.ingress import ingress_objects
from mlcluster.plan.components.member_roles import MemberKinds, member_roles
from mlcluster.plan.components.releases import chart_release, is_installed
from mlcluster.plan.components.replicas import REPLICAS, disruption_budget, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.network import Caller
from mlcluster.plan.objects import make
from mlcluster.plan.taints import toleration_manifests
from mlcluster.spec.components.serving import ServingIngress

NAME = "kserve"
CRD_CHART = "kserve-crd"
RUNTIMES = "kserve-runtime-configs"
GROUP = "serving.kserve.io"
GATEWAY = "kserve-ingress-gateway"
KINDS = ("inferenceservices", "inferencegraphs", "servingruntimes", "trainedmodels")
CRDS = tuple(f"{kind}.{GROUP}" for kind in (*KINDS, "clusterservingruntimes", "clusterstoragecontainers"))
MODEL_PORT, AGENT_PORT = 8080, 9081
REQUESTS = {"cpu": "100m", "memory": "300Mi"}
CONTROLLER = "kserve-controller-manager"
LABELS = {"control-plane": CONTROLLER, "controller-tools.k8s.io": "1.0"}
"""The labels by which the controller's Deployment selects its pods."""


def contribute(context: ComponentContext) -> Contribution:
    """Return CRDs, controller, runtimes, members' rights, and the gateway if the spec has an ingress."""
    settings = context.spec.components.kserve
    ingress = settings.ingress if settings else None
    crds = chart_release(context, NAME, {}, chart=CRD_CHART, crds=CRDS)
    release = chart_release(context, NAME, _values(context, ingress), needs=(crds.id,), webhook_probes=(_PROBE,))
    runtimes = chart_release(context, NAME, _RUNTIME_VALUES, chart=RUNTIMES, needs=(release.id,))
    # Upstream releases the three charts together.
    crds, runtimes = (replace(chart, version=release.version) for chart in (crds, runtimes))
    return Contribution(
        releases=(crds, release, runtimes),
        objects=(
            *(ingress_objects(context, ingress, GATEWAY, pin(NAME).namespace) if ingress else ()),
            *_replicas(context),
            *member_roles(context, NAME, MemberKinds(GROUP, KINDS, ("clusterservingruntimes",))),
        ),
        pods=tuple(_pods(context, ingress)),
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
        spec_path=(*context.spec_path(NAME), "ingress"),
    )


_PROBE: Manifest = {
    "apiVersion": f"{GROUP}/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "mlcluster-probe", "namespace": "default"},
    "spec": {"predictor": {"containers": [{"name": "kserve-container", "image": "none"}]}},
}
_RUNTIME_VALUES: Manifest = {
    # The chart enables no runtime by default, and one runtime uses an image with the tag latest.
    "kserve": {"servingruntime": {"enabled": True, "vllmserver": {"tag": "v0.11.0"}}}
}


def _values(context: ComponentContext, ingress: ServingIngress | None) -> Manifest:
    network: Manifest = {"disableIstioVirtualHost": True, "disableIngressCreation": ingress is None}
    if ingress is not None:
        network["domain"] = ingress.domain
        if ingress.tls is not None:
            network["urlScheme"] = "https"
        network["ingressGateway"] = {
            "enableGatewayApi": True,
            "createGateway": False,
            "kserveGateway": f"{pin(NAME).namespace}/{GATEWAY}",
        }
    return {
        "kserve": {
            "controller": {
                "deploymentMode": "Standard",
                "tolerations": toleration_manifests(controller_tolerations(context)),
                "affinity": prefer_apart(LABELS),
                "resources": {"requests": REQUESTS, "limits": {"cpu": "2", "memory": "1Gi"}},
                "gateway": network,
            }
        }
    }


def _replicas(context: ComponentContext) -> tuple[PlanObject, ...]:
    """Return the HPA and disruption budget of a controller, whose chart has neither a value for replicas nor a budget.

    An HPA with equal bounds sets replicas without reading metrics. The chart sets no number of replicas, so Helm does
    not overwrite the HPA's number; the controllers elect a leader (`--leader-elect`).
    """
    budget = disruption_budget(context, NAME, CONTROLLER, LABELS, namespace=pin(NAME).namespace)
    if not budget:
        return ()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": CONTROLLER}
    scaler = make(
        context.cluster,
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        CONTROLLER,
        {"spec": {"scaleTargetRef": target, "minReplicas": REPLICAS, "maxReplicas": REPLICAS}},
        namespace=pin(NAME).namespace,
        spec_path=context.spec_path(NAME),
    )
    return (scaler, *budget)


def _pods(context: ComponentContext, ingress: ServingIngress | None) -> Iterator[PlanPod]:
    """Yield the gateway's proxies, and the controller with kube-rbac-proxy, which has the same requests again."""
    namespace = pin(NAME).namespace
    if ingress is not None:
        yield gateway.proxy_pod(context, namespace, GATEWAY, (*context.spec_path(NAME), "ingress"))
    if is_installed(context, NAME):
        # The chart has no value for a priority class.
        requests = {"cpu": "200m", "memory": "600Mi"}
        yield workload_pod(context, NAME, Workload(CONTROLLER, requests, replicas=REPLICAS, priority_class=""))
