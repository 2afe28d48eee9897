"""`mlcluster doctor`: check everything that the next command needs. Read-only and quick."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mlcluster.checks.model import Check, Question, State, ok, problem, run
from mlcluster.deploy.doctor.machine import machine_questions
from mlcluster.deploy.doctor.surroundings import cluster_questions
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Progress
from mlcluster.report.checks_text import checks_text, doctor_document
from mlcluster.report.progress import for_terminal
from mlcluster.report.standard_output import print_result, use_color
from mlcluster.spec.problems import SpecInvalidError

SPEC = "spec"


def doctor(path: Path | None, output: str) -> ExitCode:
    """Print a line for each check with its fix; `INVALID` when there is a problem.

    Args:
        path: a spec; None to look at this machine only.
        output: text or json.
    """
    checks = diagnose(path, for_terminal())
    if output == "json":
        print_result(json.dumps(doctor_document(checks, None if path is None else str(path)), indent=2))
    else:
        print_result(checks_text(checks, color=use_color()))
    return ExitCode.INVALID if any(check.state is State.PROBLEM for check in checks) else ExitCode.OK


def diagnose(
    path: Path | None,
    progress: Progress,
    machine: Callable[[Workspace | None], Sequence[Question]] = machine_questions,
    cluster: Callable[[Workspace], Sequence[Question]] = cluster_questions,
) -> list[Check]:
    """Return the checks of this machine and, with a valid spec, of everything that its cluster needs."""
    workspace, first = (None, []) if path is None else _spec(path)
    questions = [*machine(workspace), *(cluster(workspace) if workspace is not None else ())]
    checks, given_up = run(questions, progress)
    if given_up:
        _end_children()
    return [*first, *checks]


def _spec(path: Path) -> tuple[Workspace | None, list[Check]]:
    hint = f"Run `mlcluster validate {path}`."
    try:
        workspace = load_workspace(path)
    except SpecInvalidError as error:
        first = error.problems[0]
        if first.line is None and not first.path:  # the file cannot be read at all
            fix = first.hint[:1].upper() + first.hint[1:] or hint
            return None, [problem(SPEC, f"{path}: {first.message}", fix)]
        count = len(error.problems) + error.more
        return None, [problem(SPEC, f"{path} has {count} problem{'' if count == 1 else 's'}", hint)]
    except MlclusterError as error:
        return None, [problem(SPEC, error.happened, error.hint)]
    blocking = [finding for finding in workspace.findings if finding.blocks]
    if blocking:
        identifiers = ", ".join(dict.fromkeys(one.id for one in blocking))
        return workspace, [problem(SPEC, f"{path} has errors that stop `up`: {identifiers}", hint)]
    return workspace, [ok(SPEC, f"{path} is valid")]


def _end_children() -> None:
    """End the programs that a check started and that do not answer, so that they do not outlive this one."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
