"""Labels and taints on the nodes of a real API server, while others write to them too."""

from collections.abc import Iterator
from typing import Any

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.kube.nodes import NOTHING, TAINTS, NodeChange, Wanted, change, managed_labels, managed_taints, write
from mlcluster.lab.lab import Lab
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
NAME = "marked-0"
DEDICATED = ("dedicated", "training", "NoSchedule")
WANTED = Wanted({"ml-purpose": "training"}, (DEDICATED,))


class Interrupted(Kube):
    """A client whose next `pending` reads are each followed by a write of another manager."""

    pending: list[dict[str, Any]]
    other: Kube

    def get_object(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        found = super().get_object(api_version, kind, name, namespace)
        if self.pending and found is not None:
            taints = [*(found["spec"].get("taints") or []), self.pending.pop(0)]
            self.other.patch(api_version, kind, name, {"spec": {"taints": taints}}, field_manager="somebody")
        return found


@pytest.fixture
def kube(lab: Lab) -> Iterator[Kube]:
    """Yield a cluster with one foreign node, which is not simulated."""
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        kube.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": {"role": "gpu"}}})
        wait_for("the node controller's own taints", lambda: keys(kube))
        yield kube
        kube.delete("v1", "Node", NAME)


def node(kube: Kube) -> dict[str, Any]:
    found = kube.get_object("v1", "Node", NAME)
    assert found is not None
    return found


def keys(kube: Kube) -> set[str]:
    return {taint["key"] for taint in node(kube)["spec"].get("taints") or []}


def changed(kube: Kube, wanted: Wanted) -> NodeChange:
    found = change(node(kube), wanted)
    assert found is not None
    return found


def test_concurrent_writes_are_kept_and_managed_labels_are_added_and_removed(kube: Kube, lab: Lab) -> None:
    before = keys(kube)
    with Interrupted.from_kubeconfig(lab.kubeconfig) as ours:
        ours.other = kube
        ours.pending = []
        found = changed(kube, WANTED)
        ours.pending = [{"key": f"their-{number}", "effect": "NoSchedule"} for number in range(3)]
        write(ours, found, WANTED.taints)
        assert ours.pending == []
        assert {"dedicated", "their-0", "their-1", "their-2"} <= keys(kube)
        assert managed_taints(node(kube)) == [DEDICATED]
        assert managed_labels(node(kube)) == {"ml-purpose": "training"}
        assert change(node(kube), WANTED) is None, "once more changes nothing"
        ours.pending = [{"key": "their-3", "effect": "NoExecute"}]
        write(ours, changed(kube, NOTHING), ())
    live = node(kube)
    assert keys(kube) >= {"their-0", "their-1", "their-2", "their-3", *(before - {"node.kubernetes.io/not-ready"})}
    assert "dedicated" not in keys(kube)
    assert "ml-purpose" not in live["metadata"]["labels"]
    assert live["metadata"]["labels"]["role"] == "gpu"
    assert TAINTS not in (live["metadata"].get("annotations") or {})


def test_a_value_that_another_manager_changed_is_kept(kube: Kube) -> None:
    write(kube, changed(kube, WANTED), WANTED.taints)
    kube.patch("v1", "Node", NAME, {"metadata": {"labels": {"ml-purpose": "serving"}}}, field_manager="somebody")
    assert managed_labels(node(kube)) == {}
    with pytest.raises(MlclusterError, match="label ml-purpose=serving of another manager"):
        change(node(kube), WANTED)
    write(kube, changed(kube, NOTHING), ())
    assert node(kube)["metadata"]["labels"]["ml-purpose"] == "serving"


def test_a_label_does_not_create_a_deleted_node(kube: Kube) -> None:
    found = changed(kube, WANTED)
    kube.delete("v1", "Node", NAME)
    wait_for("the node to go", lambda: kube.get_object("v1", "Node", NAME) is None)
    write(kube, found, WANTED.taints)
    assert kube.get_object("v1", "Node", NAME) is None


def test_the_server_also_rejects_a_label_of_another_manager(kube: Kube) -> None:
    """Another manager wrote after mlcluster had read the node."""
    found = changed(kube, WANTED)
    kube.patch("v1", "Node", NAME, {"metadata": {"labels": {"ml-purpose": "serving"}}}, field_manager="somebody")
    with pytest.raises(ApiError) as caught:
        write(kube, found, ())
    assert caught.value.status == 409
    assert node(kube)["metadata"]["labels"]["ml-purpose"] == "serving"


def test_only_an_instruction_overwrites_the_label_of_the_operator(kube: Kube, lab: Lab) -> None:
    """The GPU operator labels a node first, and continues to write while mlcluster takes the label over."""
    key = "nvidia.com/gpu.deploy.driver"
    theirs = {key: "true", "nvidia.com/gpu.present": "true"}
    kube.patch("v1", "Node", NAME, {"metadata": {"labels": theirs}}, field_manager="gpu-operator")
    wanted = Wanted({**WANTED.labels, key: "false"}, (), frozenset({key}))
    with Interrupted.from_kubeconfig(lab.kubeconfig) as ours:
        ours.other, ours.pending = kube, [{"key": f"their-{number}", "effect": "NoSchedule"} for number in range(2)]
        write(ours, changed(kube, wanted), ())
        assert ours.pending == []
    labels = node(kube)["metadata"]["labels"]
    assert (labels[key], labels["nvidia.com/gpu.present"], labels["role"]) == ("false", "true", "gpu")
    assert managed_labels(node(kube)) == {"ml-purpose": "training", key: "false"}
    assert change(node(kube), wanted) is None, "once more changes nothing"

    kube.patch("v1", "Node", NAME, {"metadata": {"labels": {key: "true"}}}, field_manager="gpu-operator")
    found = changed(kube, wanted)
    assert found.takes == {key: "true"}
    kube.patch("v1", "Node", NAME, {"metadata": {"labels": {"ml-purpose": "serving"}}}, field_manager="somebody")
    with pytest.raises(MlclusterError, match="label ml-purpose=serving of another manager"):
        write(kube, found, ())
    assert node(kube)["metadata"]["labels"][key] == "true"
