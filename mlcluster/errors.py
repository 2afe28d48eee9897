"""Errors that a user can act on. Nothing here prints; `cli` does, in one place."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What the shell sees, the same for every verb."""

    OK = 0
    INVALID = 1  # the spec is unreadable or invalid, or the cluster or account is wrong
    DECLINED = 1  # the user has answered no; not 0, so that a script does not go on
    USAGE = 2
    BUG = 3
    FINDINGS = 4  # findings, changes or risks at or above --fail-on
    INTERRUPTED = 130


class MlclusterError(Exception):
    """Something expected went wrong.

    Args:
        doing: what we were doing, as a phrase: "starting etcd".
        happened: what went wrong, as the user should read it; never a secret.
        hint: what to try next, or "" when the message says it already.
        exit_code: what the process ends with.

    Attributes:
        document: what `-o json` prints where the verb has more to report than this error; None for the error alone.
    """

    document: Mapping[str, Any] | None = None

    def __init__(self, doing: str, happened: str, hint: str = "", *, exit_code: ExitCode = ExitCode.INVALID) -> None:
        super().__init__(f"{doing}: {happened}")
        self.doing = doing
        self.happened = happened
        self.hint = hint
        self.exit_code = exit_code

    def as_data(self) -> dict[str, Any]:
        """Return `{doing, happened, hint, exitCode}`."""
        parts = {"doing": self.doing, "happened": self.happened, "hint": self.hint}
        return {**parts, "exitCode": int(self.exit_code)}

    def as_document(self) -> dict[str, Any]:
        """Return `{apiVersion, kind: Error, doing, happened, hint, exitCode}`."""
        return {"apiVersion": "mlcluster/v1alpha1", "kind": "Error", **self.as_data()}


class InterruptedByUserError(MlclusterError):
    """Ctrl-C or SIGTERM: says what is half done and how to resume."""

    def __init__(self, doing: str, happened: str, hint: str) -> None:
        super().__init__(doing, happened, hint, exit_code=ExitCode.INTERRUPTED)
