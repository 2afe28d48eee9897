"""Objects of members that would keep nodes from being drained and namespaces from being deleted."""

from typing import Any

import pytest

from tests.lab.attacks import as_member, refused, refused_change, request_as
from tests.lab.workloads import Tenant, controller, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
KEEPS = "keeps the object and its namespace forever"
FINALIZER = "example.test/never"
RBAC = "rbac.authorization.k8s.io"


def _thing(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": "kept", "namespace": "products", "finalizers": [FINALIZER]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def test_finalizers_are_refused_on_every_kind(products: Tenant) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    attempts = [
        _thing("v1", "ConfigMap"),
        _thing("v1", "Secret"),
        _thing("v1", "ServiceAccount"),
        _thing("v1", "Pod", spec=pod_spec(cpu="1")),
        _thing("v1", "PersistentVolumeClaim", spec=claim),
        _thing("coordination.k8s.io/v1", "Lease"),
        _thing("batch/v1", "Job", spec={"template": {"spec": pod_spec(cpu="1")}}),
    ]
    for manifest in attempts:
        assert KEEPS in refused(products, manifest), manifest["kind"]


def test_a_finalizer_of_another_kind_is_refused(products: Tenant) -> None:
    """Kueue removes its finalizer only from pods."""
    made = _thing("v1", "ConfigMap")
    made["metadata"]["finalizers"] = ["kueue.x-k8s.io/managed"]
    assert KEEPS in refused(products, made)


def test_a_finalizer_is_refused_later_too(products: Tenant) -> None:
    products.submit({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later", "namespace": "products"}})
    change = {"metadata": {"finalizers": [FINALIZER]}}
    assert KEEPS in refused_change(products, "v1", "configmaps/later", change)
    as_member(products, "DELETE", "v1", "configmaps/later", {"propagationPolicy": "Foreground"})
    wait_for("its end", lambda: products.kube.get_object("v1", "ConfigMap", "later", "products") is None)


def test_cluster_scoped_objects_get_finalizers_from_any_user(products: Tenant) -> None:
    """The API server itself adds kubernetes.io/pv-protection to a volume of a user who may only create volumes."""
    name = "only-creates-volumes"
    rules = [{"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["create"]}]
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": name}]
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    products.kube.create({**head, "kind": "ClusterRole", "rules": rules})
    products.kube.create({**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects})
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    try:
        made = request_as(products.kube, (name, []), "POST", "/api/v1/persistentvolumes", volume)
        assert made["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            products.kube.delete(f"{RBAC}/v1", kind, name)
        products.kube.delete("v1", "PersistentVolume", name)


def test_a_controller_of_the_platform_may_set_finalizers(products: Tenant) -> None:
    """A user that may write an object in every namespace is no member of the team."""
    created = products.kube.create(_thing("v1", "ConfigMap"))
    assert created["metadata"]["finalizers"] == [FINALIZER]
    change = {"metadata": {"finalizers": None}}
    path = "/api/v1/namespaces/products/configmaps/kept"
    patched = products.kube.request("PATCH", path, change, content_type="application/merge-patch+json")
    assert "finalizers" not in patched["metadata"]
    products.kube.delete("v1", "ConfigMap", "kept", "products")
    assert products.kube.get_object("v1", "ConfigMap", "kept", "products") is None


def _budget(**spec: Any) -> dict[str, Any]:
    made = _thing("policy/v1", "PodDisruptionBudget", spec={"selector": {"matchLabels": {"app": "api"}}, **spec})
    del made["metadata"]["finalizers"]
    return made


@pytest.mark.parametrize(
    "spec",
    [
        {"maxUnavailable": 0},
        {"maxUnavailable": "0%"},
        {"maxUnavailable": "00%"},
        {"minAvailable": 1},
        {"minAvailable": "100%"},
        {},
    ],
)
def test_a_budget_that_allows_no_disruption_is_refused(products: Tenant, spec: dict[str, Any]) -> None:
    assert "nodes must stay drainable" in refused(products, _budget(**spec))


def test_a_budget_that_allows_one_disruption_is_accepted(products: Tenant) -> None:
    products.submit(controller("Deployment", "api", "products", pod_spec(cpu="1"), replicas=2))
    products.submit(_budget(maxUnavailable=1))
    change = {"spec": {"maxUnavailable": 0}}
    words = refused_change(products, "policy/v1", "poddisruptionbudgets/kept", change)
    assert "nodes must stay drainable" in words
    products.kube.delete("policy/v1", "PodDisruptionBudget", "kept", "products")
