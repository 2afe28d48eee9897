"""The report of a preflight: one result for each check, with its evidence."""

from dataclasses import dataclass
from enum import StrEnum

from mlcluster.findings import Finding


class Status(StrEnum):
    """How a check ended."""

    FINE = "fine"
    FOUND = "found"
    UNKNOWN = "unknown"
    NOT_NEEDED = "notNeeded"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check says.

    Attributes:
        evidence: what came back, with figures, in one or a few sentences.
        findings: what is wrong; () when it is fine.
        needed: False when the plan has nothing that this check is about, so nothing was asked.
    """

    evidence: str
    findings: tuple[Finding, ...] = ()
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """One check, run.

    Attributes:
        check: its name, e.g. "quotas".
        asked: IAM actions that it uses.
        findings: of the check; of an unknown one, the AWS011 that says why.
    """

    check: str
    status: Status
    asked: tuple[str, ...]
    evidence: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Every result, in the order of the checks.

    Attributes:
        account_id, region, caller: who was asked, and as whom (an ARN).
        source: where the credentials came from, in words.
    """

    account_id: str
    region: str
    caller: str
    source: str
    results: tuple[Result, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of every check, in their order."""
        return tuple(finding for result in self.results for finding in result.findings)
