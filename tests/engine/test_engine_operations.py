"""The engine's verbs against the real Pulumi CLI, with a provider in memory."""

import os
import pwd
import runpy
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster.engine import programs
from mlcluster.engine.command import _version
from mlcluster.engine.engine import Engine
from mlcluster.engine.events import Event, ResourceFailed, ResourceFinished, ResourceStarted, Summary
from mlcluster.engine.home import StackHome
from mlcluster.engine.identity import Identity
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.plan import build
from mlcluster.spec.load import load
from tests.fakes.in_memory_provider import World
from tests.fakes.small_stack import SETTINGS, SmallPlan, Thing, small_engine, small_plan

pytestmark = pytest.mark.engine
EngineOf = Callable[[SmallPlan], Engine]


def test_preview_shows_the_changes_of_up_and_changes_nothing(engine_of: EngineOf, world: World) -> None:
    engine = engine_of(small_plan(2))
    shown = engine.preview()
    assert not world.objects
    assert shown.counts == {"create": 3}
    assert [change.id for change in shown.items] == ["ConfigMap/a/0", "ConfigMap/a/1", "Namespace/a"]
    assert shown.items[0].type == "kubernetes:core/v1:ConfigMap"
    assert engine.up().changes == shown
    assert sorted(world.objects) == ["ConfigMap/a/0", "ConfigMap/a/1", "Namespace/a"]


def test_a_second_up_changes_nothing(engine_of: EngineOf, world: World) -> None:
    engine_of(small_plan(2)).up()
    world.calls.clear()
    again = engine_of(small_plan(2)).up()
    assert again.changes.counts == {"same": 3}
    assert not again.changes
    assert not again.drift
    assert {call for call, _ in world.calls} == {"Read"}


def test_objects_are_created_after_their_needs_and_deleted_before_them(engine_of: EngineOf, world: World) -> None:
    engine = engine_of(small_plan(3))
    engine.up()
    assert next(call for call in world.calls if call[0] == "Create") == ("Create", "Namespace/a")
    assert engine.destroy().counts == {"delete": 4}
    assert [call for call in world.calls if call[0] == "Delete"][-1] == ("Delete", "Namespace/a")
    assert not world.objects
    assert engine.is_empty()


def test_a_changed_field_is_an_update_with_its_path(engine_of: EngineOf, world: World) -> None:
    engine_of(small_plan(1)).up()
    engine = engine_of(small_plan(1, data={"a": "1"}))
    (change,) = engine.preview().effective
    assert (change.id, change.op, change.paths, change.replaces_because) == ("ConfigMap/a/0", "update", ("data",), ())
    engine.up()
    assert world.objects["ConfigMap/a/0"]["data"] == {"a": "1"}


def test_a_replacement_is_one_change_with_its_reason(engine_of: EngineOf, world: World) -> None:
    engine_of(small_plan(1, immutable="1")).up()
    engine = engine_of(small_plan(1, immutable="2", data={"a": "1"}))
    (change,) = engine.preview().effective
    assert (change.op, change.replaces_because) == ("replace", ("immutable",))
    assert engine.up().changes.effective == (change,)
    assert world.called("Delete") == ["ConfigMap/a/0"]


def test_resources_that_left_the_plan_are_deleted(engine_of: EngineOf, world: World) -> None:
    engine_of(small_plan(2)).up()
    engine = engine_of(small_plan(1))
    assert [change.identity for change in engine.preview().effective] == [Identity("ConfigMap", "m1", "a")]
    assert engine.up().changes.counts == {"delete": 1, "same": 2}
    assert [one.identity for one in engine.resources()] == [
        Identity("ConfigMap", "m0", "a"),
        Identity("Namespace", "a"),
    ]
    assert "ConfigMap/a/1" not in world.objects


def test_urns_do_not_depend_on_the_order_of_the_plan(engine_of: EngineOf) -> None:
    plan = small_plan(3)
    engine_of(plan).up()
    assert not engine_of(replace(plan, objects=plan.objects[::-1])).preview()


