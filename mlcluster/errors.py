"""Errors that a user can act on. Nothing here prints; `cli` does, in one place."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes, the same for every command."""

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
        doing: the operation, as a phrase: "starting etcd".
        happened: the problem, as text for the user; never a secret.
        hint: the next step for the user; "" if the message contains it.
        exit_code: exit code of the process.

    Attributes:
        document: the result that `-o json` prints if there is more than this error; None for the error alone.
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
    """Ctrl-C or SIGTERM: describes the partial work and how to resume it."""

    def __init__(self, doing: str, happened: str, hint: str) -> None:
        super().__init__(doing, happened, hint, exit_code=ExitCode.INTERRUPTED)
