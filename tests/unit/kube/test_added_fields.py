"""Fields that another manager added to an exact manifest, with the `managedFields` of a real API server."""

from collections.abc import Mapping
from typing import Any

import pytest

from mlcluster.kube.added_fields import added_fields, without_added

pytestmark = pytest.mark.unit
Object = dict[str, Any]

POLICY: Object = {
    "kind": "NetworkPolicy",
    "metadata": {"name": "team", "labels": {}},
    "spec": {
        "podSelector": {},
        "ingress": [{"from": [{"podSelector": {}}]}],
        "egress": [{"ports": [{"port": 53}], "to": [{"namespaceSelector": {}}]}],
    },
}
DEPLOYMENT: Object = {
    "kind": "Deployment",
    "spec": {
        "strategy": {},
        "template": {"spec": {"securityContext": {}, "containers": [{"name": "m", "resources": {"requests": {}}}]}},
    },
}
OF_CONTAINER = 'k:{"name":"m"}'


def _entry(manager: str, fields: Object, operation: str = "Update", **more: str) -> Object:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **more}


def _ours(fields: Object) -> Object:
    return _entry("mlcluster", fields, "Apply")


def _is_managed(entry: Mapping[str, Any]) -> bool:
    return bool(entry["manager"] == "mlcluster" and entry["operation"] == "Apply")


def _live(manifest: Object, *entries: Object, **spec: Any) -> Object:
    metadata = {**manifest.get("metadata", {}), "resourceVersion": "7", "managedFields": list(entries)}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], **spec}}


def _added(manifest: Object, live: Object) -> list[tuple[str, bool, str]]:
    found = added_fields(manifest, live, _is_managed)
    return [(".".join(str(part) for part in one.path), one.whole, one.manager) for one in found]


def test_an_unchanged_object_has_no_additions() -> None:
    live = _live(
        POLICY,
        _ours({"f:spec": {"f:egress": {}, "f:ingress": {}, "f:podSelector": {}}}),
        egress=[{"ports": [{"port": 53, "protocol": "TCP"}], "to": [{"namespaceSelector": {}}]}],
    )
    assert _added(POLICY, live) == []
    assert _added(POLICY, {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}) == []  # has no managedFields


def test_a_narrowed_selector_is_an_addition() -> None:
    """A label selector is atomic; a patch changes its owner."""
    live = _live(
        POLICY,
        _ours({"f:spec": {"f:egress": {}, "f:ingress": {}}}),
        _entry("kubectl-edit", {"f:spec": {"f:podSelector": {}}}),
        podSelector={"matchLabels": {"app": "x"}},
    )
    assert _added(POLICY, live) == [("spec.podSelector.matchLabels", True, "kubectl-edit")]


def test_additions_inside_an_atomic_list_and_a_further_label() -> None:
    manifest = {"spec": {**POLICY["spec"], "podSelector": {"matchLabels": {"a": "b"}}}}
    live = _live(
        manifest,
        _ours({"f:spec": {"f:egress": {}}}),
        _entry("kubectl-edit", {"f:spec": {"f:ingress": {}, "f:podSelector": {}}}),
        ingress=[{"from": [{"podSelector": {}, "namespaceSelector": {"matchLabels": {"c": "d"}}}]}],
        podSelector={"matchLabels": {"a": "b", "c": "d"}},
    )
    assert _added(manifest, live) == [
        ("spec.podSelector.matchLabels.c", True, "kubectl-edit"),
        ("spec.ingress.0.from.0.namespaceSelector", True, "kubectl-edit"),
    ]


def test_an_equal_value_of_another_manager_is_not_an_addition() -> None:
    shared: Object = {"f:spec": {"f:podSelector": {}}}
    assert _added(POLICY, _live(POLICY, _ours(shared), _entry("argocd", shared, "Apply"))) == []


def test_server_defaults_are_not_additions() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}
    assert _added(DEPLOYMENT, _live(DEPLOYMENT, _ours({"f:spec": {"f:strategy": {}}}), strategy=rolling)) == []


def test_a_key_in_an_empty_map_inside_keyed_lists_is_removed_by_one_patch() -> None:
    added: Object = {"f:resources": {"f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}}}
    other = {"f:spec": {"f:template": {"f:spec": {"f:containers": {OF_CONTAINER: added, 'k:{"name":"side"}': {}}}}}}
    ours: Object = {"f:spec": {"f:template": {"f:spec": {"f:containers": {OF_CONTAINER: {".": {}, "f:name": {}}}}}}}
    requests = {"cpu": "1", "memory": "1Gi"}
    containers = [{"name": "side"}, {"name": "m", "resources": {"requests": requests}}]
    live = _live(DEPLOYMENT, _ours(ours), _entry("vpa", other), template={"spec": {"containers": containers}})
    place = "spec.template.spec.containers.1.resources.requests"
    assert _added(DEPLOYMENT, live) == [(f"{place}.cpu", False, "vpa"), (f"{place}.memory", False, "vpa")]
    pointer = f"/{place.replace('.', '/')}"
    assert without_added(live, added_fields(DEPLOYMENT, live, _is_managed)) == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "remove", "path": f"{pointer}/memory"},
        {"op": "remove", "path": f"{pointer}/cpu"},
    ]


def test_a_key_beside_those_of_the_manifest_does_not_count() -> None:
    """Other managers may add keys to a granular map that the manifest fills, by the rules of server-side apply."""
    manifest = {"spec": {"hard": {"pods": "5"}}}
    owned = _entry("somebody", {"f:spec": {"f:hard": {"f:services": {}}}})
    live = _live(manifest, _ours({"f:spec": {"f:hard": {"f:pods": {}}}}), owned, hard={"pods": "5", "services": "1"})
    assert _added(manifest, live) == []


def test_labels_status_and_aggregated_rules_do_not_count() -> None:
    manifest: Object = {
        "metadata": {"labels": {}}, "spec": {"template": {"metadata": {"annotations": {}}}}, "status": {},
        "aggregationRule": {}, "rules": [],
    }  # fmt: skip
    owned = {
        "f:metadata": {"f:labels": {"f:a": {}}}, "f:status": {"f:b": {}}, "f:rules": {},
        "f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:restarted": {}}}}},
    }  # fmt: skip
    live = {
        "metadata": {"labels": {"a": "b"}, "managedFields": [_entry("others", owned)]},
        "spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}},
        "status": {"b": 1}, "aggregationRule": {}, "rules": [{"verbs": ["get"]}],
    }  # fmt: skip
    assert added_fields(manifest, live, _is_managed) == []


def test_writes_through_a_subresource_do_not_count() -> None:
    manifest: Object = {"spec": {}}
    entry = _entry("scaler", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    assert _added(manifest, _live(manifest, _ours({"f:spec": {}}), entry, replicas=3)) == []


def test_items_of_a_set_are_values() -> None:
    manifest = {"spec": {"names": [{"of": {}}, "a"]}}
    owned: Object = {"f:spec": {"f:names": {'v:"a"': {}, "i:0": {}, 'v:{"of":{"x":1}}': {}}}}
    live = _live(
        manifest, _ours({"f:spec": {"f:names": {'v:"a"': {}}}}), _entry("x", owned), names=[{"of": {"x": 1}}, "a"]
    )
    assert _added(manifest, live) == [("spec.names.0.of.x", True, "x")]
