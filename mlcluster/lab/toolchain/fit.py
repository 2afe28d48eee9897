"""Check whether a program on PATH has a version that fits the pin."""

import json
import os
import re
import subprocess
from pathlib import Path

from mlcluster.directories import cache_directory

Version = tuple[int, int, int]
_NUMBERS = re.compile(r"\bv?(\d+)\.(\d+)(?:\.(\d+))?(?P<rest>[-+.\w]*)")
_ASK = {
    "etcd": ("--version",),
    "kube-apiserver": ("--version",),
    "kube-controller-manager": ("--version",),
    "kube-scheduler": ("--version",),
    "kubectl": ("version", "--client"),
    "kwok": ("--version",),
    "helm": ("version", "--short"),
    "pulumi": ("version",),
    # kueue tells no version: its --help is that of its libraries. So one on PATH is never taken.
}
# The automation API of our Pulumi SDK range talks to these engines; keep in step with pyproject.toml.
PULUMI_RANGE = ((3, 259, 0), (3, 280, 0))
_SECONDS_TO_ANSWER = 20.0


def parse(text: str) -> Version | None:
    """The first version number in what a program says about itself; None without one or for a pre-release."""
    found = _NUMBERS.search(text)
    if found is None or found["rest"].startswith("-"):
        return None
    return int(found[1]), int(found[2]), int(found[3] or 0)


def fits(name: str, version: Version, pinned: str) -> bool:
    """Whether `version` of program `name` may stand in for the `pinned` one.

    The engine has the range of its SDK; helm keeps its promises within a major version, everything else within a minor.
    """
    wanted = parse(pinned)
    if wanted is None or name not in _ASK:
        return False
    if name == "pulumi":
        return PULUMI_RANGE[0] <= version < PULUMI_RANGE[1]
    if name == "helm":
        return version[0] == wanted[0]
    return version[:2] == wanted[:2]


def version_of(name: str, program: Path, patience: float = _SECONDS_TO_ANSWER) -> Version | None:
    """What `program` answers within `patience` seconds when asked for its version; None when it cannot or does not.

    Answers are remembered in the cache by path, size and modification time, so a program is started once.
    """
    if name not in _ASK:
        return None
    try:
        facts = program.stat()
    except OSError:
        return None
    memory = cache_directory() / "versions-on-path.json"
    known = _recall(memory)
    mark = f"{name} {program} {facts.st_size} {facts.st_mtime_ns}"
    if mark not in known:
        answer = _ask([str(program), *_ASK[name]], patience)
        if answer is None:  # the next time it may be quicker
            return None
        known[mark] = answer
        _remember(memory, known)
    return parse(known[mark])


def _ask(command: list[str], seconds: float) -> str | None:
    """The first line, "" when it fails, None when it does not answer in time."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.partition("\n")[0] if answer.returncode == 0 else ""


def _recall(memory: Path) -> dict[str, str]:
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(memory: Path, known: dict[str, str]) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    fresh = memory.with_suffix(f".{os.getpid()}")  # several commands may ask at the same time
    fresh.write_text(json.dumps(known, indent=1))
    fresh.replace(memory)
