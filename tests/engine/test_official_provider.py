"""A simulated official provider under the real engine: orphans, replacements, other owners."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.engine.engine import Engine
from mlcluster.errors import MlclusterError
from tests.fakes.api_server import FakeApiServer
from tests.fakes.engine_process import engine_process
from tests.fakes.official_provider import OfficialWorld, serve_official
from tests.fakes.official_stack import Scene
from tests.fakes.small_stack import SmallPlan, Thing, small_plan

pytestmark = pytest.mark.engine
COUNT = 3


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


@pytest.fixture
def official(server: FakeApiServer) -> OfficialWorld:
    return OfficialWorld(server.kube())


@pytest.fixture
def official_port(official: OfficialWorld) -> Iterator[int]:
    with serve_official(official) as port:
        yield port


@pytest.fixture
def scene(server: FakeApiServer, official_port: int, tmp_path: Path, pulumi: Path) -> Scene:
    return Scene(server.kube(), official_port, tmp_path / "atlas", pulumi)


def _held(engine: Engine) -> list[str]:
    return [one.plan_id for one in engine.resources()]


def _interrupted(scene: Scene, official: OfficialWorld) -> None:
    official.gate.close(after=0)
    with engine_process("up", scene.root, scene.port, COUNT, scene.pulumi) as running:
        running.wait_for("the namespace", lambda: official.gate.held)
        running.process.send_signal(signal.SIGINT)
        code, _ = running.end()
    assert code == 130


def test_up_adopts_objects_that_ctrl_c_orphaned(scene: Scene, official: OfficialWorld, server: FakeApiServer) -> None:
    _interrupted(scene, official)
    plan = small_plan(COUNT)
    engine = scene.engine(plan)
    assert server.get("Namespace", "a") is not None
    assert engine.pending() == []
    assert _held(engine) == []
    with pytest.raises(MlclusterError, match="already exists"):
        engine.up()
    scene.take_over(plan)
    assert _held(engine) == ["Namespace/a"]
    engine.up()
    assert _held(engine) == ["ConfigMap/a/0", "ConfigMap/a/1", "ConfigMap/a/2", "Namespace/a"]
    assert official.calls.count(("Create", "ConfigMap/a/0")) == 1


def test_down_deletes_objects_that_ctrl_c_orphaned(
    scene: Scene, official: OfficialWorld, server: FakeApiServer
) -> None:
    _interrupted(scene, official)
    labels = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
    unplanned: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}}
    old = {**unplanned, "metadata": {"name": "old", "namespace": "default", "labels": labels}}
    scene.kube.create(old, field_manager="pulumi-kubernetes")
    server.put({**unplanned, "metadata": {"name": "other", "namespace": "default"}})
    plan = small_plan(COUNT)
    found = scene.unplanned(plan)
    assert [item["metadata"]["name"] for item in found.deleted] == ["old"]
    scene.take_over_rest(plan)
    assert server.get("ConfigMap", "old", "default") is not None
    scene.delete_unplanned(found)
    scene.engine(plan).destroy()
    assert server.get("Namespace", "a") is None
    assert server.get("ConfigMap", "old", "default") is None
    assert server.get("ConfigMap", "other", "default") is not None


def test_a_lost_state_is_built_again_from_the_labels(scene: Scene, server: FakeApiServer) -> None:
    plan = small_plan(COUNT)
    for one in plan.objects:
        server.put(one.manifest)
    scene.take_over(plan)
    engine = scene.engine(plan)
    assert _held(engine) == sorted(one.id for one in plan.objects)
    assert engine.up().changes.effective == ()
    engine.destroy()
    assert server.get("Namespace", "a") is None


def test_up_refuses_an_existing_object_of_another_manager(scene: Scene, server: FakeApiServer) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}})
    with pytest.raises(MlclusterError, match="Namespace a, managed by 'Helm'"):
        scene.take_over(small_plan(COUNT))


@pytest.mark.parametrize(
    ("kind", "name", "space", "plan_id", "left"),
    [("ConfigMap", "m0", "a", "ConfigMap/a/0", False), ("Namespace", "a", "", "Namespace/a", True)],
)
def test_an_object_that_took_a_managed_name_is_refused_by_up_and_not_deleted_by_down(
    scene: Scene, server: FakeApiServer, kind: str, name: str, space: str, plan_id: str, *, left: bool
) -> None:
    """Only a namespace that mlcluster created is deleted with its objects."""
    plan = small_plan(COUNT)
    engine = scene.engine(plan)
    engine.up()
    scene.kube.delete("v1", kind, name, space or None)
    metadata = {"name": name, **({"namespace": space} if space else {})}
    scene.kube.create({"apiVersion": "v1", "kind": kind, "metadata": metadata}, field_manager="kubectl-create")
    with pytest.raises(MlclusterError, match=rf"{kind} .*{name}, managed by the field manager kubectl-create"):
        scene.take_over(plan)
    scene.take_over_rest(plan)
    assert plan_id not in _held(scene.engine(plan))
    told = f"{kind} {space}/{name}" if space else f"{kind} {name}"
    ending = "and stays" if left else f"but goes with the namespace {space}"
    assert scene.said.texts == [
        f"{told}, managed by the field manager kubectl-create, is not the object that mlcluster created, {ending}."
    ]
    engine.destroy()
    assert (server.get(kind, name, space) is not None) is left


def test_an_object_keeps_its_owner_when_its_labels_are_removed(scene: Scene, server: FakeApiServer) -> None:
    plan = small_plan(COUNT)
    scene.engine(plan).up()
    found = server.get("ConfigMap", "m0", "a")
    assert found is not None
    found["metadata"]["labels"].clear()
    scene.take_over(plan)
    scene.engine(plan).up()
    assert server.get("ConfigMap", "m0", "a") is not None


def _priority(value: int) -> SmallPlan:
    manifest = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "gold", "labels": {"mlcluster.dev/cluster": "atlas"}},
        "value": value,
    }
    return SmallPlan((Thing("PriorityClass/gold", manifest),))


def test_a_change_of_an_immutable_field_replaces_the_object(
    scene: Scene, official: OfficialWorld, server: FakeApiServer
) -> None:
    server.fail("PATCH", "priorityclasses/gold", 403, "Forbidden", "may not be changed in an update.")
    scene.engine(_priority(10)).up()
    official.calls.clear()
    changes = scene.engine(_priority(20)).up().changes
    assert [(one.id, one.op) for one in changes.effective] == [("PriorityClass/gold", "replace")]
    assert official.calls == [("Delete", "PriorityClass/gold"), ("Create", "PriorityClass/gold")]
    assert (server.get("PriorityClass", "gold") or {})["value"] == 20


def test_a_preview_names_orphans_and_changes_nothing(scene: Scene, server: FakeApiServer) -> None:
    plan = small_plan(1)
    server.put(plan.objects[-1].manifest)
    with pytest.raises(MlclusterError, match="1 resource that the state misses: Namespace/a"):
        scene.preview(plan)
    assert not scene.engine(plan).exists()