def test_drift_is_found_and_corrected(engine_of: EngineOf, world: World) -> None:
    engine = engine_of(small_plan(3, data={"a": "1"}))
    engine.up()
    del world.objects["ConfigMap/a/0"]
    world.objects["ConfigMap/a/1"]["data"] = {"a": "by hand"}
    assert [(change.id, change.op) for change in engine.drift().effective] == [
        ("ConfigMap/a/0", "delete"),
        ("ConfigMap/a/1", "update"),
    ]
    result = engine.up()
    assert [(change.id, change.op) for change in result.drift.effective] == [
        ("ConfigMap/a/0", "delete"),
        ("ConfigMap/a/1", "update"),
    ]
    assert [(change.id, change.op) for change in result.changes.effective] == [
        ("ConfigMap/a/0", "create"),
        ("ConfigMap/a/1", "update"),
    ]
    assert not engine.drift()


def test_without_refresh_the_server_is_not_asked(engine_of: EngineOf, world: World) -> None:
    engine = engine_of(small_plan(1))
    engine.up()
    world.calls.clear()
    assert not engine.up(refresh=False).changes
    assert world.calls == []


def test_events_have_begin_end_and_summary(engine_of: EngineOf) -> None:
    told: list[Event] = []
    engine_of(small_plan(1)).up(told.append)
    assert [event.id for event in told if isinstance(event, ResourceStarted)] == ["Namespace/a", "ConfigMap/a/0"]
    assert [event.op for event in told if isinstance(event, ResourceFinished)] == ["create", "create"]
    assert [event.counts for event in told if isinstance(event, Summary)] == [{"create": 2}]


def test_a_rejected_object_is_named_with_the_message_of_the_server(engine_of: EngineOf, world: World) -> None:
    world.refuse = {"ConfigMap/a/1": "quota exceeded"}
    told: list[Event] = []
    engine = engine_of(small_plan(2))
    with pytest.raises(MlclusterError) as caught:
        engine.up(told.append)
    assert "ConfigMap/a/1" in caught.value.happened
    assert "quota exceeded" in caught.value.happened
    assert caught.value.exit_code is ExitCode.INVALID
    assert [event.id for event in told if isinstance(event, ResourceFailed)] == ["ConfigMap/a/1"]
    world.refuse = {}
    assert engine.up().changes.effective[0].op == "create"
    assert "ConfigMap/a/1" in world.objects


def test_an_exception_of_the_program_is_reported_in_one_line(pulumi: Path, port: int, tmp_path: Path) -> None:
    broken = SmallPlan((Thing("Namespace/a", {"apiVersion": "v1", "kind": "Namespace"}, ("Namespace/absent",)),))
    with pytest.raises(MlclusterError) as caught:
        small_engine(tmp_path / "atlas", port, broken, pulumi).preview()
    assert "Namespace/a needs Namespace/absent" in caught.value.happened
    assert "\n" not in caught.value.happened
    assert caught.value.exit_code is ExitCode.BUG


def test_an_exception_of_the_listener_is_raised(engine_of: EngineOf, world: World) -> None:
    def listen(event: Event) -> None:
        raise LookupError(type(event).__name__)

    with pytest.raises(LookupError, match="ResourceStarted"):
        engine_of(small_plan(1)).up(listen)
    assert len(world.objects) == 2


def test_state_outputs_and_resources_can_be_read(engine_of: EngineOf) -> None:
    engine = engine_of(small_plan(1))
    assert engine.outputs() == {}
    assert engine.resources() == []
    assert engine.is_empty()
    assert not engine.exists()
    engine.up()
    assert engine.outputs() == {"clusterUid": "uid-1"}
    assert [(found.plan_id, found.id) for found in engine.resources()] == [
        ("ConfigMap/a/0", "a/m0"),
        ("Namespace/a", "a"),
    ]
    assert not engine.is_empty()
    assert engine.exists()
    assert engine.lock() is None
    assert engine.pending() == []


def test_a_stack_is_removed_only_when_empty_and_leaves_nothing(engine_of: EngineOf) -> None:
    engine = engine_of(small_plan(1))
    engine.up()
    with pytest.raises(MlclusterError, match="still"):
        engine.remove_stack()
    engine.destroy()
    engine.remove_stack()
    assert not engine.exists()
    engine.home.forget()
    assert not engine.home.root.exists()


