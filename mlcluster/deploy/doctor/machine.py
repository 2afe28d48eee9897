"""Checks of `doctor` on this machine: programs, plugins, directories."""

import os
import shutil
from functools import partial
from pathlib import Path

from mlcluster.aws.cli import find_aws_cli, spell
from mlcluster.checks.model import Check, Question
from mlcluster.checks.plugins import plugin_checks
from mlcluster.checks.programs import Program, aws_cli_check, engine_check, helm_check, lab_check
from mlcluster.checks.storage import directory_check, may_write
from mlcluster.deploy.preview.prerequisites import presences
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.directories import CACHE_VARIABLE, STATE_VARIABLE, cache_directory, state_directory
from mlcluster.engine.plugins import attached
from mlcluster.kubernetes_provider.helm import HELM
from mlcluster.lab.toolchain import fit, pins
from mlcluster.lab.toolchain.build import DISK_BYTES, free_bytes
from mlcluster.lab.toolchain.find import directory, find_tool
from mlcluster.processes import ask

_SECONDS = 60.0
"""Of a question: each program has 20 to 30 seconds to tell its version."""

_BUILDING = f"ten to twenty minutes on two cores, and {DISK_BYTES / 1e9:.0f} GB of disk for a while"
_GO_SECONDS = 20.0


def machine_questions(workspace: Workspace | None) -> list[Question]:
    """Return the questions about this machine, for one spec or for any."""
    target = None if workspace is None else workspace.plan.cluster.target
    questions = [Question("engine and helm", partial(_engine, workspace), _SECONDS)]
    if target in {None, "local"}:
        questions.append(Question("lab programs", partial(_lab, needed=target is not None), _SECONDS))
    if target in {None, "eks"} and "eks" not in attached():
        questions.append(Question("AWS CLI", partial(_aws_cli, needed=target is not None), _SECONDS))
    spec = "" if workspace is None else str(workspace.path)
    return [
        *questions,
        Question("plugins", lambda: plugin_checks(presences(workspace), spec)),
        Question("directories", partial(_directories, target)),
    ]


def _program(name: str, wanted: str) -> Program:
    """Return where a program of the toolchain is: on PATH, or built by mlcluster."""
    tool = next(tool for tool in pins.TOOLS if tool.name == name)
    found, built = shutil.which(name), directory() / "bin" / name
    version = fit.version_of(name, Path(found)) if found else None
    fits = version is not None and fit.fits(name, version, pins.pinned(tool))
    return Program(Path(found) if found else None, version, fits, built if built.is_file() else None, wanted)


def _engine(workspace: Workspace | None) -> list[Check]:
    least, below = (spell(bound) for bound in fit.PULUMI_RANGE)
    engine = _program("pulumi", f"{least} up to below {below}")
    checks = [engine_check(engine, _BUILDING)]
    if workspace is None or workspace.plan.cluster.kubernetes_provider == "builtin":
        helm = _program("helm", "version 3")
        checks.append(helm_check(helm, os.environ.get(HELM, ""), engine.used))
    return checks


def _lab(*, needed: bool) -> list[Check]:
    missing = [name for name in pins.NAMES if find_tool(name) is None]
    return [lab_check(missing, _go() if missing else "", _BUILDING, needed=needed)]


def _go() -> str:
    """Return the Go on PATH that the build would use, as text; "" if there is none."""
    found = shutil.which("go")
    if found is None:
        return ""
    version = fit.parse(ask([found, "version"], _GO_SECONDS).stdout.replace("go version go", ""))
    wanted = pins.go_version((pins.HERE / "go.mod").read_text(encoding="utf-8"))
    return f"Go {spell(version)} ({found})" if version is not None and version >= wanted else ""


def _aws_cli(*, needed: bool) -> list[Check]:
    return [aws_cli_check(find_aws_cli(), needed=needed)]


def _directories(target: str | None) -> list[Check]:
    building = target == "local" and any(find_tool(name) is None for name in pins.NAMES)
    places = (
        ("state directory", state_directory(), STATE_VARIABLE, 0),
        ("cache directory", cache_directory(), CACHE_VARIABLE, DISK_BYTES if building else 0),
    )
    checks = []
    for name, place, variable, needed in places:
        writable = may_write(place)
        free = free_bytes(place) if writable else 0
        checks.append(directory_check(name, place, variable, free, writable=writable, needed=needed))
    return checks
