"""Envoy Gateway: the Gateway API and the way in for served models (chart gateway-helm, values of v1.2 and later)."""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.tolerations import controller_tolerations
from mlcluster.plan.model import Manifest
from mlcluster.plan.objects import make, object_id

NAME = "envoy-gateway"
API = "gateway.networking.k8s.io/v1"
CLASS = "mlcluster"
CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
DEFINITIONS = tuple(f"{kind}.gateway.networking.k8s.io" for kind in ("gatewayclasses", "gateways", "httproutes"))
REQUESTS = {"cpu": "100m", "memory": "256Mi"}
CLASS_ID = object_id("GatewayClass", CLASS)


def contribute(context: ComponentContext) -> Contribution:
    """The release, its controller's pod, and a class of gateways; gateways are made by whoever needs one."""
    tolerations = controller_tolerations(context)
    values: Manifest = {
        "deployment": {
            "priorityClassName": "system-cluster-critical",
            "pod": {"tolerations": tolerations},
            "envoyGateway": {"resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}}},
        },
        "certgen": {"job": {"tolerations": tolerations}},
    }
    release = chart_release(context, NAME, values, definitions=DEFINITIONS)
    of_gateways = make(
        context.cluster,
        API,
        "GatewayClass",
        CLASS,
        {"spec": {"controllerName": CONTROLLER}},
        needs=(release.id,),
        spec_path=context.spec_path(NAME),
    )
    pod = deployment_pod(
        context,
        release_id(NAME),
        NAME,
        REQUESTS,
        namespace=pin(NAME).namespace,
        source=pin(NAME).source,
        spec_path=context.spec_path(NAME),
    )
    present = realisation(context, NAME) == "present"
    return Contribution(releases=(release,), objects=(of_gateways,), pods=() if present else (pod,))
