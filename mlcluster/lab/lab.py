"""A lab by name: start, stop, status, controllers. Every change holds the lock of the lab."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcluster.directories import STATE_VARIABLE, state_directory
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab import bare, keys, lock, process, record, status
from mlcluster.lab.components import STOP_ORDER
from mlcluster.lab.controllers import run
from mlcluster.lab.controllers.known import controller
from mlcluster.lab.failures import LeftoverData, NotRunning, interruptible
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import Ports
from mlcluster.lab.programs import in_order, with_programs
from mlcluster.lab.record import ControllerRecord, Record
from mlcluster.lab.running import LabState
from mlcluster.lab.status import LabStatus
from mlcluster.lab.toolchain import Program, Toolchain
from mlcluster.progress import Progress, SilentTask, Task
from mlcluster.trust import require_trusted

_SILENT = SilentTask()
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def labs_directory() -> Path:
    """Return where the labs of this user are.

    Raises:
        MlclusterError: another user can change what is there.
    """
    return require_trusted(state_directory() / "labs", "opening the state directory", STATE_VARIABLE)


class Lab:
    """A real control plane of host processes that outlives the command which started it.

    Args:
        name: several labs run side by side by name.
        root: its private directory; the default is below the user's state directory.
        tied: its processes end with the calling process (for tests; needs setpriv).
        choose_ports: where new ports come from.

    Raises:
        MlclusterError: the name could not be a directory's.
    """

    def __init__(
        self,
        name: str = "default",
        root: Path | None = None,
        *,
        tied: bool = False,
        choose_ports: Callable[[], Ports] = Ports.free,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise MlclusterError(
                "naming a lab",
                f"{name!r} is not a name",
                "up to 40 lower-case letters, digits and dashes",
                exit_code=ExitCode.USAGE,
            )
        self.name = name
        self.layout = Layout((root or labs_directory() / name).absolute())
        self._tied = tied
        self._choose_ports = choose_ports

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the lab's administrator; it exists once the lab was started."""
        return self.layout.kubeconfig("admin")

    def start(
        self,
        toolchain: Toolchain,
        progress: Progress,
        *,
        extended_resource_toleration: bool = True,
        started_by: str = "lab start",
    ) -> None:
        """Make the lab run: from nothing, on the data of a stopped one, or what has died of it. Running is fine.

        A lab that had controllers gets them back. `started_by` is what `status` tells of who made it, once.

        Raises:
            StartFailed, NotReady, InterruptedByUserError: what was started is stopped again.
            LeftoverData: there is data without a record.
        """
        with lock.held(self.name, self.layout, progress), progress.task(f"starting lab {self.name}") as task:
            current = self._usable(toolchain, started_by, progress)
            wanted = replace(current, extended_resource_toleration=extended_resource_toleration)
            if self._ready(current) and wanted == current:
                return
            lab_state = LabState(self.layout, wanted, tied=self._tied)
            stopped = "what was started is stopped again"
            with interruptible(f"starting lab {self.name}", stopped, "the same command starts it"):
                self._bring_up_or_stop(lab_state, task)

    def stop(self, progress: Progress) -> None:
        """End all processes; data, certificates and ports are kept. A lab that does not run is fine."""
        with lock.held(self.name, self.layout, progress), progress.task(f"stopping lab {self.name}"):
            self._stop()

    def reset(self, progress: Progress) -> None:
        """Stop the lab and delete its directory, whatever state it is in."""
        with lock.held(self.name, self.layout, progress), progress.task(f"deleting lab {self.name}"):
            self._delete()

    def discard_if_never_ready(self, progress: Progress) -> bool:
        """Delete what a killed start or a killed reset left; whether there is no lab with data now."""
        with lock.held(self.name, self.layout, progress):
            try:
                current = record.load(self.layout)
            except ValueError:
                return False
            if current is None:
                return not status.has_data(self.layout)
            if current.born:
                return False
            self._delete()
            return True

    def start_kueue(self, config: dict[str, Any], toolchain: Toolchain, progress: Progress) -> None:
        """Run Kueue; for what happens see `start_controller`.

        Args:
            config: a Configuration of config.kueue.x-k8s.io/v1beta2; addresses, ports and certificates are the lab's.
            toolchain: where its program and its chart are.
            progress: what is told meanwhile.
        """
        self.start_controller("kueue", config, Program(toolchain.path("kueue"), toolchain.chart), progress)

    def stop_kueue(self, progress: Progress) -> None:
        """Stop Kueue; for what happens see `stop_controllers`."""
        self.stop_controllers(["kueue"], progress)

    def start_controller(self, name: str, settings: dict[str, Any], program: Program, progress: Progress) -> None:
        """Run a controller; the same one running already is fine, one with other settings is replaced.

        Args:
            name: of the component, one of `controllers.known.CONTROLLERS`.
            settings: values of its chart, for Kueue its configuration.
            program: what runs, and what is applied for it.
            progress: what is told meanwhile.
        """
        controller(name)
        with lock.held(self.name, self.layout, progress), progress.task(f"starting {name} in lab {self.name}") as task:
            current = self._removed(self._running(f"starting {name}"), task)
            known = current.controller(name)
            ports = run.ports_of(name) if known is None else known.ports
            wanted = ControllerRecord(name, program.path, program.manifests, settings, ports)
            if wanted == known and self._is_ready(name):
                return
            lab_state = LabState(self.layout, current, tied=self._tied)
            lab_state.end(name)
            lab_state.write(in_order(lab_state.record.with_controller(wanted)))
            again = f"`mlcluster lab start --name {self.name}` goes on"
            with interruptible(f"starting {name}", "its process is stopped again, its objects may be there", again):
                run.bring_up(lab_state, name, task)

    def stop_controllers(self, names: Iterable[str], progress: Progress) -> None:
        """Stop controllers and remove every object that they brought. One that is not there is fine.

        Raises:
            ControllerInUse: there are still objects of the kinds of one of them; nothing was changed.
        """
        wanted = set(names)
        with lock.held(self.name, self.layout, progress):
            current = self._running("removing controllers")
            going = [known.name for known in current.controllers if known.name in wanted]
            if not going:
                return
            doing = f"removing {', '.join(going)}"
            with (
                progress.task(f"{doing} from lab {self.name}") as task,
                interruptible(doing, "some of the objects may still be there", "the same again"),
            ):
                run.take_down(LabState(self.layout, current, tied=self._tied), going, task)

    def alive_and_ended(self) -> tuple[list[str], list[str]]:
        """Names of the components that should run, by whether their process does."""
        try:
            current = record.load(self.layout)
        except ValueError:
            current = None
        known = () if current is None else current.processes
        alive = {one.name for one in known if process.alive(one)}
        return sorted(alive), sorted({one.name for one in known} - alive)

    def repair(self, progress: Progress) -> list[str]:
        """Start what has ended of a running lab, and return its names. A lab that is being worked on is left alone.

        While this process works on the lab itself, an API server without its database is stopped: it would let every
        request wait for a minute.

        Raises:
            MlclusterError: it does not start; the whole lab is stopped then.
        """
        with lock.held_if_free(self.layout, "starting what has ended") as free:
            dead = self.alive_and_ended()[1]
            current = record.load(self.layout)
            if current is None or not dead:
                return []
            server = current.process("kube-apiserver")
            if not free and "etcd" in dead and server is not None and lock.is_held_here(self.layout):
                process.stop(server, grace=0.5)
            if not free or current.phase != "running":
                return []
            progress.say(f"{' and '.join(dead)} of lab {self.name} ended unexpectedly; starting again")
            lab_state = LabState(self.layout, current, tied=self._tied)
            try:
                self._bring_up_parts(lab_state, _SILENT)
            except BaseException:
                lab_state.end_all()
                raise
            progress.say(f"lab {self.name} is complete again")
            return dead

    def require_idle(self, names: Iterable[str]) -> None:
        """That no namespace has objects of the kinds of these controllers.

        Raises:
            ControllerInUse: one has; whoever made them loses them with the controller.
        """
        lab_state = LabState(self.layout, self._running("looking for what controllers manage"))
        for name in names:
            # /registry/GROUP/KIND/NAMESPACE/NAME; what has no namespace belongs to whoever made the controller.
            if found := [key for key in run.in_use(lab_state, name) if key.count("/") == 5]:
                raise run.ControllerInUse(name, found)

    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers that it runs, or would if it ran, in the order of their start."""
        try:
            current = record.load(self.layout)
        except ValueError:
            return ()
        return () if current is None else tuple(known.name for known in current.controllers)

    def runs_with(self, *, extended_resource_toleration: bool) -> bool:
        """Whether the lab runs with this setting: `start` would start nothing."""
        try:
            current = record.load(self.layout)
        except ValueError:
            return False
        wanted = current is not None and current.extended_resource_toleration == extended_resource_toleration
        return wanted and self.status().state == "running"

    def status(self) -> LabStatus:
        """What the lab looks like now."""
        return status.read(self.name, self.layout)

    def keys(self) -> frozenset[str]:
        """Names of everything that the lab stores now, such as `/registry/pods/default/a`."""
        return keys.stored(self.layout, self._running("listing what the lab stores").ports.etcd)

    def baseline_keys(self) -> frozenset[str]:
        """Names of what the bare control plane stored at the end of its first start, without those that come and go."""
        self._running("reading the baseline")
        return frozenset(self.layout.baseline.read_text().split("\n"))

    def leftovers(self) -> frozenset[str]:
        """What is stored now beyond the baseline, without what comes and goes by itself: events and leases."""
        return keys.lasting(self.keys()) - self.baseline_keys()

    def _usable(self, toolchain: Toolchain, started_by: str, progress: Progress) -> Record:
        try:
            current = record.load(self.layout)
        except ValueError:
            raise LeftoverData(self.name, self.layout.root) from None
        if current is None and status.has_data(self.layout):
            raise LeftoverData(self.name, self.layout.root)
        if current is not None and current.born:
            return with_programs(current, toolchain, progress)
        self._stop()
        self.layout.wipe()
        return Record("starting", self._choose_ports(), dict(toolchain.binaries), False, started_by)

    def _ready(self, current: Record) -> bool:
        return current.born and status.read(self.name, self.layout).state == "running"

    def _is_ready(self, name: str) -> bool:
        return any(found.name == name and found.ready for found in self.status().processes)

    def _bring_up_or_stop(self, lab_state: LabState, task: Task) -> None:
        try:
            self._bring_up(lab_state, task)
        except BaseException:  # Ctrl-C too
            lab_state.end_all()
            raise

    def _bring_up(self, lab_state: LabState, task: Task) -> None:
        self.layout.root.mkdir(parents=True, mode=0o700, exist_ok=True)
        lab_state.write(
            replace(lab_state.record, phase="starting")
        )  # before there is data: a kill leaves none without a record
        if not lab_state.record.born:
            bare.prepare(self.layout)
        self._bring_up_parts(lab_state, task)
        lab_state.write(replace(lab_state.record, phase="running", born=True))

    def _bring_up_parts(self, lab_state: LabState, task: Task) -> None:
        bare.bring_up(lab_state, task, self._choose_ports)
        if not lab_state.record.born:
            task.update("noting what it stores")
            bare.note_baseline(self.layout, lab_state.record.ports)
        for known in lab_state.record.active:
            if not run.works(lab_state, known.name):
                run.bring_up(lab_state, known.name, task)

    def _removed(self, current: Record, task: Task) -> Record:
        """The record after the removals that a killed command began, which end before a controller is started."""
        lab_state = LabState(self.layout, current, tied=self._tied)
        if current.removing:
            run.take_down(lab_state, current.removing, task)
        return lab_state.record

    def _delete(self) -> None:
        """A kill in between leaves a record of a lab that was never ready: what is left of its data is worthless."""
        lab_state = self._stop()
        if lab_state is not None:
            lab_state.write(replace(lab_state.record, born=False))
        self.layout.wipe()

    def _stop(self) -> LabState | None:
        try:
            current = record.load(self.layout)
        except ValueError:
            current = None
        if current is None:
            for stray in process.strays(self.layout.root, STOP_ORDER):
                process.stop(stray)
            return None
        lab_state = LabState(self.layout, current)
        lab_state.end_all()
        lab_state.write(replace(lab_state.record, phase="stopped"))
        return lab_state

    def _running(self, doing: str) -> Record:
        try:
            current = record.load(self.layout)
        except ValueError:
            current = None
        if current is None or current.phase != "running":
            raise NotRunning(doing, self.name, self.status().state)
        return current


def list_labs() -> list[LabStatus]:
    """Every lab of this user, by name."""
    if not labs_directory().is_dir():
        return []
    names = sorted(found.name for found in labs_directory().iterdir() if found.is_dir())
    return [Lab(name).status() for name in names if _NAME.fullmatch(name)]
