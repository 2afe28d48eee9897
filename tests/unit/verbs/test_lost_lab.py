"""Which stacks of a lab are forgotten when there is no such lab any more, and which are kept."""

from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab, labs_directory
from mlcluster.progress import Silent
from mlcluster.verbs.lost_lab import forget_lost, refuse_lost
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import home_of
from tests.fakes.remembering import reading_of

pytestmark = pytest.mark.unit


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)
    return reading_of(target={"kind": "local"})


def record(reading: Reading, *, lab: str, target: str = "local") -> StackHome:
    """A stack that holds something."""
    home = home_of(reading)
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
def test_the_stack_of_a_lab_that_is_gone_is_forgotten(reading: Reading, recorded: str) -> None:
    home = record(reading, lab=recorded)
    assert forget_lost(Lab("atlas"), reading, Silent())
    assert not home.root.exists()


@pytest.mark.parametrize(("recorded", "there"), [("earlier", "earlier"), ("", "any")])
def test_the_stack_of_another_lab_that_exists_is_kept(reading: Reading, recorded: str, there: str) -> None:
    home = record(reading, lab=recorded)
    make_lab(there)
    assert not forget_lost(Lab("atlas"), reading, Silent())
    refuse_lost(Lab("atlas"), reading, "uid-1")
    assert home.root.exists()


def test_the_stack_of_a_lab_that_does_not_run_is_kept(reading: Reading) -> None:
    home = record(reading, lab="atlas")
    make_lab("atlas")
    assert not forget_lost(Lab("atlas"), reading, Silent())
    assert home.root.exists()


@pytest.mark.parametrize("target", ["existing", "eks"])
def test_the_stack_of_another_target_is_kept(reading: Reading, target: str) -> None:
    home = record(reading, lab="", target=target)
    assert not forget_lost(Lab("atlas"), reading, Silent())
    refuse_lost(Lab("atlas"), reading, "uid-2")
    assert home.root.exists()


def test_a_state_in_a_shared_backend_is_kept(reading: Reading, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", f"file://{tmp_path}/shared")
    home_of(reading).record(StackSettings("uid-1", "builtin", "local", "atlas", "atlas"))
    assert not forget_lost(Lab("atlas"), reading, Silent())
    assert home_of(reading).settings() is not None


def test_a_lab_with_another_uid_is_told_to_commands_that_change_nothing(reading: Reading) -> None:
    record(reading, lab="atlas")
    refuse_lost(Lab("atlas"), reading, "uid-1")
    with pytest.raises(MlclusterError, match="The lab atlas was deleted") as caught:
        refuse_lost(Lab("atlas"), reading, "uid-2")
    assert "mlcluster up" in str(caught.value.hint)
