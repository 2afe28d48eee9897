"""`mlcluster lab ...` beside a run, without a terminal, and in a state directory that is none."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mlcluster.cli import app
from mlcluster.engine.home import StackHome
from mlcluster.engine.run_lock import RunInProgressError, run_lock
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import ExitCode, MlclusterError

pytestmark = pytest.mark.unit


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def _error(*arguments: str) -> BaseException | None:
    return CliRunner().invoke(app, ["lab", *arguments]).exception


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize("verb", [["stop"], ["reset", "--yes"]])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_lab_under_a_run_is_left_alone(verb: list[str], *, recorded: bool) -> None:
    """Before the first record a stack's lab has the name of the stack."""
    home = StackHome("research" if recorded else "atlas")
    if recorded:
        home.record(StackSettings("uid-1", "builtin", "local", "research", "atlas"))
    with run_lock(home, "up"):
        assert isinstance(_error(*verb, "--name", "atlas"), RunInProgressError)
        assert _error(*verb, "--name", "other") is None
    assert _error(*verb, "--name", "atlas") is None


@pytest.mark.usefixtures("state")
def test_a_deletion_is_confirmed_on_a_terminal() -> None:
    error = _error("reset")
    assert isinstance(error, MlclusterError)
    assert (error.exit_code, error.hint) == (ExitCode.USAGE, "Add `--yes`.")


@pytest.mark.parametrize("verb", [["status"], ["stop"], ["reset", "--yes"]])
def test_a_state_directory_that_is_a_file_is_named(verb: list[str], state: Path) -> None:
    state.write_text("")
    error = _error(*verb, "--name", "atlas")
    assert isinstance(error, MlclusterError)
    assert str(state) in error.happened
    assert "MLCLUSTER_STATE_DIR" in error.hint
