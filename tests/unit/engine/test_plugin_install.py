"""The engine process that installs a plugin ends with the command, and its file changes cause no error."""

import time
from pathlib import Path

import psutil
import pytest

from mlcluster.engine import plugin_install
from mlcluster.engine.plugin_install import install_plugin
from mlcluster.engine.plugin_pins import PluginPin
from mlcluster.errors import MlclusterError
from mlcluster.progress import SilentTask

pytestmark = pytest.mark.unit
AWS = PluginPin("aws", "7.51.1", ("x",))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the user's Pulumi home, and a short interval between checks of its size."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(plugin_install, "_LOOK_EVERY", 0.05)
    monkeypatch.setattr(plugin_install, "_END_SECONDS", 0.5)
    return tmp_path / "home"


def _engine(directory: Path, *lines: str) -> Path:
    program = directory / "pulumi"
    program.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    program.chmod(0o755)
    return program


class Interrupting(SilentTask):
    """A task during which the user presses Ctrl-C, once the engine has written its pid."""

    def __init__(self, pid: Path) -> None:
        self._pid = pid

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        del note, done, total
        while not (self._pid.is_file() and self._pid.read_text()):
            time.sleep(0.01)
        raise KeyboardInterrupt


@pytest.mark.parametrize("obeys", [True, False])
def test_ctrl_c_during_progress_ends_the_engine(tmp_path: Path, *, obeys: bool) -> None:
    pid = tmp_path / "pid"
    binary = _engine(tmp_path, ":" if obeys else "trap '' TERM", f"echo $$ > {pid}", "exec sleep 600")
    with pytest.raises(KeyboardInterrupt):
        install_plugin(binary, AWS, None, Interrupting(pid))
    assert not psutil.pid_exists(int(pid.read_text()))


def test_a_file_that_disappears_during_counting(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine unpacks and renames files, so a file can disappear while its size is read."""
    folder = home / "plugins" / "resource-aws-v7.51.1"
    folder.mkdir(parents=True)
    (folder / "unpacked").write_text("x")
    gone = tmp_path / "gone"
    real = Path.is_file

    def vanishing(path: Path) -> bool:
        found = real(path)
        if path.name == "unpacked":
            path.unlink(missing_ok=True)
            gone.touch()
        return found

    monkeypatch.setattr(Path, "is_file", vanishing)
    binary = _engine(
        tmp_path, f"while [ ! -e {gone} ]; do sleep 0.05; done", "echo error: told by the engine", "exit 1"
    )
    with pytest.raises(MlclusterError, match="told by the engine"):
        install_plugin(binary, AWS, None, SilentTask())
