"""`mlcluster preflight`: check that the AWS account can create the planned resources, and this machine.

It is read-only.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from mlcluster.aws.session import open_account
from mlcluster.checks.model import Check, State
from mlcluster.deploy.preview.account import Opening, ask_account
from mlcluster.deploy.preview.prerequisites import Looking, prerequisites
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Progress
from mlcluster.report.checks_text import checks_json, checks_text
from mlcluster.report.preflight_text import preflight_document, preflight_text, without_results
from mlcluster.report.progress import for_terminal
from mlcluster.report.standard_output import print_result, use_color
from mlcluster.spec.eks import EksTarget


def preflight(path: Path, output: str) -> ExitCode:
    """Print a row for each check; return `FINDINGS` if there is an error that the spec does not allow.

    Returns:
        `INVALID` where nothing is wrong with the account, but something is missing on this machine.

    Raises:
        SpecInvalidError: the spec is unreadable or invalid.
        CredentialsError: there are no AWS credentials, or AWS rejects them.
    """
    return preflight_of(load_workspace(path), output, for_terminal())


def preflight_of(
    workspace: Workspace,
    output: str,
    progress: Progress,
    opened: Opening = open_account,
    machine: Looking = prerequisites,
) -> ExitCode:
    """Check the account and this machine for a workspace.

    Args:
        workspace: the spec and its plan.
        output: text or json.
        progress: shows the current check.
        opened: finds the account.
        machine: looks at this machine.
    """
    with progress.task("checking this machine"):
        checks = machine(workspace)
    if checks and output != "json":  # first: without credentials for AWS it would never be shown
        print_result(f"This machine\n{checks_text(checks, color=use_color())}\n")
    if _account_blocks(workspace, output, progress, opened, checks):
        return ExitCode.FINDINGS
    return ExitCode.INVALID if any(check.state is State.PROBLEM for check in checks) else ExitCode.OK


def _account_blocks(
    workspace: Workspace, output: str, progress: Progress, opened: Opening, checks: Sequence[Check]
) -> bool:
    """Print the results of the account; return whether there is an error that the spec does not allow."""
    target = workspace.spec.target
    if not isinstance(target, EksTarget):
        said = (
            f"{workspace.path}: preflight asks an AWS account, and a target of kind {target.kind} has none; "
            f"`mlcluster preview {workspace.path}` checks the cluster"
        )
        document = {**without_results(target.kind), "machine": checks_json(checks)}
        print_result(json.dumps(document, indent=2) if output == "json" else said)
        return False
    try:
        report = ask_account(workspace, target, progress, opened)
    except MlclusterError as error:
        error.document = {**without_results(target.kind, target.region, error), "machine": checks_json(checks)}
        raise
    if output == "json":
        document = {**preflight_document(report, workspace.document), "machine": checks_json(checks)}
        print_result(json.dumps(document, indent=2))
    else:
        print_result(preflight_text(report, workspace.document, str(workspace.path), color=use_color()))
    return any(finding.blocks for finding in report.findings)
