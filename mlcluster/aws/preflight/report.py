"""The report of a preflight: one result for each check, with its evidence."""

from dataclasses import dataclass
from enum import StrEnum

from mlcluster.findings import Finding


class Status(StrEnum):
    """The status of a completed check."""

    FINE = "fine"
    FOUND = "found"
    UNKNOWN = "unknown"
    NOT_NEEDED = "notNeeded"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The return value of a check.

    Attributes:
        evidence: the observed facts, with figures, in a few sentences.
        findings: the problems; () if there is none.
        needed: False if the check does not apply to the plan, so that it sent no request.
    """

    evidence: str
    findings: tuple[Finding, ...] = ()
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check.

    Attributes:
        check: its name, e.g. "vCPU quotas".
        asked: IAM actions that it uses.
        findings: the findings of the check; for an unknown result, one AWS011 with the reason.
    """

    check: str
    status: Status
    asked: tuple[str, ...]
    evidence: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All results, in the order of the checks.

    Attributes:
        account_id, region, caller: the account, the region, and the ARN of the caller.
        source: the source of the credentials, as text.
    """

    account_id: str
    region: str
    caller: str
    source: str
    results: tuple[Result, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all checks, in the order of the checks."""
        return tuple(finding for result in self.results for finding in result.findings)
