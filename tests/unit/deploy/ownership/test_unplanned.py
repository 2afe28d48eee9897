"""Labeled objects that neither the plan nor the state has: which `down` deletes, and which it leaves."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from mlcluster.deploy.ownership.unplanned import Unplanned, delete_unplanned, show_unplanned, unplanned
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine.adoption import Held
from mlcluster.engine.engine import Engine
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from mlcluster.report.screen import Screen
from tests.fakes.api_server import FakeApiServer
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit
LABELS = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
OFFICIAL = {**EXISTING, "kubernetesProvider": "official"}


@dataclass
class State:
    """The objects that a stack holds."""

    held: list[Held] = field(default_factory=list)

    def held_objects(self) -> list[Held]:
        return self.held


def _put(server: FakeApiServer, kind: str, name: str, namespace: str = "", **metadata: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    managers = [{"manager": "pulumi-kubernetes", "operation": "Update"}]
    given = {"name": name, **place, "labels": LABELS, "managedFields": managers, **metadata}
    return server.put({"apiVersion": "v1", "kind": kind, "metadata": given})


@pytest.fixture
def server() -> FakeApiServer:
    made = FakeApiServer()
    made._kinds["v1", "persistentvolumes"] = ("PersistentVolume", False)
    return made


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(SYSTEM, target=OFFICIAL)


def _held(kind: str, name: str, namespace: str = "") -> Held:
    return Held(f"urn::{name}", f"{kind}/{name}", "v1", kind, namespace, name, "uid")


def _found(server: FakeApiServer, plan: Plan, *held: Held) -> Unplanned:
    live = LiveCluster("/absent", None, server.kube(), "uid-1", None, started=False)
    return unplanned(plan, live, [Stack("platform", cast("Engine", State(list(held))))])


HOLDER = _held("ConfigMap", "held", "default")
"""It makes ConfigMap a kind that `down` searches for."""


def _names(found: Unplanned) -> list[str]:
    return [item["metadata"]["name"] for item in found.deleted]


@pytest.mark.parametrize("manager", ["pulumi-kubernetes", "pulumi-kubernetes-1a2b3c4d", "mlcluster"])
def test_an_object_that_mlcluster_wrote_is_deleted(server: FakeApiServer, plan: Plan, manager: str) -> None:
    managers = [{"manager": "kubectl-edit"}, {"manager": manager}]
    _put(server, "ConfigMap", "old", "default", managedFields=managers)
    found = _found(server, plan, HOLDER)
    assert (_names(found), found.left) == (["old"], ())
    delete_unplanned(server.kube(), found, Silent())
    assert server.get("ConfigMap", "old", "default") is None


@pytest.mark.parametrize("managers", [[], [{"manager": "kubectl-create"}], [{"manager": "mlcluster-lab"}]])
def test_a_copy_with_the_labels_by_another_manager_is_left(
    server: FakeApiServer, plan: Plan, managers: list[dict[str, str]]
) -> None:
    _put(server, "ConfigMap", "copy", "default", managedFields=managers)
    found = _found(server, plan, HOLDER)
    assert found.deleted == ()
    assert found.left == (
        "ConfigMap default/copy: it has the labels of the cluster, but mlcluster wrote none of its fields",
    )


def test_namespaces_and_volumes_are_never_deleted_by_their_labels(server: FakeApiServer, plan: Plan) -> None:
    _put(server, "Namespace", "old")
    _put(server, "PersistentVolume", "disk")
    _put(server, "PersistentVolumeClaim", "data", "default")
    kinds = ("Namespace", "PersistentVolume", "PersistentVolumeClaim")
    found = _found(server, plan, *(_held(kind, "held") for kind in kinds))
    assert found.deleted == ()
    assert [text.partition(":")[0] for text in found.left] == [
        "Namespace old",
        "PersistentVolume disk",
        "PersistentVolumeClaim default/data",
    ]


def test_known_objects_records_and_what_is_going_are_not_listed(server: FakeApiServer, plan: Plan) -> None:
    namespace = next(item.manifest for item in plan.objects if item.manifest["kind"] == "Namespace")
    _put(server, "Namespace", namespace["metadata"]["name"])  # `down` adds it to the state
    _put(server, "ConfigMap", "held", "default")
    _put(server, "ConfigMap", "mlcluster-owner", "kube-system")
    _put(server, "ConfigMap", "mlcluster-found", "kube-system")
    _put(server, "ConfigMap", "owned", "default", ownerReferences=[{"kind": "Job", "name": "j", "uid": "u"}])
    _put(server, "ConfigMap", "going", "default", deletionTimestamp="2026-01-01T00:00:00Z")
    _put(server, "ConfigMap", "neighbor", "default", labels={**LABELS, "mlcluster.dev/cluster": "comet"})
    assert _found(server, plan, HOLDER) == Unplanned()


def test_the_builtin_provider_has_no_such_objects(server: FakeApiServer) -> None:
    _put(server, "ConfigMap", "old", "default")
    assert _found(server, planned(SYSTEM, target=EXISTING), HOLDER) == Unplanned()


def test_an_object_that_was_replaced_after_the_question_stays(server: FakeApiServer, plan: Plan) -> None:
    _put(server, "ConfigMap", "old", "default")
    found = _found(server, plan, HOLDER)
    server.kube().delete("v1", "ConfigMap", "old", "default")
    _put(server, "ConfigMap", "old", "default", labels={})
    delete_unplanned(server.kube(), found, Silent())
    assert server.get("ConfigMap", "old", "default") is not None


def test_the_list_is_shown_with_the_reasons(
    server: FakeApiServer, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    _put(server, "ConfigMap", "old", "default")
    _put(server, "Namespace", "stale")
    found = _found(server, plan, HOLDER, _held("Namespace", "a"))
    show_unplanned(Screen("text", color=False), server.kube(), found)
    shown = capsys.readouterr().err
    assert "outside of the stacks: 1 object to delete" in shown
    assert "  - ConfigMap default/old\n" in shown
    assert "left: Namespace stale: `down` never deletes a Namespace because of its labels alone" in shown