def test_files_of_the_stack_are_private(engine_of: EngineOf) -> None:
    engine = engine_of(small_plan(1))
    engine.up()
    root = engine.home.root
    for path in (root, root / "state", root / "home", root / "projects"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "passphrase").stat().st_mode) == 0o600
    assert "encryptionsalt" in (root / "projects/mlcluster-platform/Pulumi.atlas.yaml").read_text()


def test_secrets_are_encrypted_in_the_state(pulumi: Path, port: int, tmp_path: Path) -> None:
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"token": "hunter2-x"}}
    engine = small_engine(tmp_path / "atlas", port, SmallPlan((Thing("Secret/s", manifest),)), pulumi)
    engine.up()
    checkpoint = engine.home.checkpoint("mlcluster-platform")
    assert checkpoint is not None
    assert "ciphertext" in checkpoint.read_text()
    assert "hunter2-x" not in checkpoint.read_text()


def test_another_cluster_or_provider_is_refused(pulumi: Path, port: int, tmp_path: Path) -> None:
    small_engine(tmp_path / "atlas", port, small_plan(1), pulumi).up()
    for settings, words in (
        (replace(SETTINGS, cluster_uid="uid-2"), ("uid-1", "uid-2")),
        (replace(SETTINGS, provider="official"), ("builtin", "official")),
    ):
        other = small_engine(tmp_path / "atlas", port, small_plan(1), pulumi, settings=settings)
        with pytest.raises(MlclusterError) as caught:
            other.preview()
        assert all(word in caught.value.happened for word in words)


def test_a_shared_backend_records_its_cluster_for_other_machines(
    pulumi: Path, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", f"file://{tmp_path}/shared")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    small_engine(tmp_path / "one", port, small_plan(1), pulumi).up()
    assert not small_engine(tmp_path / "two", port, small_plan(1), pulumi).up().changes
    other = replace(SETTINGS, cluster_uid="uid-2")
    with pytest.raises(MlclusterError, match=r"uid-1.*uid-2"):
        small_engine(tmp_path / "three", port, small_plan(1), pulumi, settings=other).up()


def test_the_callers_pulumi_settings_do_not_reach_the_engine(
    engine_of: EngineOf, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "somebody else's")
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}/elsewhere")
    monkeypatch.setenv("PULUMI_STACK", "other")
    engine_of(small_plan(1)).up()
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE")
    assert not engine_of(small_plan(1)).up().changes
    assert not (tmp_path / "elsewhere").exists()
    assert os.environ["PULUMI_STACK"] == "other"


@pytest.mark.parametrize("stack", ["local", "platform"])
def test_a_stack_is_a_plain_pulumi_project_too(
    stack: str, pulumi: Path, port: int, tmp_path: Path, project_root: Path
) -> None:
    """The engine runs its `__main__.py` with the configuration of a plain project; only the language host differs."""
    spec = project_root / "examples" / "lab.yaml"
    entry = project_root / "stacks" / stack / "__main__.py"
    programs.load(stack)
    engine = Engine(
        StackHome("atlas", tmp_path / "atlas"),
        f"mlcluster-{stack}",
        lambda: runpy.run_path(str(entry), run_name="__main__"),
        SETTINGS,
        pulumi,
        {"kubernetes": port},
    )
    engine.open()
    settings = engine.home.project_directory(engine.project) / "Pulumi.atlas.yaml"
    given = {"spec": spec, "kubeconfig": "/absent", "clusterUid": "uid-1"}
    lines = [f"  mlcluster:{name}: {value}" for name, value in given.items()]
    settings.write_text(settings.read_text() + "\n".join(["config:", *lines, ""]))
    plan = build(load(spec).spec)
    expected = [item.id for item in (plan.resources if stack == "local" else plan.objects)]
    assert expected
    assert [change.id for change in engine.preview().items] == sorted(expected)


def test_asking_the_engine_for_its_version_leaves_no_log_in_the_users_home(engine_of: EngineOf) -> None:
    """Every command of the engine writes a log into its home; the default is that of the user database, not $HOME."""
    logs = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pulumi" / "logs"
    before = set(logs.glob("*-version.log"))
    _version.cache_clear()
    engine_of(small_plan(1)).preview()
    assert set(logs.glob("*-version.log")) - before == set()
