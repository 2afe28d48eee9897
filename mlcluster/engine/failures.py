"""Conversion of engine failures into errors without secrets. Pure.

The engine reports failures by exit code, by fixed messages on stderr, and by events. The messages below are those of
engine 3.259 (tests/unit/engine/test_failures.py contains each of them).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlcluster.engine.locks import Lock, is_alive, locks_in_message
from mlcluster.errors import ExitCode, MlclusterError

CHECKPOINT_RACE = "failed to load checkpoint: EOF"
LOCKED = "the stack is currently locked by"
_SECRETS = (
    (re.compile(r"(\w+://)[^/\s:@]+:[^/\s@]+@"), r"\1***@"),
    (re.compile(r"\bpul-[0-9a-f]{20,}"), "***"),
    (re.compile(r"(?i)((?:account_?key|secret|token|passphrase|password)=)[^\s;&]+"), r"\1***"),
)


class ResourcesFailedError(MlclusterError):
    """Resources of the plan failed.

    Attributes:
        resources: id and message of each, in the order of failure, without secrets.
    """

    def __init__(self, doing: str, resources: Sequence[tuple[str, str]]) -> None:
        self.resources = tuple((identifier, scrub(message or "failed")) for identifier, message in resources)
        count = f"{len(self.resources)} resource{'s' if len(self.resources) > 1 else ''} failed"
        lines = [f"{identifier}: {message}" for identifier, message in self.resources]
        hint = "Correct the cause and run the same command again. The completed changes stay and are recorded."
        super().__init__(doing, "\n  ".join([count, *lines]), hint)


@dataclass(frozen=True, slots=True)
class Failed:
    """The result of a failed engine command.

    Attributes:
        spec: the spec file, for the commands in hints.
        code: exit code; negative for a signal.
        stderr: the error output of the engine.
        resources: id and message of each failed resource.
        program_error: traceback of the program, "" if it raised no exception.
        errors: error messages that concern no resource of the plan.
    """

    spec: str
    code: int
    stderr: str
    resources: Sequence[tuple[str, str]] = ()
    program_error: str = ""
    errors: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    pattern: re.Pattern[str]
    happened: str
    hint: str


def _known(pattern: str, happened: str, hint: str) -> _Known:
    return _Known(re.compile(pattern, re.IGNORECASE), happened, hint)


_SENTENCES = (
    _known(
        r"incorrect passphrase",
        "the passphrase is not the one that encrypted this stack's secrets",
        "Restore the passphrase file of the stack, or set PULUMI_CONFIG_PASSPHRASE to the right one.",
    ),
    _known(
        r"passphrase must be set|PULUMI_CONFIG_PASSPHRASE_FILE",
        "no passphrase can be read for this stack's secrets",
        "Restore the passphrase file of the stack, or set PULUMI_CONFIG_PASSPHRASE.",
    ),
    _known(
        re.escape(CHECKPOINT_RACE),
        "another run was writing the state at every attempt to read it",
        "Wait for the other run to end and try again.",
    ),
    _known(r"no space left on device", "the disk is full", "Free some space and run the same command again."),
    _known(
        r"no resource plugin 'pulumi-resource-(?P<name>[a-z-]+)' found .* version (?P<version>v[0-9.]+[0-9])",
        "the engine has no plugin for {name} {version}",
        "Run `mlcluster plugins install`, then the same command again; `mlcluster plugins list` shows all plugins.",
    ),
    _known(
        r"no resource plugin|could not find plugin|plugin .* not found",
        "a provider plugin of the engine is missing: {line}",
        "Run `mlcluster plugins install`. For Kubernetes, `kubernetesProvider: builtin` needs no plugin.",
    ),
    _known(
        r"failed to load checkpoint|could not deserialize|unexpected end of JSON|invalid character .* looking for",
        "the state file is damaged: {line}",
        "Restore it from the .bak file beside it or from the backups directory of the backend.",
    ),
    _known(
        r"unable to open state directory|could not open bucket|read \"\.pulumi/meta\.yaml\"|NoSuchBucket"
        r"|no such host|connection refused.*backend|problem logging in",
        "the state backend cannot be reached: {line}",
        "Check the backend's address, your credentials for it, and the network.",
    ),
    _known(r"permission denied", "a file of the stack cannot be read or written: {line}", "Check its owner."),
    _known(
        r"no stack named",
        "there is no such stack in this backend",
        "Check metadata.name and the backend; `mlcluster up` creates the stack.",
    ),
)


def scrub(text: str) -> str:
    """Return the text without credentials in URLs, access tokens and key=value pairs."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def explain(
    doing: str, failed: Failed, *, alive: Callable[[Lock], bool | None] = is_alive, binary: str = "pulumi"
) -> MlclusterError:
    """Return the error for a failed engine command; `doing` is the interrupted activity as a phrase."""
    if LOCKED in failed.stderr:
        return lock_conflict(doing, failed.spec, locks_in_message(failed.stderr), alive=alive)
    if failed.program_error:
        last = [line for line in failed.program_error.splitlines() if line.strip()][-1].strip()
        happened = f"the Pulumi program failed: {scrub(last)}"
        return MlclusterError(doing, happened, "This is a bug of mlcluster.", exit_code=ExitCode.BUG)
    if failed.resources:
        return ResourcesFailedError(doing, failed.resources)
    if failed.code < 0:
        happened = f"the engine was killed (exit {failed.code}) before it could finish"
        return MlclusterError(doing, happened, "Run the same command again; it continues from the present state.")
    said = "\n".join((failed.stderr, *(f"error: {text}" for text in failed.errors)))
    line = scrub(_last_error(said))
    for known in _SENTENCES:
        if found := known.pattern.search(said):
            parts = {"line": line, **found.groupdict()}
            return MlclusterError(doing, known.happened.format(**parts), known.hint.format(**parts))
    told = "\n  ".join(map(scrub, failed.errors)) or line
    return MlclusterError(doing, told or f"{binary} ended with exit {failed.code} without output")


def lock_conflict(
    doing: str, spec: str, locks: Sequence[Lock], *, alive: Callable[[Lock], bool | None] = is_alive
) -> MlclusterError:
    """Return the error for a locked stack: its owner, the start, and whether that process is alive.

    Args:
        doing: the activity that failed, as a phrase.
        spec: the spec file, quoted for a shell.
        locks: the present locks; [] if the engine names none.
        alive: returns whether the owner of a lock is alive; None if that is unknown.
    """
    unlock = f"Run `mlcluster unlock {spec}`."
    if not locks:
        return MlclusterError(doing, "another run holds the stack", f"Wait for it to end. Otherwise, {unlock}")
    held = "; ".join(f"{lock.owner}, {_state(alive(lock))}" for lock in locks)
    states = [alive(lock) for lock in locks]
    hint = unlock
    if any(states):
        hint = "Wait for it to end."
    elif None in states:
        hint = f"Make sure that no run is in progress on that host. Then run `mlcluster unlock {spec} --assume-dead`."
    return MlclusterError(doing, f"the stack is held by {held}", hint)


def _state(alive: bool | None) -> str:  # noqa: FBT001 - three values, not a flag
    if alive is None:
        return "which cannot be checked from this host"
    return "which is still running" if alive else "which is no longer running"


def _last_error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or [""])[-1]
