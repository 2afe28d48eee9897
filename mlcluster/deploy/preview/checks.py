"""Checks before a preview or an apply: the plan, the AWS account, the cluster, and the components installed in it."""

import os

from mlcluster.deploy.ownership.adoption import take_over
from mlcluster.deploy.preview.cloud_changes import key_findings
from mlcluster.deploy.preview.findings import report_findings
from mlcluster.deploy.preview.installations import discovered, releases_of, show
from mlcluster.deploy.preview.prerequisites import require
from mlcluster.deploy.preview.upgrades import component_findings, component_steps, show_steps, version_findings
from mlcluster.deploy.session import cloud_stack
from mlcluster.deploy.session.cluster import LiveCluster, is_eks
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.findings import Finding, finding
from mlcluster.report.screen import Screen


def check(workspace: Workspace, screen: Screen) -> None:
    """Report the findings about the plan, and check that this machine has the programs that the engine needs."""
    report_findings(workspace, (*workspace.findings, *state_findings(workspace)), screen)
    require(workspace)


def ask_account(workspace: Workspace, screen: Screen) -> None:
    """Report the findings of the AWS account on `eks`; without credentials, report that the check was skipped."""
    if not is_eks(workspace):
        return
    from mlcluster.deploy.preview.account import preflight_findings

    found = preflight_findings(workspace, screen.progress)
    if found is None:
        screen.say("skipped the AWS preflight: found no AWS credentials")
    else:
        report_findings(workspace, found, screen)


def state_findings(workspace: Workspace) -> tuple[Finding, ...]:
    """Return STA001 where the state would be in files of a CI machine."""
    if workspace.plan.cluster.target == "local" or not os.environ.get("CI") or not home_of(workspace).owns_backend:
        return ()
    message = "the state would be in files of this CI machine, and be lost with it"
    return (finding("STA001", ("state",), message, "set state.backend, or MLCLUSTER_BACKEND_URL"),)


def check_cluster(session: Session, screen: Screen, *, adopt: bool = False) -> None:
    """Check the existing objects of the cluster and of its stacks.

    Args:
        adopt: add managed objects that the state misses to it; a preview must not, and stops at them.

    Raises:
        MlclusterError: the lab does not run, or a finding about the cluster is not allowed.
    """
    if session.live is None and not session.is_eks:
        hint = f"Run `mlcluster up {home_of(session.workspace).spec}`."
        raise MlclusterError("opening the cluster", "the lab does not run", hint)
    if session.is_eks:
        aws = session.stacks[0]
        versions = version_findings(session.workspace, cloud_stack.outputs_of(aws), session.live)
        report_findings(session.workspace, versions, screen)
        report_findings(session.workspace, key_findings(session.workspace, aws), screen)
    if session.live is not None:
        take_over(session.plan, session.live, session.stacks, session.progress, write=adopt)
        _check_installations(session, session.live, screen)


def _check_installations(session: Session, live: LiveCluster, screen: Screen) -> None:
    """Show existing installations and version changes; refuse those that block `up`."""
    deployed = releases_of(session.stacks)
    already = discovered(session.workspace, live.kube, deployed)
    changing = component_steps(session.workspace, deployed, already)
    show(session.workspace, already, screen)
    show_steps(changing, screen)
    findings = (*already.findings, *component_findings(session.workspace, changing, already))
    report_findings(session.workspace, findings, screen, doing="comparing the plan with the cluster")
