"""Managed labels and taints on existing nodes, on an API server in memory."""

import json
from typing import Any

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.nodes import NOTHING, TAINTS, Wanted, change, is_marked, managed_labels, managed_taints, write
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit
THEIRS = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
DEDICATED = ("dedicated", "training", "NoSchedule")
WANTED = Wanted({"ml-purpose": "training"}, (DEDICATED,))


@pytest.fixture
def server() -> FakeApiServer:
    """Return a server with one node, which has an unmanaged label and taint."""
    server = FakeApiServer()
    metadata = {"name": "gpu-0", "labels": {"role": "gpu"}}
    server.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [THEIRS]}})
    return server


def node(server: FakeApiServer) -> dict[str, Any]:
    found = server.get("Node", "gpu-0")
    assert found is not None
    return found


def put(server: FakeApiServer, wanted: Wanted, kube: Kube | None = None) -> bool:
    """Apply the changes, and return whether there were any."""
    kube = kube or server.kube()
    found = change(node(server), wanted)
    if found is not None:
        write(kube, found, wanted.taints)
    return found is not None


def test_managed_labels_are_added_beside_unmanaged_ones(server: FakeApiServer) -> None:
    assert put(server, WANTED)
    live = node(server)
    assert live["metadata"]["labels"] == {"role": "gpu", "ml-purpose": "training"}
    ours = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    assert live["spec"]["taints"] == [THEIRS, ours]
    assert json.loads(live["metadata"]["annotations"][TAINTS]) == [ours]
    assert managed_labels(live) == {"ml-purpose": "training"}
    assert managed_taints(live) == [DEDICATED]
    assert is_marked(live)


def test_a_second_time_nothing_is_written(server: FakeApiServer) -> None:
    put(server, WANTED)
    before = len(server.calls)
    assert not put(server, WANTED)
    assert len(server.calls) == before


def test_exactly_the_managed_labels_and_taints_are_removed(server: FakeApiServer) -> None:
    put(server, WANTED)
    assert put(server, NOTHING)
    live = node(server)
    assert live["metadata"]["labels"] == {"role": "gpu"}
    assert live["spec"]["taints"] == [THEIRS]
    assert TAINTS not in live["metadata"]["annotations"]
    assert not is_marked(live)


def test_labels_and_taints_removed_from_the_spec_are_removed(server: FakeApiServer) -> None:
    put(server, WANTED)
    found = change(node(server), Wanted({"tier": "gold"}, (("spot", "", "NoExecute"),)))
    assert found is not None
    assert (dict(found.adds), found.drops) == ({"tier": "gold"}, ("ml-purpose",))
    assert (found.taints, found.untaints) == ((("spot", "", "NoExecute"),), (DEDICATED,))
    write(server.kube(), found, (("spot", "", "NoExecute"),))
    live = node(server)
    assert live["metadata"]["labels"] == {"role": "gpu", "tier": "gold"}
    assert [taint["key"] for taint in live["spec"]["taints"]] == ["node.kubernetes.io/unschedulable", "spot"]


def test_an_equal_value_of_another_manager_stays_unmanaged(server: FakeApiServer) -> None:
    node(server)["metadata"]["labels"]["ml-purpose"] = "training"
    node(server)["spec"]["taints"].append({"key": "dedicated", "value": "training", "effect": "NoSchedule"})
    assert not put(server, WANTED)
    assert not put(server, NOTHING)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted({"role": "cpu"}, ()), "label role=gpu of another manager, and the spec requires role=cpu"),
        (
            Wanted({}, (("node.kubernetes.io/unschedulable", "x", "NoSchedule"),)),
            "taint node.kubernetes.io/unschedulable=:NoSchedule of another manager",
        ),
    ],
)
def test_a_different_value_of_another_manager_is_not_overwritten(
    server: FakeApiServer, wanted: Wanted, words: str
) -> None:
    with pytest.raises(MlclusterError) as caught:
        change(node(server), wanted)
    assert words in caught.value.happened
    assert "gpu-0" in caught.value.happened


