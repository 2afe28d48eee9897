"""cert-manager 1.21: certificates for the webhooks of components that do not make their own (values of the chart)."""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.replicas import BUDGET, REPLICAS, prefer_apart
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.taints import toleration_manifests

NAME = "cert-manager"
GROUP = "cert-manager.io"
DEFINITIONS = (
    *(f"{kind}.{GROUP}" for kind in ("certificaterequests", "certificates", "clusterissuers", "issuers")),
    *(f"{kind}.acme.{GROUP}" for kind in ("challenges", "orders")),
)
REQUESTS = {"cpu": "50m", "memory": "128Mi"}
WEBHOOK = f"{NAME}-webhook"
_DEPLOYMENTS = {NAME: 1, f"{NAME}-cainjector": 1, WEBHOOK: REPLICAS}
"""Deployment -> its replicas; only the webhook is asked by the API server."""

_HOOK = f"{NAME}-startupapicheck"
"""A job without requests that Helm waits for."""

_WEBHOOK_LABELS = {"app.kubernetes.io/component": "webhook", "app.kubernetes.io/instance": NAME}


def contribute(context: ComponentContext) -> Contribution:
    """The release, its three controllers and a hook job; a dry run of an issuer shows that its webhook answers."""
    probe: Manifest = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Issuer",
        "metadata": {"name": "mlcluster-probe", "namespace": "default"},
        "spec": {"selfSigned": {}},
    }
    return Contribution(
        releases=(chart_release(context, NAME, _values(context), definitions=DEFINITIONS, answers=(probe,)),),
        pods=() if realisation(context, NAME) == "present" else _pods(context),
    )


def _values(context: ComponentContext) -> Manifest:
    parts: Manifest = {
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "resources": {"requests": REQUESTS, "limits": {"memory": "512Mi"}},
    }
    return {
        "fullnameOverride": NAME,
        # Without its definitions every certificate would go; `down` removes those that have no objects.
        "crds": {"enabled": True, "keep": True},
        "global": {
            "priorityClassName": "system-cluster-critical",
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


def _pods(context: ComponentContext) -> tuple[PlanPod, ...]:
    controllers = [
        controller_pod(context, NAME, name, REQUESTS, replicas=replicas) for name, replicas in _DEPLOYMENTS.items()
    ]
    return (*controllers, controller_pod(context, NAME, _HOOK, {}, kind="Job"))
