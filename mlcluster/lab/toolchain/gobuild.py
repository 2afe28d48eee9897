"""Run one `go build` at a time: with progress, ended with mlcluster, its result complete or absent."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.lab.toolchain import pins
from mlcluster.processes import bound_group, run_bound
from mlcluster.progress import Task

_LOOK_EVERY = 1.0  # seconds
_GRACE = 10.0


@dataclass(frozen=True)
class Builder:
    """Builds with `go` in the directory `module`, which has our go.mod and go.sum."""

    go: Path
    module: Path
    environment: dict[str, str]

    def build(self, tool: pins.Tool, target: Path, task: Task) -> None:
        """Make `target` from `tool`'s package; a name of its own until it is finished.

        Raises:
            MlclusterError: with the end of what Go said.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        for stale in target.parent.glob(
            f".{target.name}.*"
        ):  # of a build that was killed; one at a time holds the lock
            stale.unlink(missing_ok=True)
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        flags = tool.ldflags(pins.pinned(tool))
        tags = [f"-tags={','.join(tool.tags)}"] if tool.tags else []
        edited = [f"-modfile={self._edited(tool)}"] if tool.edits else []
        argv = ["build", "-v", "-trimpath", *tags, *edited, "-ldflags", flags, "-o", str(fresh), tool.package]
        log = self.module.with_name(f"{tool.name}.log")
        try:
            code = self._run(argv, log, task)
            if code != 0:
                raise _failed(f"building {tool.name}", log)
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)

    def module_directory(self, module: str) -> Path:
        """Where the source of `module` is, downloaded when it is not there."""
        argv = (self.go, "mod", "download", "-json", module)
        answer = run_bound(argv, cwd=self.module, env=self.environment)
        facts = json.loads(answer.stdout or "{}")
        if "Dir" not in facts:
            said = facts.get("Error") or answer.stderr.strip()[-400:]
            raise MlclusterError(f"downloading {module}", said, _NETWORK)
        return Path(facts["Dir"])

    def _edited(self, tool: pins.Tool) -> Path:
        """A go.mod in which an edited copy stands in for the tool's module: Go overlays nothing in its module cache."""
        place = self.module.with_name(f"{tool.name}.edited")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.module_directory(tool.module), place / "source", copy_function=shutil.copyfile)
        for edit in tool.edits:
            file = place / "source" / edit.file
            text = file.read_text()
            if text.count(edit.old) != 1:
                found = f"{edit.file} has changed: {edit.old!r} stands there {text.count(edit.old)} times"
                raise MlclusterError(f"building {tool.name}", found)
            file.write_text(text.replace(edit.old, edit.new))
        stands_in = f"\nreplace {tool.module} => {place / 'source'}\n"
        (place / "go.mod").write_text((self.module / "go.mod").read_text() + stands_in)
        shutil.copyfile(self.module / "go.sum", place / "go.sum")
        return place / "go.mod"

    def _run(self, argv: list[str], log: Path, task: Task) -> int:
        with (
            log.open("wb") as output,
            bound_group() as group,
            subprocess.Popen(
                [self.go, *argv],
                cwd=self.module,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=group,  # so that the compilers end together with it
            ) as child,
        ):
            try:
                return _watch(child, log, task)
            except BaseException:
                _end(child, group)
                raise


_NETWORK = "modules come from GOPROXY (default: Go's public proxy), which must be reachable; then try again"


def _watch(child: "subprocess.Popen[bytes]", log: Path, task: Task) -> int:
    shown = 0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(timeout=_LOOK_EVERY)
        lines = log.read_bytes().splitlines()
        if len(lines) > shown:
            shown = len(lines)
            task.update(f"{shown} packages, now {lines[-1].decode(errors='replace')[:80]}")


def _end(child: "subprocess.Popen[bytes]", group: int) -> None:
    """Ask the build to end; the caller's process group is killed when that takes too long."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(group, signal.SIGINT)
        child.wait(timeout=_GRACE)
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _failed(doing: str, log: Path) -> MlclusterError:
    lines = log.read_text(errors="replace").splitlines()
    said = "\n".join(lines[-8:])
    network = any(word in said for word in ("dial tcp", "proxyconnect", "i/o timeout", "no such host", "TLS"))
    return MlclusterError(doing, said or "Go said nothing", _NETWORK if network else f"the whole log is {log}")
