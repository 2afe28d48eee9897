"""The report of a preflight as a table with findings, and as data."""

from collections import Counter
from typing import Any

from rich.table import Table
from rich.text import Text

from mlcluster.aws.preflight.report import Report, Result, Status
from mlcluster.errors import MlclusterError
from mlcluster.findings import Finding
from mlcluster.report.problems import problem_json, problem_text
from mlcluster.report.tables import Page, table
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.load import locate_problem

_WORDS = {
    Status.FINE: ("fine", "green"),
    Status.UNKNOWN: ("unknown", "yellow"),
    Status.NOT_NEEDED: ("not needed", "dim"),
}


def preflight_text(report: Report, document: Document, name: str, *, color: bool) -> str:
    """Return the account, a row for each check, and every finding with its line and caret; the last line counts them.

    Args:
        name: of the spec's file.
    """
    page = Page(color=color)
    page.print(Text(f"AWS account {report.account_id}, {report.region}, as {report.caller} ({report.source})"))
    page.print(_results(report.results))
    blocks = [problem_text(_located(finding, document), color=color) for finding in _shown(report)]
    return "\n".join([page.text(), *blocks, f"{name}: {_closing(report)}"]) + "\n"


def _results(results: tuple[Result, ...]) -> Table:
    made = table("CHECK", "RESULT", "EVIDENCE")
    for result in results:
        made.add_row(result.check, _word(result), Text(result.evidence))
    return made


def _word(result: Result) -> Text:
    if result.status is not Status.FOUND:
        return Text(*_WORDS[result.status])
    allowed = all(finding.allowed for finding in result.findings)
    identifiers = ", ".join(dict.fromkeys(finding.id for finding in result.findings))
    return Text(f"{identifiers} (allowed)" if allowed else identifiers, "yellow" if allowed else "red")


def _shown(report: Report) -> tuple[Finding, ...]:
    return tuple(sorted(report.findings, key=lambda finding: (-finding.severity.rank, finding.id, str(finding.place))))


def _located(finding: Finding, document: Document, *, bare: bool = False) -> Any:
    prefix = "" if bare else f"{finding.severity.value} {finding.id}: "
    allowed = f" (allowed: {finding.allowed})" if finding.allowed and not bare else ""
    return locate_problem(document, Problem(finding.place, f"{prefix}{finding.message}{allowed}", finding.hint))


def _closing(report: Report) -> str:
    counts = Counter(result.status for result in report.results)
    asked = sum(counts.values()) - counts[Status.NOT_NEEDED]
    blocking = sum(finding.blocks for finding in report.findings)
    parts = [f"{counts[Status.FINE]} of {asked} checks fine"]
    parts += [f"{counts[Status.UNKNOWN]} unknown"] if counts[Status.UNKNOWN] else []
    parts += [f"{blocking} error{'s' if blocking > 1 else ''} that stop `up`"] if blocking else []
    return ", ".join(parts)


def preflight_document(report: Report, document: Document) -> dict[str, Any]:
    """Return `{apiVersion, kind: PreflightReport, target, account, region, caller, credentials, error, results}`."""
    return {
        **_head("eks"),
        "account": report.account_id,
        "region": report.region,
        "caller": report.caller,
        "credentials": report.source,
        "error": None,
        "results": [
            {
                "check": result.check,
                "status": result.status.value,
                "asked": list(result.asked),
                "evidence": result.evidence,
                "findings": [_finding(finding, document) for finding in result.findings],
            }
            for result in report.results
        ],
    }


def without_results(target: str, region: str | None = None, error: MlclusterError | None = None) -> dict[str, Any]:
    """Return the same document where no account answered.

    Args:
        target: kind of the target.
        region: of the account; None for a target without one.
        error: why the account did not answer; None for a target without one.
    """
    nothing = {"account": None, "region": region, "caller": None, "credentials": None}
    return {**_head(target), **nothing, "error": None if error is None else error.as_data(), "results": []}


def _head(target: str) -> dict[str, Any]:
    return {"apiVersion": "mlcluster/v1alpha1", "kind": "PreflightReport", "target": target}


def _finding(finding: Finding, document: Document) -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "allowed": finding.allowed,
        **problem_json(_located(finding, document, bare=True)),
    }
