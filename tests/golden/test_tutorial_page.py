"""docs/tutorial.md: commands parse, offline commands run, and `validate` and `plan` print the documented output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.test_documentation import TUTORIAL, commands
from tests.unit.test_commands_in_texts import trouble

pytestmark = pytest.mark.golden

SHOWN = re.compile(r"^```sh\n(mlcluster [^\n]+)\n```\n\n```\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A single command, and its output."""


@pytest.fixture(scope="module")
def page(project_root: Path) -> str:
    return (project_root / TUTORIAL).read_text("utf-8")


def offline(page: str) -> list[str]:
    """Return the commands before the first `up`, and the change of the spec after it."""
    found = commands(page)
    first_up = next(number for number, command in enumerate(found) if command.startswith("mlcluster up"))
    return [*found[:first_up], *(command for command in found if command.startswith("sed "))]


def missing(shown: str, printed: str) -> str:
    """Return the first part of a shown output that is not printed, in order; "" when all of it is."""
    position = 0
    for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        found = printed.find(part, position)
        if found < 0:
            return part
        position = found + len(part)
    return ""


def run(command: str, directory: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "132"}
    done = subprocess.run(
        ["sh", "-euc", command], check=False, capture_output=True, text=True, cwd=directory, env=environment,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_every_command_parses(page: str) -> None:
    found = [command for command in commands(page) if command.startswith("mlcluster ")]
    assert len(found) > 15
    assert {command: told for command in found if (told := trouble(command))} == {}


def test_offline_commands_print_the_output_on_the_page(page: str, tmp_path: Path) -> None:
    shown = dict(SHOWN.findall(page))
    printed = {command: run(command, tmp_path) for command in offline(page)}
    compared = {command: missing(shown[command], text) for command, text in printed.items() if command in shown}
    assert compared == {"mlcluster validate tutorial.yaml": "", "mlcluster plan tutorial.yaml": ""}


def test_the_job_that_waits_fits_after_the_change(page: str, tmp_path: Path) -> None:
    """The change of step 7 lets team products borrow 8 GPUs, and nothing else of the plan's quotas changes."""
    *before, change = offline(page)
    for command in before:
        run(command, tmp_path)
    first = run("mlcluster plan tutorial.yaml", tmp_path).splitlines()
    run(change, tmp_path)
    second = run("mlcluster plan tutorial.yaml", tmp_path).splitlines()
    changed = [(old.split(), new.split()) for old, new in zip(first, second, strict=True) if old != new]
    assert changed == [(["train", "gpu", "24", "38%", "0", "16"], ["train", "gpu", "24", "38%", "8", "16"])]


def test_output_that_is_not_printed_is_found() -> None:
    assert missing("a\n...\nc\n", "a\nb\nc\n") == ""
    assert missing("c\n...\na\n", "a\nb\nc\n") == "a\n"
