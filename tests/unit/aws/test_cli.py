"""The AWS CLI on PATH: real executables that print the output of an AWS CLI."""

import time
from pathlib import Path

import psutil
import pytest

from mlcluster.aws.cli import AwsCli, find_aws_cli, fits, parse

pytestmark = pytest.mark.unit


def _probe(directory: Path, script: str, seconds: float = 60.0) -> AwsCli:
    program = directory / "aws"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return find_aws_cli(seconds, lambda _name: str(program))


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("aws-cli/2.7.0 Python/3.9.11 Linux/6.1 exe/x86_64.debian.12 prompt/off", (2, 7, 0)),
        ("aws-cli/2.31.13 Python/3.13.7 Darwin/24.6.0 exe/arm64", (2, 31, 13)),
        ("aws-cli/1.24.0 Python/3.8.8 Linux/5.4 botocore/1.26.0", (1, 24, 0)),
        ("aws-cli/3.0.0 Python/3.14.0", (3, 0, 0)),
    ],
)
def test_accepted_versions(output: str, version: tuple[int, int, int], tmp_path: Path) -> None:
    found = _probe(tmp_path, f"echo '{output}'")
    assert (found.version, found.problem, found.path) == (version, "", tmp_path / "aws")


@pytest.mark.parametrize(
    "output",
    ["aws-cli/2.6.0 Python/3.9.11 Linux/6.1", "aws-cli/1.23.13 Python/3.8.8 Linux/5.4", "aws-cli/0.9.0 Python/2.7"],
)
def test_rejected_versions(output: str, tmp_path: Path) -> None:
    found = _probe(tmp_path, f"echo '{output}'")
    assert found.version is not None
    assert found.problem.endswith(
        f"is AWS CLI {output.split(maxsplit=1)[0].removeprefix('aws-cli/')}, which is too old"
    )


def test_output_without_a_version(tmp_path: Path) -> None:
    assert _probe(tmp_path, "echo 'hello there'").problem.endswith("printed 'hello there' instead of a version")
    assert _probe(tmp_path, "echo 'aws-cli/2.7.0' >&2").problem.endswith("printed '' instead of a version")
    assert _probe(tmp_path, "head -c 4000 /dev/zero | tr '\\0' '\\377'").version is None


def test_failing_program(tmp_path: Path) -> None:
    found = _probe(tmp_path, "echo 'ImportError: no module named awscli' >&2; exit 3")
    assert found.problem.endswith("failed with exit code 3: ImportError: no module named awscli")


def test_hanging_program_is_killed_with_its_children(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    found = _probe(tmp_path, f'sleep 600 &\necho $! > "{marker}"\nwait', seconds=2.0)
    assert found.problem.endswith("did not finish within 2 s")
    assert found.version is None
    pid = int(marker.read_text("utf-8"))
    for _ in range(200):  # the kernel ends a killed process a moment after the signal
        if not _is_alive(pid):
            break
        time.sleep(0.05)
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_program_that_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "aws").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    (tmp_path / "aws").chmod(0o755)
    assert "failed with exit code 126" in find_aws_cli(1.0, lambda _name: str(tmp_path / "aws")).problem


def test_no_program_on_path() -> None:
    assert find_aws_cli(1.0, lambda _name: None) == AwsCli(None, None, "the AWS CLI (`aws`) is not on PATH")


def test_minimum_versions_of_the_eks_component() -> None:
    assert [fits(one) for one in ((1, 23, 9), (1, 24, 0), (2, 6, 9), (2, 7, 0))] == [False, True, False, True]
    assert parse("") is None
