"""`mlcluster preflight`: does the AWS account allow what the plan holds? Asks only, changes nothing."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from mlcluster.aws.preflight import Report, check
from mlcluster.aws.session import Account, has_credentials, open_account
from mlcluster.errors import ExitCode
from mlcluster.findings import Finding
from mlcluster.progress import Progress
from mlcluster.report.preflight_text import nothing_to_ask, preflight_document, preflight_text
from mlcluster.report.progress import for_terminal
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs.output import print_result, use_color
from mlcluster.verbs.reading import Reading, read

Opening = Callable[..., Account]
"""How an account is found: called as `open_account` is."""


def preflight(path: Path, output: str) -> ExitCode:
    """Prints a row for each check; `FINDINGS` when there is an error that the spec does not allow.

    Raises:
        SpecInvalidError: the spec is unreadable or invalid.
        CredentialsError: AWS has no credentials of ours, or does not take them.
    """
    return preflight_of(read(path), output, for_terminal())


def preflight_of(reading: Reading, output: str, progress: Progress, opened: Opening = open_account) -> ExitCode:
    """The verb, once the spec is read; `opened` finds the account."""
    target = reading.spec.target
    if not isinstance(target, EksTarget):
        said = (
            f"{reading.path}: preflight asks an AWS account, and a target of kind {target.kind} has none; "
            f"`mlcluster preview {reading.path}` checks the cluster"
        )
        print_result(json.dumps(nothing_to_ask(target.kind), indent=2) if output == "json" else said)
        return ExitCode.OK
    report = _ask(reading, target, progress, opened)
    if output == "json":
        print_result(json.dumps(preflight_document(report, reading.document), indent=2))
    else:
        print_result(preflight_text(report, reading.document, str(reading.path), color=use_color()))
    return ExitCode.FINDINGS if any(finding.blocks for finding in report.findings) else ExitCode.OK


def preflight_findings(
    reading: Reading, progress: Progress, opened: Opening = open_account
) -> tuple[Finding, ...] | None:
    """What the account has against the plan, for `preview` and `up`; the findings carry the spec's `allow`.

    Returns:
        None when there are no credentials at all, so that nobody was asked: the caller says so. () for other targets.

    Raises:
        CredentialsError: there are credentials, and AWS does not take them.
        AwsError: AWS cannot be reached.
    """
    target = reading.spec.target
    if not isinstance(target, EksTarget):
        return ()
    if not has_credentials(target.region, target.profile):
        return None
    return _ask(reading, target, progress, opened).findings


def _ask(reading: Reading, target: EksTarget, progress: Progress, opened: Opening) -> Report:
    account = opened(target.region, target.profile, progress=progress)
    return check(account, reading.spec, reading.plan, datetime.now(UTC), progress)
