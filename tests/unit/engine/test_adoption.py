"""Adding objects to the state and removing them, and the comparison of plan, state and server."""

from typing import Any

import pytest

from mlcluster.engine.adoption import Adopted, objects_in, with_adopted, without
from mlcluster.engine.presence import Foreign, Planned, replaced, sort_missing, type_token
from stacks import registration

pytestmark = pytest.mark.unit
OWNED = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
TOKEN = "kubernetes:core/v1:ConfigMap"


def _urn(name: str, type_: str = TOKEN) -> str:
    return f"urn:pulumi:atlas::p::{type_}::{name}"


def _manifest(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "a"}, **fields}


def _live(name: str, uid: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    return _manifest(name) | {
        "metadata": {"name": name, "namespace": "a", "uid": uid, "labels": labels, "managedFields": [], **more}
    }


def _item(name: str, uid: str = "", **fields: Any) -> dict[str, Any]:
    outputs = {"metadata": {"uid": uid}} if uid else {}
    return {"urn": _urn(name), "type": TOKEN, "inputs": _manifest(name), "outputs": outputs, **fields}


def test_objects_in_the_state_without_releases() -> None:
    release = {"urn": _urn("Release/k", "kubernetes:helm.sh/v3:Release"), "type": "kubernetes:helm.sh/v3:Release"}
    release["inputs"] = {"name": "k", "namespace": "k"}  # type: ignore[assignment]
    stack = {"urn": _urn("p-atlas", "pulumi:pulumi:Stack"), "type": "pulumi:pulumi:Stack"}
    found = objects_in({"resources": [stack, release, _item("m", "u1"), _item("l")]})
    assert [(one.plan_id, one.kind, one.namespace, one.name, one.uid) for one in found] == [
        ("l", "ConfigMap", "a", "l", ""),
        ("m", "ConfigMap", "a", "m", "u1"),
    ]
    assert objects_in({}) == []


def test_adoption_into_an_empty_state_adds_stack_and_provider() -> None:
    adopted = [Adopted("m", TOKEN, "a/m", {"k": 1}, {"k": 2}, ("n", "absent")), Adopted("n", TOKEN, "a/n", {}, {})]
    made, added = with_adopted({"manifest": {}}, "atlas", "p", [adopted[1], adopted[0]], {"kubeconfig": "/k"})
    stack, provider, first, second = made["resources"]
    assert added == {_urn("m"), _urn("n")}
    assert stack["urn"] == "urn:pulumi:atlas::p::pulumi:pulumi:Stack::p-atlas"
    assert provider["inputs"] == {"kubeconfig": "/k"}
    assert first["provider"] == second["provider"] == f"{provider['urn']}::{provider['id']}"
    assert second["dependencies"] == [_urn("n")]
    assert (second["inputs"], second["outputs"], second["id"]) == ({"k": 1}, {"k": 2}, "a/m")
    again, more = with_adopted(made, "atlas", "p", adopted, {})
    assert (again, more) == (made, set())


def test_a_removed_resource_leaves_no_reference_in_the_state() -> None:
    other = _item("n", dependencies=[_urn("m")], propertyDependencies={"k": [_urn("m")]}, deletedWith=_urn("m"))
    pending = [{"type": "creating", "resource": _item("m")}]
    found = without({"resources": [_item("m"), other], "pending_operations": pending}, {_urn("m")})
    assert found == {
        "resources": [_item("n", dependencies=[], propertyDependencies={"k": []})],
        "pending_operations": [],
    }


def test_labeled_objects_are_adopted_and_foreign_ones_reported() -> None:
    mine = (Planned("m", _manifest("m"), ("n",)), _live("m", "u1", OWNED))
    other_cluster = (Planned("o", _manifest("o")), _live("o", "u2", OWNED | {"mlcluster.dev/cluster": "moon"}))
    going = (Planned("g", _manifest("g")), _live("g", "u3", OWNED, deletionTimestamp="2026-01-01T00:00:00Z"))
    adopted, foreign = sort_missing([mine, other_cluster, going], "atlas")
    assert [(one.plan_id, one.type, one.id, one.needs) for one in adopted] == [("m", TOKEN, "a/m", ("n",))]
    assert "managedFields" not in adopted[0].outputs["metadata"]
    assert [one.text for one in foreign] == ["ConfigMap a/o, managed by mlcluster, cluster 'moon'"]


def test_the_contents_of_an_adopted_secret_do_not_enter_the_state_in_plain_text() -> None:
    secret = _manifest("s") | {"kind": "Secret", "stringData": {"k": "hidden"}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"k":"aGlkZGVu"}}'}
    live = _live("s", "u1", OWNED, annotations=applied) | {"kind": "Secret", "data": {"k": "aGlkZGVu"}}
    ((one,), _) = sort_missing([(Planned("s", secret), live)], "atlas")
    assert "hidden" not in str(one)
    assert "aGlkZGVu" not in str(one)
    assert one.outputs == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "a", "uid": "u1", "labels": OWNED},
    }


@pytest.mark.parametrize(
    ("live", "foreign"),
    [
        (_live("m", "u1", OWNED), False),
        (_live("m", "u1", {}), False),  # the same object, its labels taken off by hand
        (_live("m", "u2", OWNED), False),  # restored from a backup
        (_live("m", "u2", {}), True),
    ],
)
def test_replaced_objects_are_recognized_by_uid_and_labels(live: dict[str, Any], *, foreign: bool) -> None:
    (held,) = objects_in({"resources": [_item("m", "u1")]})
    found = replaced([(held, live)], "atlas")
    assert found == ([Foreign("ConfigMap a/m", found[0].manager, _urn("m"), "a")] if foreign else [])


@pytest.mark.parametrize("version", ["v1", "apps/v1", "kueue.x-k8s.io/v1beta2"])
def test_an_adopted_object_has_the_type_under_which_the_stack_registers_it(version: str) -> None:
    manifest = {"apiVersion": version, "kind": "Any"}
    assert type_token(manifest) == registration.type_token(manifest)
