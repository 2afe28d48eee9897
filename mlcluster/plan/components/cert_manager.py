"""cert-manager 1.21: certificates for the webhooks of components that do not make their own (values of the chart)."""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.tolerations import controller_tolerations
from mlcluster.plan.model import Manifest

NAME = "cert-manager"
GROUP = "cert-manager.io"
DEFINITIONS = (
    *(f"{kind}.{GROUP}" for kind in ("certificaterequests", "certificates", "clusterissuers", "issuers")),
    *(f"{kind}.acme.{GROUP}" for kind in ("challenges", "orders")),
)
REQUESTS = {"cpu": "50m", "memory": "128Mi"}
_DEPLOYMENTS = (NAME, f"{NAME}-cainjector", f"{NAME}-webhook")
_HOOK = f"{NAME}-startupapicheck"
"""A job without requests that Helm waits for."""


def contribute(context: ComponentContext) -> Contribution:
    """The release, its three controllers and a hook job; a dry run of an issuer shows that its webhook answers."""
    parts: Manifest = {
        "tolerations": controller_tolerations(context),
        "resources": {"requests": REQUESTS, "limits": {"memory": "512Mi"}},
    }
    values: Manifest = {
        "fullnameOverride": NAME,
        # Without its definitions everybody's certificates would go; `down` removes those of which nobody has objects.
        "crds": {"enabled": True, "keep": True},
        "global": {
            "priorityClassName": "system-cluster-critical",
            "leaderElection": {"namespace": pin(NAME).namespace},
        },
        **parts,
        "webhook": parts,
        "cainjector": parts,
        "startupapicheck": {"tolerations": parts["tolerations"]},
    }
    probe: Manifest = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Issuer",
        "metadata": {"name": "mlcluster-probe", "namespace": "default"},
        "spec": {"selfSigned": {}},
    }
    return Contribution(
        releases=(chart_release(context, NAME, values, definitions=DEFINITIONS, answers=(probe,)),),
        pods=()
        if realisation(context, NAME) == "present"
        else tuple(
            deployment_pod(
                context,
                release_id(NAME),
                name,
                requests,
                namespace=pin(NAME).namespace,
                source=pin(NAME).source,
                spec_path=context.spec_path(NAME),
                kind="Job" if name == _HOOK else "Deployment",
            )
            for name, requests in (*((name, REQUESTS) for name in _DEPLOYMENTS), (_HOOK, {}))
        ),
    )
