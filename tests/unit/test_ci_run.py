"""`.ci/run`: the time of each tier, the skipped tests and the limit, around a `make` that the test writes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit


def run(
    project_root: Path, place: Path, *, log: str, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the script with a `make` that appends `log` to the tiers' log, prints a closing line and ends with `code`."""
    make = place / "make"
    make.write_text(f'#!/bin/sh\nprintf "{log}" >> "$TIER_LOG"\necho "$@: 198 passed in 7.00s"\nexit {code}\n')
    make.chmod(0o755)
    path = f"{place}:{os.environ['PATH']}"
    return subprocess.run(
        [project_root / ".ci" / "run"],
        check=False, capture_output=True, text=True, env={**os.environ, "PATH": path, **environment},
    )  # fmt: skip


def test_the_time_of_each_tier_follows_the_lines_of_the_tests(project_root: Path, tmp_path: Path) -> None:
    done = run(project_root, tmp_path, log="tier lint 2 0\\ntier lab 700 0\\n")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "test: 198 passed in 7.00s"
    assert ["lint", "2"] in [line.split() for line in lines]
    assert ["lab", "700"] in [line.split() for line in lines]
    assert "No test was skipped." in lines
    assert "WARNING" not in done.stdout


def test_a_failed_tier_keeps_its_exit_code_and_its_time(project_root: Path, tmp_path: Path) -> None:
    done = run(project_root, tmp_path, log="tier lint 2 0\\ntier unit 46 1\\n", code=2)
    assert done.returncode == 2
    assert [line.split(maxsplit=2) for line in done.stdout.splitlines() if line.startswith("unit")] == [
        ["unit", "46", "failed (exit code 1)"]
    ]


def test_skipped_tests_are_listed(project_root: Path, tmp_path: Path) -> None:
    done = run(project_root, tmp_path, log="tier lab 700 0\\nskipped tests/lab/test_x.py::test_y: no reference\\n")
    assert "Skipped tests:\n  tests/lab/test_x.py::test_y: no reference\n" in done.stdout


def test_a_run_over_the_limit_ends_with_a_warning(project_root: Path, tmp_path: Path) -> None:
    done = run(project_root, tmp_path, log="tier lab 700 0\\n", CI_LIMIT_MINUTES="0")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("WARNING: the tests took 0 minutes in all; the limit is 0.")


@pytest.mark.parametrize("passes", [True, False])
def test_make_records_a_tier_that_passes_or_fails(project_root: Path, tmp_path: Path, passes: bool) -> None:
    """The real Makefile with a `ruff` that the test writes."""
    ruff = tmp_path / "bin" / "ruff"
    ruff.parent.mkdir()
    ruff.write_text(f"#!/bin/sh\nexit {0 if passes else 3}\n")
    ruff.chmod(0o755)
    log = tmp_path / "log"
    path = f"{ruff.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["make", "-f", project_root / "Makefile", "-C", tmp_path, "-o", "install", f"PATH={path}", "lint"],
        check=False, capture_output=True, text=True, env={**os.environ, "TIER_LOG": str(log)},
    )  # fmt: skip
    assert (done.returncode == 0) is passes
    assert [line.split()[0::3] for line in log.read_text().splitlines()] == [["tier", "0" if passes else "3"]]
    assert "== lint: " in done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_pytest_records_each_skipped_test_once(project_root: Path, tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_one(): pytest.skip('Expected without\\nfiles')\n"
        "@pytest.mark.skip(reason='Expected today')\n"
        "def test_two(): ...\n"
        "def test_three(): ...\n"
    )
    log = tmp_path / "log"
    done = _pytest(project_root, tmp_path, "-n", workers, TIER_LOG=str(log))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(log.read_text().splitlines()) == [
        "skipped test_some.py::test_one: Expected without files",
        "skipped test_some.py::test_two: Expected today",
    ]


@pytest.mark.parametrize(
    "test",
    [
        "def test_one(): pytest.skip('no such tool')",
        "@pytest.mark.skip(reason='not today')\ndef test_one(): ...",
        "pytest.skip('Expected today', allow_module_level=True)",
        "pytest.importorskip('no_such_module')",
    ],
)
def test_a_skip_without_the_place_where_it_is_expected_fails(project_root: Path, tmp_path: Path, test: str) -> None:
    (tmp_path / "test_some.py").write_text(f"import pytest\n{test}\n")
    done = _pytest(project_root, tmp_path)
    assert done.returncode in {1, 2}, done.stdout + done.stderr
    assert "skip" in done.stdout


def _pytest(
    project_root: Path, directory: Path, *options: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a directory with the hooks of the project."""
    variables = {**os.environ, "PYTHONPATH": str(project_root), **environment}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        *options,
        "test_some.py",
    ]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=directory, env=variables)
