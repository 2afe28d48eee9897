"""Two replicas for controllers without which the API server rejects requests, on two nodes if possible.

With `failurePolicy: Fail`, the API server rejects the requests that a webhook matches while no pod serves it. Replicas
prefer different nodes without requiring them, so a cluster with one system node runs them too. The disruption budget
limits unavailable pods instead of requiring available pods: a node can drain even if a user lowers the replicas to one.
"""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.releases import realisation
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make

REPLICAS = 2
HOSTNAME = "kubernetes.io/hostname"
BUDGET: Manifest = {"maxUnavailable": 1}


def spread(labels: dict[str, str], *keys: str) -> list[Manifest]:
    """Return topology spread constraints that prefer another node for each pod with these labels.

    Args:
        keys: labels whose values divide the pods into groups that spread separately (`matchLabelKeys`).
    """
    constraint: Manifest = {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    return [{**constraint, "matchLabelKeys": list(keys)} if keys else constraint]


def prefer_apart(labels: dict[str, str]) -> Manifest:
    """Return the affinity of pods that prefer nodes without another pod with these labels."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME}
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
        }
    }


def disruption_budget(
    context: ComponentContext, component: str, name: str, labels: dict[str, str], *, namespace: str
) -> tuple[PlanObject, ...]:
    """Return the PodDisruptionBudget of a controller whose chart has none; () if mlcluster does not install it.

    Args:
        name: name of the budget, which is the name of the controller's Deployment.
        labels: labels by which the Deployment selects its pods.
    """
    if realisation(context, component) not in {"helm", "simulated"}:
        return ()
    body = {"spec": {**BUDGET, "selector": {"matchLabels": labels}}}
    path = context.spec_path(component)
    return (make(context.cluster, "policy/v1", "PodDisruptionBudget", name, body, namespace=namespace, spec_path=path),)
