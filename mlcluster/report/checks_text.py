"""Checks of this machine and of a cluster, as lines and as data."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mlcluster.checks.model import Check, State

_COLORS = {State.OK: "32", State.NOT_NEEDED: "2", State.WARNING: "33", State.PROBLEM: "31"}
_WORDS = {state: state.value for state in State} | {State.NOT_NEEDED: "not needed"}


def checks_text(checks: Sequence[Check], *, color: bool) -> str:
    """Return a line for each check, its fix under it, and a last line that counts."""
    wide = max((len(check.name) for check in checks), default=0)
    first = max((len(_WORDS[check.state]) for check in checks), default=0)
    lines = []
    for check in checks:
        lines.append(f"{_word(check.state, first, color=color)}  {check.name:<{wide}}  {check.found}".rstrip())
        if check.fix:
            lines.append(f"{'':{first}}  {'':{wide}}  fix: {check.fix}")
    return "\n".join([*lines, closing(checks)]) + "\n"


def closing(checks: Sequence[Check]) -> str:
    """Return how many checks there are of each kind."""
    counts = Counter(check.state for check in checks)
    absent = [f"{counts[State.NOT_NEEDED]} {_WORDS[State.NOT_NEEDED]}"] if counts[State.NOT_NEEDED] else []
    worse = [
        f"{counts[state]} {state.value}{'' if counts[state] == 1 else 's'}"
        for state in (State.WARNING, State.PROBLEM)
        if counts[state]
    ]
    return ", ".join([f"{counts[State.OK]} ok", *absent, *worse])


def checks_json(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Return `[{check, state, found, fix}]`."""
    return [{"check": one.name, "state": one.state.value, "found": one.found, "fix": one.fix} for one in checks]


def doctor_document(checks: Sequence[Check], spec: str | None) -> dict[str, Any]:
    """Return `{apiVersion, kind: DoctorReport, spec, healthy, checks: [...]}`; `spec` is null for the machine alone."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "DoctorReport",
        "spec": spec,
        "healthy": not any(one.state is State.PROBLEM for one in checks),
        "checks": checks_json(checks),
    }


def _word(state: State, width: int, *, color: bool) -> str:
    padded = f"{_WORDS[state]:<{width}}"
    return f"\x1b[{_COLORS[state]}m{padded}\x1b[0m" if color else padded
