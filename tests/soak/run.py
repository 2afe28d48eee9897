"""The soak: `python -m tests.soak.run --pairs 50`, `--seed 7` for one pair, `--table` for the results as Markdown."""

import argparse
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil

from mlcluster.lab.lab import Lab
from mlcluster.progress import Silent
from tests.soak.cases import Case, Pair, pair
from tests.soak.commands import LAB, ROOT, Command, Place
from tests.soak.results import Result, append, read, table
from tests.soak.windows import Measured, measure

_TRIES = 3
_ENDING_SECONDS = 15.0
_writing = threading.Lock()
_measuring = {True: threading.Lock(), False: threading.Lock()}  # by whose lab it is
Measurements = dict[tuple[str, bool], Measured]


class Soak:
    """Runs pairs in one place, one after the other."""

    def __init__(self, place: Place, results: Path, commit: str, measured: Measurements) -> None:
        self._place = place
        self._results = results
        self._commit = commit
        self._measured = measured
        self._is_clean = False

    def run(self, wanted: Pair) -> bool:
        """Return one pair; whether both cases passed."""
        self._prepare(own_lab=wanted.own_lab)
        with _measuring[wanted.own_lab]:
            self._measure(own_lab=wanted.own_lab)
        self._is_clean = False
        for case in wanted.cases:
            result = self._case(case, own_lab=wanted.own_lab)
            with _writing:
                append(self._results, result)
                print(f"seed {case.seed:4}  {case.command:4}  {case.victim:14}  {case.fraction:.3f}  "
                      f"{result.first} then {result.again} in {result.first_seconds:.0f} + {result.again_seconds:.0f} s"
                      f"  {result.verdict}", flush=True)  # fmt: skip
            if result.verdict != "pass":
                return False
        self._is_clean = True
        return True

    def _prepare(self, *, own_lab: bool) -> None:
        """Start from nothing or from an empty lab."""
        if not self._is_clean or self._place.lab.exists() is not own_lab:
            self.clean()
        if own_lab:
            self._must("lab", "start", "--name", LAB)

    def _case(self, case: Case, *, own_lab: bool) -> Result:
        first, moment, step = self._losing(case, own_lab=own_lab)
        code, seconds = first.end(), first.seconds
        again = self._start(case.command)
        again_code = again.end()
        left = self._left(own_lab=own_lab) if case.command == "down" and again_code == 0 else []
        met = "" if moment is not None else "not met: the command ended before its victim was killed"
        verdict = met or _verdict(code, again_code, left, first.text + again.text)
        if verdict != "pass":
            self._keep(case, first, again)
        return Result(
            case.seed, case.command, case.victim, own_lab, case.fraction, moment, step,
            code, round(seconds, 1), again_code, round(again.seconds, 1), left, verdict, self._commit,
        )  # fmt: skip

    def _losing(self, case: Case, *, own_lab: bool) -> tuple[Command, float | None, str]:
        """The command that lost its victim, when, and at which step. One that was quicker than that is undone first."""
        known = self._measured[case.command, own_lab]
        moment = known.moment(case.victim, case.fraction)
        attempt = 0
        while True:
            attempt += 1
            command = self._start(case.command)
            for now in command.looks():
                if now >= moment and (victims := command.victims(case.victim)):
                    step = command.step
                    _kill(victims)
                    return command, round(now, 1), step
            if command.end() != 0 or attempt == _TRIES:
                return command, None, command.step
            self._must("down" if case.command == "up" else "up", str(self._place.spec), "--yes")
            moment *= 0.7

    def _measure(self, *, own_lab: bool) -> None:
        if ("up", own_lab) in self._measured:
            return
        for command in ("up", "down"):
            self._measured[command, own_lab] = measure(self._start(command))

    def _start(self, command: str) -> Command:
        return Command.start(self._place, command, str(self._place.spec), "--yes")

    def _must(self, *arguments: str) -> None:
        command = Command.start(self._place, *arguments)
        if command.end() != 0:
            message = f"`mlcluster {' '.join(arguments)}` failed:\n{command.text}"
            raise RuntimeError(message)

    def _left(self, *, own_lab: bool) -> list[str]:
        """Return leftovers of `down`: keys of the lab, the lab, stacks with their locks, processes."""
        found = []
        lab = Lab(LAB, self._place.lab)
        if own_lab:
            if lab.status().state != "running":
                return [f"the lab is {lab.status().state}"]
            found += sorted(lab.leftovers())
            found += [f"controller {name}" for name in lab.controllers()]
        elif self._place.lab.exists():
            found.append(str(self._place.lab))
        stack = self._place.state / "stacks" / LAB
        found += [str(path) for path in stack.rglob("*")][:5]
        return found + self._processes(lab if own_lab else None)

    def _processes(self, lab: Lab | None) -> list[str]:
        """Return processes that do not end: an orphan of a killed command may need a moment."""
        expected = set() if lab is None else {one.pid for one in lab.status().processes}
        until = time.monotonic() + _ENDING_SECONDS
        while found := [process for process in self._place.processes() if process.pid not in expected]:
            if time.monotonic() > until:
                return [f"process {_words(process)}" for process in found]
            time.sleep(0.2)
        return []

    def _keep(self, case: Case, first: Command, again: Command) -> None:
        """Put the outputs and the logs of the lab of a miss beside the results."""
        kept = self._results.with_name("misses") / f"{case.seed}-{case.command}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        (kept / "first.txt").write_text(first.text, "utf-8")
        (kept / "again.txt").write_text(again.text, "utf-8")
        with suppress(OSError, shutil.Error):
            shutil.copytree(self._place.lab / "logs", kept / "logs")
            shutil.copy(self._place.lab / "state.json", kept)

    def clean(self) -> None:
        """Delete everything."""
        Lab(LAB, self._place.lab).reset(Silent())
        _kill(self._place.processes())
        shutil.rmtree(self._place.state, ignore_errors=True)
        self._place.prepare()


