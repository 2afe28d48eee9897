"""Another user of this machine, for tests of attacks by that user. Only root can start processes as another user."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NOBODY = 65534
_USER = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
_READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def _becomes_another() -> bool:
    """Return whether this process can start others as another user: containers often take capabilities from root.

    CI must have setpriv (util-linux): without it the tests run and fail there.
    """
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return os.geteuid() == 0 and bool(os.environ.get("CI"))
    tried = subprocess.run([setpriv, *_USER, *_READING, "true"], capture_output=True, check=False)
    return tried.returncode == 0


as_root = pytest.mark.skipif(
    not _becomes_another(),
    reason="Expected for a user who is not root, and in a container without its capabilities: "
    "this process cannot become another user",
)
"""For an attack by another user. Each has a second test of the same mechanism that any user can run."""


def run_as_stranger(code: str, *arguments: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run Python code as uid 65534, which may read the interpreter and its packages wherever they are, nothing else."""
    return subprocess.run(
        ["setpriv", *_USER, *_READING, sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, timeout=seconds, check=False, cwd=Path(__file__).parents[1],
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip


def shell_as_stranger(script: str, *arguments: str, seconds: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run a shell script as uid 65534 without any capability."""
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *arguments],
        user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
        capture_output=True, text=True, timeout=seconds, check=False, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
