"""Results of the cases: one JSON object per line, and a Markdown table."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

_COLUMNS = (
    "seed", "command", "victim", "fraction", "killed after", "step", "first exit", "after", "second exit", "after",
    "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The result of a case.

    Attributes:
        moment: seconds after the start at which the victim was killed; None if the command ended before.
        step: the last line that the command had printed by then.
        first: exit code of the command that lost something; None for one that did not end in time.
        again: exit code of the same command, run once more.
        left: leftovers after `down`.
        verdict: "pass", or the failure.
        commit: of the mlcluster under test.
    """

    seed: int
    command: str
    victim: str
    own_lab: bool
    fraction: float
    moment: float | None
    step: str
    first: int | None
    first_seconds: float
    again: int | None
    again_seconds: float
    left: list[str]
    verdict: str
    commit: str


def append(path: Path, result: Result) -> None:
    """Write one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def read(path: Path) -> list[Result]:
    """Return all results, of each case the last one, by seed and command."""
    if not path.is_file():
        return []
    found = [Result(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    last = {(result.seed, result.command): result for result in found}
    return [last[key] for key in sorted(last, key=lambda key: (key[0], key[1] != "up"))]


def table(results: Iterable[Result]) -> str:
    """Return the results as Markdown."""
    rows = list(results)
    head = f"| {' | '.join(_COLUMNS)} |"
    lines = [_totals(rows), "", head, "|" + "---|" * len(_COLUMNS), *(_row(result) for result in rows)]
    return "\n".join(lines) + "\n"


def _totals(rows: list[Result]) -> str:
    passed = Counter((result.command, result.victim) for result in rows if result.verdict == "pass")
    every = Counter((result.command, result.victim) for result in rows)
    told = [f"| {command} | {victim} | {passed[command, victim]} of {count} |" for (command, victim), count in
            sorted(every.items())]  # fmt: skip
    misses = sum(result.verdict != "pass" for result in rows)
    commits = ", ".join(dict.fromkeys(result.commit for result in rows))
    counts = f"{len(rows)} cases, {misses} misses, commits {commits}."
    return "\n".join([counts, "", "| command | victim | passed |", "|---|---|---|", *told])


def _row(result: Result) -> str:
    moment = "-" if result.moment is None else f"{result.moment:.1f} s"
    first = "none" if result.first is None else str(result.first)
    again = "none" if result.again is None else str(result.again)
    step = result.step.replace("|", "\\|")[:70]
    cells = (
        str(result.seed), result.command, result.victim, f"{result.fraction:.3f}", moment, f"`{step}`", first,
        f"{result.first_seconds:.1f} s", again, f"{result.again_seconds:.1f} s", result.verdict.split("\n")[0],
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"
