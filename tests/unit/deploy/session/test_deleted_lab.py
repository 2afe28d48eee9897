"""Which stacks of a lab are forgotten when there is no such lab any more, and which are kept."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mlcluster.deploy.session.deleted_lab import forget_lost, refuse_lost
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab, labs_directory
from mlcluster.progress import Silent
from tests.fakes.remembering import workspace_of

pytestmark = pytest.mark.unit


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)
    return workspace_of(target={"kind": "local"})


def record(workspace: Workspace, *, lab: str, target: str = "local") -> StackHome:
    """A stack that holds something."""
    home = home_of(workspace)
    home.record(StackSettings("uid-1", "builtin", target, "atlas", lab))
    state = home.checkpoint("mlcluster-platform")
    assert state is not None
    state.parent.mkdir(parents=True)
    state.write_text("{}")
    return home


def make_lab(name: str) -> None:
    """Data of a lab: it exists, whether it runs or not."""
    (labs_directory() / name / "pki").mkdir(parents=True)


@pytest.mark.parametrize("recorded", ["atlas", "earlier", ""])
def test_the_stack_of_a_lab_that_is_gone_is_forgotten(workspace: Workspace, recorded: str) -> None:
    home = record(workspace, lab=recorded)
    assert forget_lost(Lab("atlas"), workspace, Silent())
    assert not home.root.exists()


@pytest.mark.parametrize(("recorded", "there"), [("earlier", "earlier"), ("", "any")])
def test_the_stack_of_another_lab_that_exists_is_kept(workspace: Workspace, recorded: str, there: str) -> None:
    home = record(workspace, lab=recorded)
    make_lab(there)
    assert not forget_lost(Lab("atlas"), workspace, Silent())
    refuse_lost(Lab("atlas"), workspace, "uid-1")
    assert home.root.exists()


def test_the_stack_of_a_lab_that_does_not_run_is_kept(workspace: Workspace) -> None:
    home = record(workspace, lab="atlas")
    make_lab("atlas")
    assert not forget_lost(Lab("atlas"), workspace, Silent())
    assert home.root.exists()


@pytest.mark.parametrize("target", ["existing", "eks"])
def test_the_stack_of_another_target_is_kept(workspace: Workspace, target: str) -> None:
    home = record(workspace, lab="", target=target)
    assert not forget_lost(Lab("atlas"), workspace, Silent())
    refuse_lost(Lab("atlas"), workspace, "uid-2")
    assert home.root.exists()


def test_a_state_in_a_shared_backend_is_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", f"file://{tmp_path}/shared")
    home_of(workspace).record(StackSettings("uid-1", "builtin", "local", "atlas", "atlas"))
    assert not forget_lost(Lab("atlas"), workspace, Silent())
    assert home_of(workspace).settings() is not None


def test_a_lab_with_another_uid_is_told_to_commands_that_change_nothing(workspace: Workspace) -> None:
    record(workspace, lab="atlas")
    refuse_lost(Lab("atlas"), workspace, "uid-1")
    with pytest.raises(MlclusterError, match="The lab atlas was deleted") as caught:
        refuse_lost(Lab("atlas"), workspace, "uid-2")
    assert "mlcluster up" in str(caught.value.hint)


def test_a_stack_that_may_still_be_held_is_not_forgotten(workspace: Workspace) -> None:
    """Its engine would write state and lock again, without settings and passphrase."""
    home = record(workspace, lab="atlas")
    state = home.checkpoint("mlcluster-platform")
    assert state is not None
    lock = state.parents[2] / "locks" / "organization" / "mlcluster-platform" / "atlas" / "one.json"
    lock.parent.mkdir(parents=True)
    now = datetime.now(UTC).isoformat()
    lock.write_text(json.dumps({"pid": 7, "username": "me", "hostname": "elsewhere", "timestamp": now}))
    with pytest.raises(MlclusterError, match="pid 7 of me@elsewhere"):
        forget_lost(Lab("atlas"), workspace, Silent())
    assert state.exists()


def test_a_lab_that_was_renamed_is_the_same_lab(workspace: Workspace) -> None:
    record(workspace, lab="earlier")
    refuse_lost(Lab("atlas"), workspace, "uid-1")
    with pytest.raises(MlclusterError, match="The lab earlier was deleted"):
        refuse_lost(Lab("atlas"), workspace, "uid-2")


@pytest.mark.parametrize("recorded", ["atlas", "earlier"])
@pytest.mark.parametrize("mounted", [False, True])
def test_a_disk_that_is_not_mounted_is_no_proof(workspace: Workspace, recorded: str, *, mounted: bool) -> None:
    home = record(workspace, lab=recorded)
    place = labs_directory() / recorded
    place.parent.mkdir(parents=True)
    if mounted:
        place.mkdir()
    else:
        place.symlink_to(place.parent / "disk")
    assert not forget_lost(Lab("atlas"), workspace, Silent())
    assert home.root.exists()
