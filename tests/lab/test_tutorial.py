"""The whole of docs/tutorial.md, from `init` to `down`, on a lab of its own.

`make test` runs less of it: tests/golden/test_tutorial_page.py its offline commands, tests/lab/test_documentation.py
those that look around and submit a Job.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.example import EXAMPLES
from tests.lab.test_documentation import TUTORIAL, commands
from tests.lab.workloads import environment

pytestmark = [pytest.mark.lab, pytest.mark.soak]


@pytest.mark.usefixtures("toolchain")
def test_the_whole_tutorial_runs(project_root: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {**environment(tmp_path / "state"), "PATH": path}
    found = commands((project_root / TUTORIAL).read_text("utf-8"))
    assert found[0].startswith("mlcluster init")
    assert found[-1].startswith("mlcluster down")
    try:
        for command in found:
            done = subprocess.run(
                ["sh", "-euc", command], check=False, capture_output=True, text=True, cwd=tmp_path,
                env=surroundings, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert not (tmp_path / "state" / "labs" / "lab").exists()
    finally:
        subprocess.run(
            ["sh", "-euc", found[-1]], check=False, cwd=tmp_path, env=surroundings, stdin=subprocess.DEVNULL,
        )  # fmt: skip
