"""Verification after `down`: which managed objects are left in the cluster."""

from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.kube.controllers import list_if_served
from mlcluster.plan import names
from mlcluster.plan.model import Plan


def leftovers(plan: Plan, live: LiveCluster) -> list[str]:
    """Return the objects that still have the labels of the cluster."""
    selector = names.managed_selector(plan.cluster.name)
    entries = [(entry.manifest["apiVersion"], entry.manifest["kind"]) for entry in plan.objects]
    entries += [(entry.inputs["apiVersion"], entry.inputs["kind"]) for entry in plan.resources]
    return [
        f"{kind}/{item['metadata']['name']}"
        for api_version, kind in sorted(set(entries))
        for item in list_if_served(live.kube, api_version, kind, label_selector=selector)
    ]


def unmanaged(live: LiveCluster) -> list[str]:
    """Return the etcd keys of objects that users created in a lab: a bare control plane does not have them."""
    return sorted(live.lab.leftovers()) if live.lab is not None else []
