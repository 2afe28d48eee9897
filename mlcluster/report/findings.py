"""Findings as text for a terminal and as data for `-o json`, each with its place in the spec."""

from collections import Counter
from typing import Any

from mlcluster.findings import Finding
from mlcluster.report.problems import problem_json, problem_text
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.load import locate_problem
from mlcluster.spec.problems import LocatedProblem

DOCUMENTATION = "docs/findings.md"
_NOUNS = {"error": "error", "warning": "warning", "info": "note"}


def findings_text(findings: tuple[Finding, ...], document: Document, name: str, *, color: bool) -> str:
    """Return every finding with its line and caret; the last line has the verdict and the numbers."""
    blocks = [problem_text(_located(finding, document), color=color) for finding in findings]
    counts = Counter(finding.severity.value for finding in findings)
    numbers = ((counts[severity], noun) for severity, noun in _NOUNS.items() if counts[severity])
    summary = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in numbers)
    verdict = "blocked" if any(finding.blocks for finding in findings) else "valid"
    closing = f"{name}: {verdict}" + (f" ({summary})" if summary else "")
    return "\n".join([*blocks, closing]) + "\n"


def findings_document(findings: tuple[Finding, ...], document: Document) -> dict[str, Any]:
    """Return `{apiVersion, kind: FindingList, findings: [...]}`."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "FindingList",
        "findings": [
            {
                "id": finding.id,
                "severity": finding.severity.value,
                "allowed": finding.allowed,
                **problem_json(_located(finding, document, bare=True)),
            }
            for finding in findings
        ],
    }


def _located(finding: Finding, document: Document, *, bare: bool = False) -> LocatedProblem:
    prefix = "" if bare else f"{finding.severity.value} {finding.id}: "
    allowed = f" (allowed: {finding.allowed})" if finding.allowed and not bare else ""
    return locate_problem(document, Problem(finding.place, f"{prefix}{finding.message}{allowed}", finding.hint))
