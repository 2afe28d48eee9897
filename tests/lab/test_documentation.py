"""The commands in README and docs: blocks marked `sh` run unchanged and in order, and each must succeed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlcluster.lab.toolchain import find_tool
from tests.lab.example import EXAMPLES, Cluster

pytestmark = pytest.mark.lab
PAGES = ("docs/submit.md", "docs/operating.md", "docs/lab.md", "docs/existing.md", "README.md")
"""Those of eks need no lab: tests/golden/test_eks_documentation.py runs them."""
TUTORIAL = "docs/tutorial.md"
"""Runs as a whole in tests/lab/test_tutorial.py; here, on the example's lab, the parts that create no cluster."""
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SET_UP = ("make ", ". .venv/")
"""Commands that the test run itself has already executed."""


def commands(page: str) -> list[str]:
    """Return the commands of a page's `sh` blocks, without comments and without the set-up."""
    lines = [line.partition("  #")[0].rstrip() for block in BLOCK.findall(page) for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", *SET_UP))]


@pytest.fixture(scope="module")
def shell(example: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """As after `make lab`: the example is up, its tour has been walked; a copy of the checkout to work in."""
    work = tmp_path_factory.mktemp("reader") / "mlcluster"
    shutil.copytree(EXAMPLES, work / "examples")
    kubectl = find_tool("kubectl")
    assert kubectl is not None
    path = f"{Path(sys.executable).parent}:{kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MLCLUSTER_STATE_DIR": str(example.state), "PWD": str(work)}
    _run(["sh", "examples/tour.sh"], environment)
    return {**environment, "KUBECONFIG": str(example.kubeconfig)}


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, cwd=environment["PWD"],
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_job_of_the_documentation_is_admitted(project_root: Path, shell: dict[str, str]) -> None:
    """The manifest in docs/submit.md is one that the cluster takes."""
    page = (project_root / "docs" / "submit.md").read_text("utf-8")
    manifest = re.search(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert manifest is not None
    done = subprocess.run(
        ["kubectl", "apply", "--dry-run=server", "-f", "-"],
        check=False, input=manifest[1], capture_output=True, text=True, env=shell,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_tutorial_lists_queues_and_submits_a_job(project_root: Path, shell: dict[str, str]) -> None:
    page = (project_root / TUTORIAL).read_text("utf-8")
    part = page[page.index("\n## 5. ") : page.index("\n## 7. ")]
    found = [command for command in commands(part) if command.startswith("mlcluster lab kubectl -- ")]
    assert len(found) >= 5
    for command in found:
        _run(["sh", "-euc", command], shell)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run(project_root: Path, shell: dict[str, str], page: str) -> None:
    found = commands((project_root / page).read_text("utf-8"))
    for command in found:
        _run(["sh", "-euc", command], shell)
    assert found or "```sh" not in (project_root / page).read_text("utf-8")
