"""The one place where findings end a run: `preview` and `up` report every finding here."""

from collections.abc import Iterable

from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.findings import Finding, Severity
from mlcluster.report.screen import Screen
from mlcluster.rules.allowances import with_reasons


def report_findings(
    workspace: Workspace, made: Iterable[Finding], screen: Screen, *, doing: str = "checking the plan"
) -> None:
    """Print warnings and allowed errors, and stop at an error that the spec does not allow.

    Args:
        made: findings, with or without the reasons of the spec.
        doing: the operation that found them, for the error.

    Raises:
        MlclusterError: names the first such error; the others are printed with their hints.
    """
    findings = with_reasons(made, workspace.spec)
    for finding in findings:
        if finding.severity is not Severity.INFO and not finding.blocks:
            accepted = f" (allowed: {finding.allowed})" if finding.allowed else ""
            screen.say(f"{finding.severity.value} {finding.id}: {finding.message}{accepted}")
    blocking = [finding for finding in findings if finding.blocks]
    if not blocking:
        return
    first, *others = blocking
    for finding in others:
        screen.say(f"{finding.severity.value} {finding.id}: {finding.message}\n  {finding.hint}")
    more = f" (and {len(others)} more, above)" if others else ""
    accept = f"or accept it in the spec: allow: [{{id: {first.id}, reason: why this is fine here}}]"
    hint = "; ".join(part for part in (first.hint.rstrip("."), accept) if part)
    raise MlclusterError(doing, f"{first.id}: {first.message}{more}", hint)
