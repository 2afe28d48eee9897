"""What `up` and `down` do before they start anything on this machine: check, name it, ask."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcluster.commands.down import down
from mlcluster.commands.preview import preview
from mlcluster.commands.up import UpOptions, up
from mlcluster.deploy.preview.changes import planned_size
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.deploy.teardown.teardown import TeardownOptions
from mlcluster.engine.run_lock import RunInProgressError
from mlcluster.errors import ExitCode, MlclusterError
from stacks.registration import platform_entries

pytestmark = pytest.mark.unit


class Terminal(io.StringIO):
    """A user who does something before each answer."""

    def __init__(self, *lines: str, before: Callable[[], object] = lambda: None) -> None:
        super().__init__("".join(f"{line}\n" for line in lines))
        self._before = before

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override] # typeshed ignores it in StringIO too
        self._before()
        return super().readline(-1 if size is None else size)


@pytest.fixture
def spec(tmp_path: Path, project_root: Path) -> Path:
    """A cluster on a lab that was never started."""
    path = tmp_path / "my lab.yaml"
    path.write_text((project_root / "examples" / "lab.yaml").read_text("utf-8"), "utf-8")
    return path


def state() -> list[Path]:
    """Every file that is left in the state directory."""
    return [path for path in Path(os.environ["MLCLUSTER_STATE_DIR"]).rglob("*") if path.is_file()]


def options(spec: Path, *, yes: bool = False) -> UpOptions:
    return UpOptions(spec, "text", yes, (), refresh=True)


def test_without_a_terminal_up_ends_before_anything_starts(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(MlclusterError, match="there is no terminal to ask on") as caught:
        up(options(spec))
    assert caught.value.exit_code is ExitCode.USAGE
    assert not Path(os.environ["MLCLUSTER_STATE_DIR"]).exists()


def test_no_starts_nothing(spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("maybe", "n"))
    assert up(options(spec)) is ExitCode.DECLINED
    said = capsys.readouterr().err
    size = planned_size(load_workspace(spec))
    assert "The lab lab is not running. This starts on this machine: etcd, kube-apiserver, " in said
    assert ", kwok, kueue.\n" in said
    assert f"{size} resources are planned, not previewed: the lab is not running. `mlcluster plan '" in said
    assert said.count(f"Start the lab lab and create these {size} resources? [y/N] ") == 2
    assert said.endswith("nothing was changed\n")
    assert state() == []


def test_a_second_up_is_told_while_the_first_asks(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    others: list[Callable[[], object]] = [
        lambda: up(options(spec, yes=True)),
        lambda: down(spec, "text", TeardownOptions(yes=True)),
    ]

    def another() -> None:
        for run in others:
            with pytest.raises(RunInProgressError) as caught:
                run()
            told.append(caught.value.happened)

    monkeypatch.setattr("sys.stdin", Terminal("n", before=another))
    assert up(options(spec)) is ExitCode.DECLINED
    assert len(told) == 2
    assert all(f"pid {os.getpid()} of " in text for text in told)


def test_preview_names_a_run_that_is_in_progress(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mlcluster.deploy.session.session.tools_of", lambda *_: Tools(Path("pulumi"), None))
    monkeypatch.setattr("sys.stdin", Terminal("n", before=lambda: preview(spec, "text", refresh=True)))
    up(options(spec))
    captured = capsys.readouterr()
    assert "Another run is in progress: `" in captured.err
    assert "planned, not previewed: no cluster yet; " in captured.out


@pytest.mark.parametrize("name", ["lab", "lab-components", "existing", "existing-roce", "tiers", "sharing"])
def test_what_is_planned_is_what_the_stacks_register(name: str, project_root: Path) -> None:
    """A release that runs as a process of the lab is no resource: `preview` counted it, `up` did not."""
    workspace = load_workspace(project_root / "examples" / f"{name}.yaml")
    plan = workspace.plan
    entries, _ = platform_entries(plan.objects, plan.releases, None)
    nodes = len(plan.resources) if plan.cluster.target == "local" else 0
    assert planned_size(workspace) == len(plan.registered) == len(entries) + nodes
