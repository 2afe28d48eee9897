"""cert-manager 1.21: certificates for webhooks of components without their own certificates (values of the chart)."""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.replicas import BUDGET, REPLICAS, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import toleration_manifests

NAME = "cert-manager"
GROUP = "cert-manager.io"
REQUESTS = {"cpu": "50m", "memory": "128Mi"}
WEBHOOK = f"{NAME}-webhook"
_WEBHOOK_LABELS = {"app.kubernetes.io/component": "webhook", "app.kubernetes.io/instance": NAME}


def _values(context: ComponentContext) -> Manifest:
    parts: Manifest = {
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "resources": {"requests": REQUESTS, "limits": {"memory": "512Mi"}},
    }
    return {
        "fullnameOverride": NAME,
        # Deleting the CRDs would delete every certificate; `down` deletes the CRDs that have no objects.
        "crds": {"enabled": True, "keep": True},
        "global": {
            "priorityClassName": CLUSTER_CRITICAL,
            "leaderElection": {"namespace": pin(NAME).namespace},
        },
        **parts,
        "webhook": {
            **parts,
            "replicaCount": REPLICAS,
            "affinity": prefer_apart(_WEBHOOK_LABELS),
            "podDisruptionBudget": {"enabled": True, **BUDGET},
        },
        "cainjector": parts,
        "startupapicheck": {"tolerations": parts["tolerations"]},
    }


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(
        Workload(NAME, REQUESTS),
        Workload(f"{NAME}-cainjector", REQUESTS),
        # The API server calls only the webhook, so only the webhook needs a second replica.
        Workload(WEBHOOK, REQUESTS, replicas=REPLICAS),
        Workload(f"{NAME}-startupapicheck", kind="Job"),
    ),
    crds=(
        *(f"{kind}.{GROUP}" for kind in ("certificaterequests", "certificates", "clusterissuers", "issuers")),
        *(f"{kind}.acme.{GROUP}" for kind in ("challenges", "orders")),
    ),
    webhook_probes=(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Issuer",
            "metadata": {"name": "mlcluster-probe", "namespace": "default"},
            "spec": {"selfSigned": {}},
        },
    ),
)
contribute = COMPONENT.contribute
