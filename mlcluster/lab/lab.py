"""A lab by name: start, stop, status, controllers. Every change holds the lab's lock."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcluster.directories import STATE_VARIABLE, state_directory
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab import control_plane, keys, lock, process, record, status
from mlcluster.lab.components import STOP_ORDER
from mlcluster.lab.controllers import run
from mlcluster.lab.controllers.registry import controller
from mlcluster.lab.failures import LeftoverData, NotRunning, interruptible
from mlcluster.lab.lab_state import LabState
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import Ports
from mlcluster.lab.programs import in_order, with_programs
from mlcluster.lab.record import ControllerRecord, Record
from mlcluster.lab.status import LabStatus
from mlcluster.lab.toolchain import Program, Toolchain
from mlcluster.progress import Progress, SilentTask, Task
from mlcluster.trust import require_trusted

_SILENT = SilentTask()
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def labs_directory() -> Path:
    """Return the directory with the labs of this user.

    Raises:
        MlclusterError: another user can change its contents.
    """
    return require_trusted(state_directory() / "labs", "opening the state directory", STATE_VARIABLE)


class Lab:
    """A real control plane of host processes that outlives the command that started it.

    Args:
        name: name of the lab; labs with different names run in parallel.
        root: its private directory; the default is below the user's state directory.
        tied: whether its processes end with the calling process (for tests; requires setpriv).
        choose_ports: returns new ports.

    Raises:
        MlclusterError: the name is not valid for a directory.
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
                f"{name!r} is not a valid name",
                "Use at most 40 lower-case letters, digits and dashes.",
                exit_code=ExitCode.USAGE,
            )
        self.name = name
        self.layout = Layout((root or labs_directory() / name).absolute())
        self._tied = tied
        self._choose_ports = choose_ports

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the lab's administrator, which exists after the first start."""
        return self.layout.kubeconfig("admin")

    def start(
        self,
        toolchain: Toolchain,
        progress: Progress,
        *,
        extended_resource_toleration: bool = True,
        started_by: str = "lab start",
    ) -> None:
        """Create the lab, or start a stopped lab or the missing processes of a running one, with its controllers.

        Args:
            toolchain: the programs.
            progress: receives messages.
            extended_resource_toleration: see `flags.apiserver`.
            started_by: the command that `status` shows as the creator of the lab.

        Raises:
            StartFailed, NotReady, InterruptedByUserError: the started processes were stopped again.
            LeftoverData: there is data without a record.
        """
        with lock.held(self.name, self.layout, progress), progress.task(f"starting lab {self.name}") as task:
            current = self._usable(toolchain, started_by, progress)
            wanted = replace(current, extended_resource_toleration=extended_resource_toleration)
            if self._ready(current) and wanted == current:
                return
            lab_state = LabState(self.layout, wanted, tied=self._tied)
            stopped = "the started processes were stopped again"
            with interruptible(f"starting lab {self.name}", stopped, "Run the same command again."):
                self._bring_up_or_stop(lab_state, task)

    def stop(self, progress: Progress) -> None:
        """Stop all processes, if any run; data, certificates and ports are kept."""
        with lock.held(self.name, self.layout, progress), progress.task(f"stopping lab {self.name}"):
            self._stop()

    def reset(self, progress: Progress) -> None:
        """Stop the lab and delete its directory, in every state of the lab."""
        with lock.held(self.name, self.layout, progress), progress.task(f"deleting lab {self.name}"):
            self._delete()

    def discard_if_never_ready(self, progress: Progress) -> bool:
        """Delete the files of a killed start or reset, and return whether there is no lab with data now."""
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
        """Start a controller, unless it runs with the same settings; one with other settings is replaced.

        Args:
            name: name of the component, one of `lab.controllers.registry.CONTROLLERS`.
            settings: values of its chart, for Kueue its configuration.
            program: its executable and its manifests.
            progress: receives messages.
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
            again = f"Run `mlcluster lab start --name {self.name}` to continue."
            with interruptible(f"starting {name}", "its process was stopped again, its objects may exist", again):
                run.bring_up(lab_state, name, task)

    def stop_controllers(self, names: Iterable[str], progress: Progress) -> None:
        """Stop controllers, if they run, and delete every object of their charts.

        Raises:
            ControllerInUse: objects of their kinds exist, so this changed nothing.
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
                interruptible(doing, "some of the objects may still exist", "Run the same command again."),
            ):
                run.take_down(LabState(self.layout, current, tied=self._tied), going, task)

    def alive_and_ended(self) -> tuple[list[str], list[str]]:
        """Return the names of the components whose process runs, and of those whose process has ended."""
        try:
            current = record.load(self.layout)
        except ValueError:
            current = None
        known = () if current is None else current.processes
        alive = {one.name for one in known if process.alive(one)}
        return sorted(alive), sorted({one.name for one in known} - alive)

    def repair(self, progress: Progress) -> list[str]:
        """Restart the ended components of a running lab, and return their names; do nothing if the lab is locked.

        While this process itself holds the lock, an API server without its database is stopped, because it would delay
        every request by a minute.

        Raises:
            MlclusterError: a component does not start, so the whole lab was stopped.
        """
        with lock.held_if_free(self.layout, "restarting ended components") as free:
            dead = self.alive_and_ended()[1]
            current = record.load(self.layout)
            if current is None or not dead:
                return []
            server = current.process("kube-apiserver")
            if not free and "etcd" in dead and server is not None and lock.is_held_here(self.layout):
                process.stop(server, grace=0.5)
            if not free or current.phase != "running":
                return []
            progress.say(f"{' and '.join(dead)} of lab {self.name} ended unexpectedly; restarting")
            lab_state = LabState(self.layout, current, tied=self._tied)
            try:
                self._bring_up_parts(lab_state, _SILENT)
            except BaseException:
                lab_state.end_all()
                raise
            progress.say(f"lab {self.name} is complete again")
            return dead

    def require_idle(self, names: Iterable[str]) -> None:
        """Check that no namespace has objects of the kinds of these controllers.

        Raises:
            ControllerInUse: a namespace has such objects, which would be deleted with the controller.
        """
        lab_state = LabState(self.layout, self._running("looking for what controllers manage"))
        for name in names:
            # /registry/GROUP/KIND/NAMESPACE/NAME; cluster-scoped objects belong to the creator of the controller.
            if found := [key for key in run.in_use(lab_state, name) if key.count("/") == 5]:
                raise run.ControllerInUse(name, found)

    def controllers(self) -> tuple[str, ...]:
        """Return the names of the lab's controllers in start order, also of a stopped lab."""
        try:
            current = record.load(self.layout)
        except ValueError:
            return ()
        return () if current is None else tuple(known.name for known in current.controllers)

    def runs_with(self, *, extended_resource_toleration: bool) -> bool:
        """Return whether the lab runs with this setting, so that `start` would start nothing."""
        try:
            current = record.load(self.layout)
        except ValueError:
            return False
        wanted = current is not None and current.extended_resource_toleration == extended_resource_toleration
        return wanted and self.status().state == "running"

    def status(self) -> LabStatus:
        """Return the present status of the lab."""
        return status.read(self.name, self.layout)

    def keys(self) -> frozenset[str]:
        """Return the keys that the lab stores now, such as `/registry/pods/default/a`."""
        return keys.stored(self.layout, self._running("listing what the lab stores").ports.etcd)

    def baseline_keys(self) -> frozenset[str]:
        """Return the keys that the bare control plane stored after its first start, without temporary ones."""
        self._running("reading the baseline")
        return frozenset(self.layout.baseline.read_text().split("\n"))

    def leftovers(self) -> frozenset[str]:
        """Return the present keys that are not in the baseline, without temporary ones: events and leases."""
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
        )  # before there is data, so that a kill leaves no data without a record
        if not lab_state.record.born:
            control_plane.prepare(self.layout)
        self._bring_up_parts(lab_state, task)
        lab_state.write(replace(lab_state.record, phase="running", born=True))

    def _bring_up_parts(self, lab_state: LabState, task: Task) -> None:
        control_plane.bring_up(lab_state, task, self._choose_ports)
        if not lab_state.record.born:
            task.update("noting what it stores")
            control_plane.note_baseline(self.layout, lab_state.record.ports)
        for known in lab_state.record.active:
            if not run.works(lab_state, known.name):
                run.bring_up(lab_state, known.name, task)

    def _removed(self, current: Record, task: Task) -> Record:
        """Complete the controller removals of a killed command before a start, and return the record."""
        lab_state = LabState(self.layout, current, tied=self._tied)
        if current.removing:
            run.take_down(lab_state, current.removing, task)
        return lab_state.record

    def _delete(self) -> None:
        """Delete the lab; a kill in between leaves the record of a lab that was never ready."""
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
    """Return every lab of this user, sorted by name."""
    if not labs_directory().is_dir():
        return []
    names = sorted(found.name for found in labs_directory().iterdir() if found.is_dir())
    return [Lab(name).status() for name in names if _NAME.fullmatch(name)]
