"""`mlcluster preflight`: does the AWS account allow what the plan holds, and has this machine what the engine asks for?

It asks only, and changes nothing.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mlcluster.aws.preflight import Report, check
from mlcluster.aws.session import Account, has_credentials, open_account
from mlcluster.checks.model import Check, State
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.findings import Finding
from mlcluster.progress import Progress
from mlcluster.report.checks_text import checks_json, checks_text
from mlcluster.report.preflight_text import preflight_document, preflight_text, without_results
from mlcluster.report.progress import for_terminal
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs.output import print_result, use_color
from mlcluster.verbs.prerequisites import Looking, prerequisites
from mlcluster.verbs.reading import Reading, read

Opening = Callable[..., Account]
"""How an account is found: called as `open_account` is."""


def preflight(path: Path, output: str) -> ExitCode:
    """Prints a row for each check; `FINDINGS` when there is an error that the spec does not allow.

    Returns:
        `INVALID` where nothing is wrong with the account, but something is missing on this machine.

    Raises:
        SpecInvalidError: the spec is unreadable or invalid.
        CredentialsError: AWS has no credentials of ours, or does not take them.
    """
    return preflight_of(read(path), output, for_terminal())


def preflight_of(
    reading: Reading,
    output: str,
    progress: Progress,
    opened: Opening = open_account,
    machine: Looking = prerequisites,
) -> ExitCode:
    """The verb, once the spec is read.

    Args:
        reading: the spec and its plan.
        output: text or json.
        progress: shows what is asked.
        opened: finds the account.
        machine: looks at this machine.
    """
    with progress.task("checking this machine"):
        checks = machine(reading)
    if checks and output != "json":  # first: without credentials for AWS it would never be shown
        print_result(f"This machine\n{checks_text(checks, color=use_color())}\n")
    if _account_blocks(reading, output, progress, opened, checks):
        return ExitCode.FINDINGS
    return ExitCode.INVALID if any(check.state is State.PROBLEM for check in checks) else ExitCode.OK


def _account_blocks(
    reading: Reading, output: str, progress: Progress, opened: Opening, checks: Sequence[Check]
) -> bool:
    """Prints what the account answers; whether there is an error that the spec does not allow."""
    target = reading.spec.target
    if not isinstance(target, EksTarget):
        said = (
            f"{reading.path}: preflight asks an AWS account, and a target of kind {target.kind} has none; "
            f"`mlcluster preview {reading.path}` checks the cluster"
        )
        document = {**without_results(target.kind), "machine": checks_json(checks)}
        print_result(json.dumps(document, indent=2) if output == "json" else said)
        return False
    try:
        report = _ask(reading, target, progress, opened)
    except MlclusterError as error:
        error.document = {**without_results(target.kind, target.region, error), "machine": checks_json(checks)}
        raise
    if output == "json":
        document = {**preflight_document(report, reading.document), "machine": checks_json(checks)}
        print_result(json.dumps(document, indent=2))
    else:
        print_result(preflight_text(report, reading.document, str(reading.path), color=use_color()))
    return any(finding.blocks for finding in report.findings)


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
