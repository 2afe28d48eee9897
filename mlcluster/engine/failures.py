"""Translate failures of the engine into errors without secrets. Pure.

The engine tells failures by exit code, by regular sentences on stderr and by events. The sentences below were collected
from engine 3.259 (see tests/unit/engine/test_failures.py for each as it was printed).
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
        resources: id and message of each, in the order in which they failed; nothing secret is in a message.
    """

    def __init__(self, doing: str, resources: Sequence[tuple[str, str]]) -> None:
        self.resources = tuple((identifier, scrub(message or "failed")) for identifier, message in resources)
        count = f"{len(self.resources)} resource{'s' if len(self.resources) > 1 else ''} failed"
        lines = [f"{identifier}: {message}" for identifier, message in self.resources]
        hint = "What was done stays and is recorded. Mend the cause and run the same command again."
        super().__init__(doing, "\n  ".join([count, *lines]), hint)


@dataclass(frozen=True, slots=True)
class Failed:
    """How an engine command ended.

    Attributes:
        spec: the spec file, for the commands in hints.
        code: exit code; negative for a signal.
        stderr: what the engine printed.
        resources: id and message of each failed resource.
        program_error: traceback of the program, "" when it did not raise.
        errors: what it said of no resource of the plan.
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
        "the state was being written by another run each time it was read",
        "Wait for the other run to end and try again.",
    ),
    _known(r"no space left on device", "the disk is full", "Free some space and run the same command again."),
    _known(
        r"no resource plugin 'pulumi-resource-(?P<name>[a-z-]+)' found .* version (?P<version>v[0-9.]+[0-9])",
        "the engine has no plugin for {name} {version}",
        "Run `mlcluster plugins install`, then the same command again; `mlcluster plugins list` shows what is there.",
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
    _known(r"permission denied", "a file of the stack is not ours to read or write: {line}", "Check its owner."),
    _known(
        r"no stack named",
        "there is no such stack in this backend",
        "Check metadata.name and the backend; `mlcluster up` makes the stack.",
    ),
)


def scrub(text: str) -> str:
    """Takes credentials out of a text: in URLs, access tokens, key=value pairs."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def explain(
    doing: str, failed: Failed, *, alive: Callable[[Lock], bool | None] = is_alive, binary: str = "pulumi"
) -> MlclusterError:
    """The error to raise for a failed engine command; `doing` is what we were doing, as a phrase."""
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
        return MlclusterError(doing, happened, "Run the same command again; it goes on from what is there.")
    said = "\n".join((failed.stderr, *(f"error: {text}" for text in failed.errors)))
    line = scrub(_last_error(said))
    for known in _SENTENCES:
        if found := known.pattern.search(said):
            parts = {"line": line, **found.groupdict()}
            return MlclusterError(doing, known.happened.format(**parts), known.hint.format(**parts))
    told = "\n  ".join(map(scrub, failed.errors)) or line
    return MlclusterError(doing, told or f"{binary} ended with exit {failed.code} and said nothing")


def lock_conflict(
    doing: str, spec: str, locks: Sequence[Lock], *, alive: Callable[[Lock], bool | None] = is_alive
) -> MlclusterError:
    """The error for a stack that another run holds: who, since when, and whether that process lives.

    Args:
        doing: what failed.
        spec: the spec file, quoted for a shell.
        locks: those that are held; [] where the engine names none.
        alive: whether the holder of a lock still runs.
    """
    unlock = f"Run `mlcluster unlock {spec}`."
    if not locks:
        return MlclusterError(doing, "another run holds the stack", f"Wait for it, or: {unlock}")
    held = "; ".join(f"{lock.owner}, {_state(alive(lock))}" for lock in locks)
    states = [alive(lock) for lock in locks]
    hint = unlock
    if any(states):
        hint = "Wait for it to end."
    elif None in states:
        hint = f"Make sure that nothing runs on that host any more. Then run `mlcluster unlock {spec} --assume-dead`."
    return MlclusterError(doing, f"the stack is held by {held}", hint)


def _state(alive: bool | None) -> str:  # noqa: FBT001 - three answers, not a flag
    if alive is None:
        return "which cannot be checked from this host"
    return "which is still running" if alive else "which is no longer running"


def _last_error(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or [""])[-1]
