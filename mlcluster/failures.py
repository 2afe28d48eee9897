"""The one place where errors become text on standard error and an exit code."""

import platform
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mlcluster import __version__
from mlcluster.directories import state_directory
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.standard_output import OutputError, print_result, use_color


def report(error: BaseException, output: str = "text") -> ExitCode:
    """Prints `error` for its reader and answers with the exit code.

    Args:
        output: the format that the verb was asked for. `json` gets its one document on standard output for a
            failure too, and `jsonl` its last line.
    """
    from mlcluster.spec.problems import SpecInvalidError

    if isinstance(error, SpecInvalidError):
        _report_problems(error, output)
        return error.exit_code
    if isinstance(error, MlclusterError):
        _say(f"error: {error.doing}: {error.happened}", red=True)
        if error.hint:
            _say(f"hint:  {error.hint}")
        _emit(error, output)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        hint = "run the same command again to go on, or `mlcluster down` to take everything away"
        _say(f"interrupted: {hint}")
        _emit(MlclusterError("running mlcluster", "interrupted", hint, exit_code=ExitCode.INTERRUPTED), output)
        return ExitCode.INTERRUPTED
    return _report_bug(error, output)


def _report_problems(error: MlclusterError, output: str) -> None:
    from mlcluster.report.problems import problems_json, problems_text
    from mlcluster.spec.problems import SpecInvalidError

    if not isinstance(error, SpecInvalidError):
        raise error
    if output in {"json", "jsonl"}:
        _write(problems_json(error), output)
    else:
        sys.stderr.write(problems_text(error, color=use_color(error=True)))


def _emit(error: MlclusterError, output: str) -> None:
    """Print an error as data: the one document of `json`, or the last line of `jsonl`; nothing for other formats."""
    if output in {"json", "jsonl"}:
        _write(error.as_document() if error.document is None or output == "jsonl" else error.document, output)


def _write(document: Mapping[str, Any], output: str) -> None:
    import json

    try:
        print_result(json.dumps(document, indent=2 if output == "json" else None))
    except OutputError as error:  # it must not hide the error, which standard error has
        _say(f"error: {error}", red=True)


def _report_bug(error: BaseException, output: str) -> ExitCode:
    happened = f"this is a bug in mlcluster: {type(error).__name__}"
    written = True
    try:
        hint = f"please report it with {_bug_log(error)}"
    except OSError as problem:
        hint, written = f"the details could not be written ({problem})", False
    _say(f"error: {happened}", red=True)
    _say(f"hint:  {hint}")
    if not written:
        traceback.print_exception(error)
    _emit(MlclusterError("running mlcluster", happened, hint, exit_code=ExitCode.BUG), output)
    return ExitCode.BUG


def _bug_log(error: BaseException) -> str:
    """Write a bug report to a file; the arguments may hold paths, but never the spec's text."""
    now = datetime.now(UTC)
    folder = state_directory() / "bugs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{now:%Y%m%dT%H%M%S}.md"
    facts = f"mlcluster {__version__}, Python {platform.python_version()}, {platform.platform()}, {now:%Y-%m-%d %H:%M}Z"
    trace = "".join(traceback.format_exception(error))
    path.write_text(f"# {facts}\n\n    {' '.join(sys.argv)}\n\n```\n{trace}```\n", encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def _say(text: str, *, red: bool = False) -> None:
    painted = f"\x1b[31m{text}\x1b[0m" if red and use_color(error=True) else text
    print(painted, file=sys.stderr)
