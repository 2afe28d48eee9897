"""Start and stop of lab processes, with an update of the record at every step."""

import re
import time
from collections.abc import Callable
from dataclasses import replace

from mlcluster.lab import process, record
from mlcluster.lab.components import STOP_ORDER, Component
from mlcluster.lab.failures import EndedMeanwhile, NotReady, PortTaken, StartFailed
from mlcluster.lab.layout import Layout
from mlcluster.lab.process import Process
from mlcluster.lab.record import Record

READY_SECONDS = 240.0  # 3 s on an idle machine; 120 s were not enough at a load of 55
_TAKEN = re.compile(r"address already in use")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.2


class LabState:
    """The state of one lab: its record, which every call writes to disk, and its processes.

    Args:
        layout: the files of the lab.
        current: the present record.
        tied: whether processes that this object starts end with the calling process.
    """

    def __init__(self, layout: Layout, current: Record, *, tied: bool = False) -> None:
        self.layout = layout
        self.record = current
        self._tied = tied

    def write(self, changed: Record) -> None:
        """Replace the record."""
        self.record = changed
        record.save(self.layout, changed)

    def runs(self, component: Component) -> bool:
        """Return whether the component runs with exactly this command line."""
        known = self.record.process(component.name)
        return known is not None and known.argv == component.argv and process.alive(known)

    def launch(self, component: Component) -> bool:
        """Start the component unless it already runs, and return whether it was started."""
        known = self.record.process(component.name)
        if self.runs(component):
            return False
        if known is not None:
            process.stop(known)  # also waits for a process that is ending
        for stray in process.strays(self.layout.root, [component.name]):  # started by a command that was killed
            process.stop(stray)
        log = self.layout.log(component.name)
        if log.exists():  # each start has its own log lines
            log.replace(log.with_suffix(".previous.log"))
        started = process.spawn(
            component.name, component.argv, log, self.layout.root, tied=self._tied, more=component.environment
        )
        self.write(self.record.with_process(started))
        return True

    def wait(self, component: Component, seconds: float = READY_SECONDS) -> None:
        """Return when the component is ready.

        Raises:
            PortTaken: it ended because of its port.
            StartFailed: it ended.
            NotReady: it was not ready in time.
        """
        running = self.record.process(component.name)
        if running is None:
            message = f"{component.name} was not launched"
            raise ValueError(message)
        needs = {"etcd": (), "kube-apiserver": ("etcd",)}.get(component.name, ("etcd", "kube-apiserver"))

        def trouble() -> str:
            answer = component.trouble()
            if answer:
                self.require(*needs)
            return answer

        wait_until(trouble, running, seconds)

    def require(self, *names: str) -> None:
        """Return if the recorded processes of these components run.

        Raises:
            EndedMeanwhile: a process has ended; the error names the first one.
        """
        for name in names:
            known = self.record.process(name)
            if known is None or not process.alive(known):
                raise EndedMeanwhile(name, self.layout.log(name))

    def end(self, name: str, grace: float = 10.0) -> None:
        """Stop a component, if it runs."""
        known = self.record.process(name)
        if known is not None:
            process.stop(known, grace)
            self.write(self.record.without_process(name))

    def end_all(self) -> None:
        """Stop all processes of the lab, also unrecorded ones, in an order that loses no data."""
        strays = {stray.name: stray for stray in process.strays(self.layout.root, STOP_ORDER)}
        known = {running.name: running for running in self.record.processes}
        for name in STOP_ORDER:
            for running in {id(found): found for found in (known.get(name), strays.get(name)) if found}.values():
                process.stop(running, self._grace(name, known))
        self.write(replace(self.record, processes=()))

    @staticmethod
    def _grace(name: str, known: dict[str, Process]) -> float:
        database = known.get("etcd")
        # Without its database, the API server ignores SIGTERM.
        lost = name == "kube-apiserver" and (database is None or not process.alive(database))
        return 0.5 if lost else 10.0


def wait_until(trouble: Callable[[], str], running: Process, seconds: float) -> None:
    """Call `trouble` until it returns "" while the process runs; for the errors see `LabState.wait`."""
    began, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        if not process.alive(running):  # this check reaps it, which makes its exit code available
            raise ended(running, process.exit_code(running) or 0)
        last = trouble()
        if not last:
            return
        if time.monotonic() - began > seconds:
            raise NotReady(running.name, seconds, last, running.log)
        time.sleep(pause)
        pause = min(pause * 1.3, _LONGEST_PAUSE)


def ended(running: Process, code: int) -> StartFailed:
    """Return the error for a component that ended during its start."""
    last = process.last_lines(running.log)
    kind = PortTaken if _TAKEN.search(process.last_lines(running.log, 40)) else StartFailed
    return kind(running.name, code, last, running.log)
