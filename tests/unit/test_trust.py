"""Directories and programs that another user of the machine can change."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab, labs_directory, list_labs
from mlcluster.lab.toolchain import find, find_tool, pins
from mlcluster.lab.toolchain.find import directory, on_path
from mlcluster.trust import is_open_to_all, require_trusted
from tests.strangers import NOBODY, as_root

pytestmark = pytest.mark.unit

USES: dict[str, Callable[[], object]] = {
    "labs": labs_directory,
    "a lab": lambda: Lab("one"),
    "the list of labs": list_labs,
    "a stack": lambda: StackHome("one"),
    "the toolchain": find,
    "one program": lambda: find_tool("helm"),
    "its directory": directory,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the state and the cache of a user, both in one directory."""
    found = tmp_path / "shared"
    found.mkdir()
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(found / "state"))
    monkeypatch.setenv("MLCLUSTER_CACHE_DIR", str(found / "state"))
    return found


def refused(use: Callable[[], object]) -> MlclusterError:
    with pytest.raises(MlclusterError) as caught:
        use()
    return caught.value


@pytest.mark.parametrize("use", USES)
def test_a_directory_of_the_user_is_used(place: Path, use: str) -> None:
    USES[use]()
    (place / "state").mkdir(exist_ok=True)
    (place / "state").chmod(0o775)
    USES[use]()
    assert stat.S_IMODE((place / "state").stat().st_mode) == 0o775


@pytest.mark.parametrize("use", USES)
def test_a_world_writable_directory_is_refused_with_a_fix(place: Path, use: str) -> None:
    (place / "state").mkdir()
    (place / "state").chmod(0o777)
    error = refused(USES[use])
    assert error.happened == f"each user of this machine can change what is in {place / 'state'}"
    assert f"`chmod o-w {place / 'state'}` closes it" in error.hint
    (place / "state").chmod(0o1777)
    USES[use]()  # as /tmp: each user replaces what is theirs


@pytest.mark.parametrize("use", USES)
def test_a_parent_that_all_users_can_write_to_is_refused(place: Path, use: str) -> None:
    place.chmod(0o777)
    assert str(place) in refused(USES[use]).happened


@as_root
@pytest.mark.parametrize("use", USES)
def test_a_directory_of_another_user_is_refused(place: Path, use: str) -> None:
    (place / "state").mkdir(mode=0o755)
    os.chown(place / "state", NOBODY, NOBODY)
    assert f"belongs to user {NOBODY}" in refused(USES[use]).happened


@as_root
def test_root_trusts_the_owner_of_its_home(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sudo and in containers of CI systems, root has the home directory of another user."""
    home = place / "state"
    home.mkdir(mode=0o755)
    os.chown(home, NOBODY, NOBODY)
    monkeypatch.setenv("HOME", str(home))
    assert require_trusted(home / "cache", "testing", "ANY") == home / "cache"
    other = place / "other"
    other.mkdir()
    os.chown(other, NOBODY + 1, NOBODY + 1)
    with pytest.raises(MlclusterError, match="belongs to user"):
        require_trusted(other, "testing", "ANY")


@as_root
def test_a_directory_that_another_user_made_first_in_tmp_is_refused(place: Path) -> None:
    """Names below a state directory are no secret, so another user can be quicker in a directory like /tmp."""
    place.chmod(0o1777)
    (place / "state").mkdir()
    (place / "state").chmod(0o1777)
    (place / "state" / "labs").mkdir()
    os.chown(place / "state" / "labs", NOBODY, NOBODY)
    assert "labs belongs to" in refused(labs_directory).happened


@as_root
def test_a_link_of_another_user_is_refused_for_every_target(place: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    place.chmod(0o1777)
    (place / "state").symlink_to(tmp_path / "own")
    labs_directory()
    os.chown(place / "state", NOBODY, NOBODY, follow_symlinks=False)
    assert f"state belongs to user {NOBODY}" in refused(labs_directory).happened


def test_a_link_into_an_open_directory_is_refused(place: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (place / "state").symlink_to(tmp_path / "open")
    assert f"{tmp_path / 'open'}" in refused(labs_directory).happened


def test_a_missing_directory_is_judged_by_its_nearest_parent(tmp_path: Path) -> None:
    assert require_trusted(tmp_path / "a" / "b", "looking", "VARIABLE") == tmp_path / "a" / "b"
    tmp_path.chmod(0o777)
    error = refused(lambda: require_trusted(tmp_path / "a" / "b", "looking", "VARIABLE"))
    assert "a directory of your own with VARIABLE" in error.hint


# --- programs on PATH


@pytest.mark.parametrize("open_part", ["program", "directory", "target"])
def test_a_program_that_all_users_can_replace_is_not_run(tmp_path: Path, open_part: str) -> None:
    tools, target = tmp_path / "tools", tmp_path / "target"
    tools.mkdir()
    target.mkdir()
    ran, program = tmp_path / "ran", target / "helm"
    program.write_text(f"#!/bin/sh\ntouch {ran}\necho v3.22.0\n")
    program.chmod(0o755)
    (tools / "helm").symlink_to(program)
    tool = next(found for found in pins.TOOLS if found.name == "helm")
    assert not is_open_to_all(tools / "helm")
    {"program": program, "directory": tools, "target": target}[open_part].chmod(0o777)
    assert is_open_to_all(tools / "helm")
    assert on_path(tool, lambda _: str(tools / "helm")) is None
    assert not ran.exists()


# --- what mlcluster writes


def test_no_file_is_open_to_all_users_with_any_umask(tmp_path: Path, project_root: Path) -> None:
    argv = ["mlcluster", "init", "one.yaml"]
    code = f"import os, sys; os.umask(0); sys.argv = {argv}; from mlcluster.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(project_root), "MLCLUSTER_STATE_DIR": str(tmp_path / "state")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = [path for path in tmp_path.rglob("*") if not path.is_symlink()]
    assert tmp_path / "one.yaml" in written
    assert not [path for path in written if path.stat().st_mode & 0o002]
