"""Which tests share a worker, and in which order groups start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scheduling import Groups

pytestmark = pytest.mark.unit
GROUPS = Groups(parts={"late first": ("test_c.py", "sub/test_a.py::test_one")}, longest_first=("test_z.py",))


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/lab/test_c.py::test_x[1]", "late first"),
        ("tests/lab/sub/test_a.py::test_one[a::b]", "late first"),
        ("tests/lab/sub/test_a.py::test_two", "sub/test_a.py"),
        ("tests/lab/test_b.py::test_x", "test_b.py"),
    ],
)
def test_a_test_belongs_to_a_named_group_or_to_its_file(nodeid: str, group: str) -> None:
    assert GROUPS.group_of(nodeid) == group


def test_without_files_every_other_test_is_a_group() -> None:
    alone = Groups(parts=GROUPS.parts, longest_first=(), by_file=False)
    assert alone.group_of("tests/lab/test_b.py::test_x[1]") == "test_b.py::test_x[1]"
    assert alone.group_of("tests/lab/test_c.py::test_x") == "late first"


CONFTEST = """
from tests.scheduling import Groups
GROUPS = Groups(parts={"pair": ("test_c.py", "test_a.py")}, longest_first=("test_z.py", "pair"))
def pytest_collection_modifyitems(items): GROUPS.sort(items)
def pytest_xdist_make_scheduler(config, log): return GROUPS.scheduler(config, log)
"""
TEST = """
import os, pathlib
def note(name):
    with (pathlib.Path(__file__).parent / "log").open("a") as log:
        log.write(f"{os.environ['PYTEST_XDIST_WORKER']} {name}\\n")
"""


def test_groups_keep_their_worker_and_their_order(project_root: Path, tmp_path: Path) -> None:
    """A run of pytest-xdist with two workers."""
    folder = tmp_path / "tests" / "lab"
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    for name in "abcz":
        tests = [f"def test_{number}(): note('{name}')" for number in range(3)]
        (folder / f"test_{name}.py").write_text("\n".join([TEST, *tests]))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "tests/lab"],
        check=False, capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": str(project_root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [line.split() for line in (folder / "log").read_text().splitlines()]
    workers = {name: {worker for worker, test in ran if test == name} for name in "abcz"}
    assert all(len(found) == 1 for found in workers.values())
    assert workers["a"] == workers["c"] != workers["z"]
    assert [name for worker, name in ran if {worker} == workers["c"] and name in "ac"] == [*"cccaaa"]
    assert [name for worker, name in ran if {worker} == workers["z"]][:3] == [*"zzz"]
