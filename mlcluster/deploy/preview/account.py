"""Check that the AWS account can create the planned resources. Read-only."""

from collections.abc import Callable
from datetime import UTC, datetime

from mlcluster.aws.preflight import Report, check
from mlcluster.aws.session import Account, has_credentials, open_account
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.findings import Finding
from mlcluster.progress import Progress
from mlcluster.spec.eks import EksTarget

Opening = Callable[..., Account]
"""How an account is found: called as `open_account` is."""


def preflight_findings(
    workspace: Workspace, progress: Progress, opened: Opening = open_account
) -> tuple[Finding, ...] | None:
    """Return the findings of the AWS account about the plan, for `preview` and `up`.

    Returns:
        None when there are no AWS credentials, so that AWS was not asked; () for other targets.

    Raises:
        CredentialsError: there are credentials, and AWS does not take them.
        AwsError: AWS cannot be reached.
    """
    target = workspace.spec.target
    if not isinstance(target, EksTarget):
        return ()
    if not has_credentials(target.region, target.profile):
        return None
    return ask_account(workspace, target, progress, opened).findings


def ask_account(workspace: Workspace, target: EksTarget, progress: Progress, opened: Opening) -> Report:
    """Return the result of every check of the account."""
    account = opened(target.region, target.profile, progress=progress)
    return check(account, workspace.spec, workspace.plan, datetime.now(UTC), progress)
