"""What a finding is, and the registry of finding IDs. An ID is never reused for another meaning."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; `error` stops `preview` and `up` unless the spec allows it with a reason."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error: what `--fail-on` compares."""
        return {"info": 0, "warning": 1, "error": 2}[self.value]


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One entry of the registry."""

    id: str
    severity: Severity
    title: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule.

    Attributes:
        id: a key of `REGISTRY`.
        severity: from the registry.
        place: the spec's path, e.g. ("teams", 0, "guarantee").
        message: what is wrong, with the figures that prove it.
        hint: what to change.
        allowed: the reason given under `allow` in the spec, or "" when it is not allowed.
    """

    id: str
    severity: Severity
    place: tuple[str | int, ...]
    message: str
    hint: str = ""
    allowed: str = ""


REGISTRY: dict[str, FindingKind] = {}
"""Every finding kind by ID; filled below, documented in docs/findings.md."""


def _register(*kinds: tuple[str, Severity, str]) -> None:
    for identifier, severity, title in kinds:
        REGISTRY[identifier] = FindingKind(identifier, severity, title)