def _verdict(first: int | None, again: int | None, left: list[str], text: str) -> str:
    if first is None:
        return "miss: the command did not end"
    if again is None:
        return "miss: the same command again did not end"
    if again != 0:
        return f"miss: the same command again failed with exit code {again}"
    if left:
        return f"miss: {len(left)} left: {left[0]}"
    return "miss: a traceback" if "Traceback" in text else "pass"


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def _words(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return f"{process.pid} {' '.join(process.cmdline())[:100]}"
    return str(process.pid)


def _commit() -> str:
    told = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "unknown"


def _wanted(options: argparse.Namespace) -> list[Pair]:
    if options.seed:
        return [pair(seed) for seed in options.seed]
    done = {(result.seed, result.command) for result in read(options.results) if result.verdict == "pass"}
    seeds = range(options.first, options.first + options.pairs)
    return [pair(seed) for seed in seeds if not {(seed, "up"), (seed, "down")} <= done]


def main(arguments: list[str]) -> int:
    """Run the selected cases; return 1 if any failed."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--pairs", type=int, default=50, help="pairs of up and down: two moments each")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seed", type=int, action="append", help="this pair only, again if it ran before")
    parser.add_argument("--workers", type=int, default=1, help="pairs at the same time, each in a lab of its own")
    parser.add_argument("--results", type=Path, default=ROOT / ".soak" / "results.jsonl", help="continued if it exists")
    parser.add_argument("--work", type=Path, default=Path("/tmp/mlcluster-soak"), help="state of the labs")  # noqa: S108
    parser.add_argument("--table", action="store_true", help="print the results as Markdown and run nothing")
    options = parser.parse_args(arguments)
    if options.table:
        print(table(read(options.results)), end="")
        return 0
    wanted, commit = _wanted(options), _commit()
    print(f"{len(wanted)} pairs, seeds {[one.seed for one in wanted]}, commit {commit}", flush=True)
    measured: Measurements = {}
    places = [Place(options.work / str(number)) for number in range(options.workers)]
    idle = [Soak(place, options.results, commit, measured) for place in places]

    def one(wanted: Pair) -> bool:
        soak = idle.pop()
        try:
            return soak.run(wanted)
        except RuntimeError as error:
            print(f"seed {wanted.seed}: {error}", flush=True)
            return False
        finally:
            idle.append(soak)

    try:
        with ThreadPoolExecutor(options.workers) as workers:
            passed = list(workers.map(one, wanted))
    finally:
        for soak in idle:
            soak.clean()
    misses = passed.count(False)
    print(f"{len(passed)} pairs, {misses} with a miss", flush=True)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