def test_a_write_in_between_is_kept(server: FakeApiServer) -> None:
    """A user cordons the node between the read and the write."""
    cordon = {"key": "maintenance", "value": "", "effect": "NoExecute"}
    pending = [cordon]

    def other(old: Any, new: Any) -> None:
        if pending and new["kind"] == "Node" and TAINTS in (new["metadata"].get("annotations") or {}):
            old["spec"]["taints"] = [*old["spec"]["taints"], pending.pop()]
            old["metadata"]["resourceVersion"] = "9999"
            raise_conflict()

    server.on_write = other
    put(server, WANTED)
    assert [taint["key"] for taint in node(server)["spec"]["taints"]] == [THEIRS["key"], "maintenance", "dedicated"]


def raise_conflict() -> None:
    from tests.fakes.api_server import Refusal

    raise Refusal(409, "Conflict", "the object has been modified")


def test_endless_conflicts_are_reported(server: FakeApiServer) -> None:
    server.fail("PATCH", "nodes/gpu-0", 409, "Conflict")
    with pytest.raises(MlclusterError, match="12 times in a row"):
        put(server, Wanted({}, (DEDICATED,)))


def test_a_deleted_node_is_not_created(server: FakeApiServer) -> None:
    found = change(node(server), WANTED)
    assert found is not None
    server.objects.clear()
    server.fail("PATCH", "nodes/gpu-0", 409, "Conflict", "uid mismatch")
    write(server.kube(), found, WANTED.taints)
    assert server.get("Node", "gpu-0") is None


def test_a_changed_taint_is_no_longer_managed(server: FakeApiServer) -> None:
    put(server, WANTED)
    node(server)["spec"]["taints"][-1]["value"] = "serving"
    assert managed_taints(node(server)) == []
    with pytest.raises(MlclusterError, match="dedicated=serving:NoSchedule"):
        change(node(server), WANTED)
    assert change(node(server), Wanted({"ml-purpose": "training"}, ())) is None


def test_an_instruction_replaces_the_value_of_another_manager(server: FakeApiServer) -> None:
    key = "nvidia.com/gpu.deploy.driver"
    node(server)["metadata"]["labels"][key] = "true"
    wanted = Wanted({**WANTED.labels, key: "false"}, (), frozenset({key}))
    found = change(node(server), wanted)
    assert found is not None
    assert found.takes == {key: "true"}
    write(server.kube(), found, ())
    assert node(server)["metadata"]["labels"] == {"role": "gpu", "ml-purpose": "training", key: "false"}
    assert managed_labels(node(server)) == {"ml-purpose": "training", key: "false"}
    assert change(node(server), wanted) is None


def test_force_replaces_only_the_instruction(server: FakeApiServer) -> None:
    """A user labels the node between the read and the forced write, which applies only to an unchanged node."""
    key, other = "nvidia.com/gpu.deploy.driver", "ml-purpose"
    node(server)["metadata"]["labels"][key] = "true"
    found = change(node(server), Wanted({**WANTED.labels, key: "false"}, (), frozenset({key})))
    assert found is not None
    pending = ["serving"]

    def quicker(old: Any, new: Any) -> None:
        if pending and new["kind"] == "Node":
            old["metadata"]["labels"][other] = pending.pop()
            raise_conflict()

    server.on_write = quicker
    with pytest.raises(MlclusterError, match=f"label {other}=serving of another manager"):
        write(server.kube(), found, ())
    assert node(server)["metadata"]["labels"] == {"role": "gpu", key: "true", other: "serving"}


def test_endless_label_conflicts_are_reported(server: FakeApiServer) -> None:
    node(server)["metadata"]["labels"]["role"] = "cpu"
    server.fail("PATCH", "nodes/gpu-0", 409, "Conflict")
    with pytest.raises(MlclusterError, match="12 times in a row"):
        put(server, Wanted({"role": "gpu"}, (), frozenset({"role"})))
