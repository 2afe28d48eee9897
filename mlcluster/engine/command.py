"""The engine process: start it in its own process group, and stop it from a signal handler."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi.automation import CommandResult, PulumiCommand
from pulumi.automation.errors import InvalidVersionError, create_command_error
from semver import VersionInfo

from mlcluster.engine.locks import ENGINE, PARENT_VARIABLE
from mlcluster.engine.private_servers import private_addresses

if TYPE_CHECKING:
    import psutil

OPERATIONS = frozenset({"up", "preview", "destroy", "refresh"})
"""Long-running commands, which end cleanly when they are interrupted. All other commands run to their end."""

OLDEST, NEWEST = VersionInfo(3, 206), VersionInfo(4)
"""Versions of engines that send events over gRPC and support the SDK's protocol; the lab builds 3.259."""

_LAST_UPDATE = [
    {"kind": "update", "startTime": "2000-01-01T00:00:00.000000Z", "message": "", "environment": {}, "config": {}}
    | {"result": "succeeded"}
]


@cache
def _version(binary: str) -> VersionInfo:
    with tempfile.TemporaryDirectory() as home:  # the engine writes a log of each run into its home
        told = subprocess.run(
            [binary, "version"],
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
    text = told.stdout.strip().removeprefix("v")
    if told.returncode or not VersionInfo.is_valid(text):
        raise InvalidVersionError(f"{binary} does not print its version")
    version = VersionInfo.parse(text)
    if not OLDEST <= version < NEWEST:
        raise InvalidVersionError(f"{binary} is {version}; mlcluster requires at least {OLDEST} and less than {NEWEST}")
    return version


def _engine_below(pid: int) -> int:
    """Return the pid of the engine: the child, or the engine below it if the child is a wrapper script.

    A shell that waits for its command does not forward signals, and can exit before or after the command. The process
    is identified by its executable, because the process name of a shell is the name of its script.
    """
    import psutil

    with suppress(psutil.Error):
        below = psutil.Process(pid).children(recursive=True)
        return next((process.pid for process in below if _runs_engine(process)), pid)
    return pid


def _runs_engine(process: "psutil.Process") -> bool:
    import psutil

    with suppress(psutil.Error):
        return Path(process.exe()).name == ENGINE
    return False


class EngineCommand(PulumiCommand):  # type: ignore[misc] # the SDK is not followed by mypy
    """The command object through which the Automation API starts every engine process.

    The child has its own process group, so that Ctrl-C in the terminal reaches only mlcluster, which forwards it:
    Ctrl-C and SIGTERM then work the same way. No variable of the caller's environment that starts with PULUMI_ is
    passed to the engine.

    Args:
        binary: the pulumi executable.
        exists: returns whether the stack exists, None if only the engine can find out.

    Attributes:
        quick: while True, the SDK's commands that read outputs, two for each `up`, return nothing at once.
        stopped: whether the user interrupted the run; no further command starts.
        last: the result of the last command.
    """

    def __init__(self, binary: Path, exists: Callable[[], bool | None]) -> None:
        self.command = str(binary)
        self.version = _version(self.command)
        self.quick = False
        self.stopped = False
        self.last: CommandResult | None = None
        self._exists = exists
        self._child: subprocess.Popen[str] | None = None
        self._operation = ""

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], Any] | None = None,
        on_error: Callable[[str], Any] | None = None,
    ) -> CommandResult:
        """Run one engine command to its end, and set `last`; raises the SDK's `CommandError` if it fails."""
        del on_output, on_error  # the events contain the same facts as data
        result = self._known(args) or self._start(private_addresses(args), cwd, additional_env)
        self.last = result
        if result.code:
            raise create_command_error(result)
        return result

    def interrupt(self) -> None:
        """Interrupt the running operation, which then ends after its current steps; refuse later commands."""
        self.stopped = True
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the operation and its plugins at once; its lock and pending operations stay in the state."""
        self.stopped = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        child = self._child
        if child is not None and self._operation in OPERATIONS and child.poll() is None:
            with suppress(ProcessLookupError):
                if number is signal.SIGKILL:
                    os.killpg(child.pid, number)
                else:
                    os.kill(_engine_below(child.pid), number)

    def _known(self, args: list[str]) -> CommandResult | None:
        """Return the result of a command that needs no process: the SDK runs several, for 0.2 s each."""
        if self.stopped:
            return CommandResult("", "error: interrupted before the engine started", 8)
        if args[:2] == ["stack", "select"] and self._exists() is not None:
            return CommandResult("", "", 0) if self._exists() else CommandResult("", "error: no stack named x found", 6)
        if args[:2] == ["stack", "output"] and self.quick:
            return CommandResult("{}", "", 0)
        if args[:2] == ["stack", "history"]:
            return CommandResult(json.dumps(_LAST_UPDATE), "", 0)
        return None

    def _start(self, args: list[str], cwd: str, additional_env: Mapping[str, str]) -> CommandResult:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        beside = f"{Path(self.command).parent}{os.pathsep}{inherited.get('PATH', os.defpath)}"
        environment = {**inherited, "PATH": beside, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        environment[PARENT_VARIABLE] = str(os.getpid())
        self._operation = args[0]
        with subprocess.Popen(
            [self.command, "--non-interactive", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        ) as child:
            self._child = child
            if self.stopped:  # the signal arrived while the process was starting
                self._signal(signal.SIGINT)
            try:
                stdout, stderr = child.communicate()
            finally:
                self._child = None
        return CommandResult(stdout, stderr, child.returncode)
