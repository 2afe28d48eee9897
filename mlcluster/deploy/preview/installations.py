"""Existing installations in the cluster: their components, their owners, and the decision of `up` on each."""

from collections.abc import Iterable
from pathlib import Path

from mlcluster.catalog.signatures import all_signatures
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import kubeconfig_of
from mlcluster.deploy.session.stack import PLATFORM, Stack, home_of, project_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.state import parse_checkpoint, releases_in
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.installed import look
from mlcluster.report.installed_text import installed_document, installed_text
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color
from mlcluster.rules.existing_installations import ManagedState
from mlcluster.rules.installed import Discovery, discover
from mlcluster.rules.upgrades import Deployed

EXPECTED = frozenset({"ours", "install"})
"""Decisions that the user need not see."""


def discovered(workspace: Workspace, kube: Kube, deployed: Iterable[Deployed]) -> Discovery:
    """Compare the installed components with the plan.

    Args:
        deployed: the releases of the stack's state; they are managed, even if their objects lost the labels.
    """
    managed = ManagedState(workspace.plan.cluster.name, frozenset((one.namespace, one.name) for one in deployed))
    return discover(workspace.plan, look(kube), managed, all_signatures())


def show(workspace: Workspace, already: Discovery, screen: Screen) -> None:
    """Show the table if it has an unexpected row, and always on an existing cluster."""
    if workspace.plan.cluster.target == "existing" or any(row.decision not in EXPECTED for row in already.rows):
        screen.result("Installed", installed_text(already, color=use_color()), installed_document(already))


def releases_of(stacks: Iterable[Stack]) -> list[Deployed]:
    """Return the Helm releases of all stacks of a cluster."""
    return [one for stack in stacks for one in stack.engine.releases()]


def looked_at(workspace: Workspace) -> tuple[Discovery, list[Deployed]]:
    """Compare without an engine, for `plan --live`: with the state where it is a file, else with the cluster.

    Raises:
        MlclusterError: there is no cluster yet, or none that answers.
    """
    place = kubeconfig_of(workspace)
    if place is None:
        hint = "`mlcluster plan` without --live needs none"
        raise MlclusterError("looking at the cluster", "there is none that runs", hint)
    path, context = place
    with Kube.from_kubeconfig(Path(path), context) as kube:
        deployed = deployed_in(workspace, kube)
        return discovered(workspace, kube, deployed), deployed


def deployed_in(workspace: Workspace, kube: Kube) -> list[Deployed]:
    """Return the releases of the stack without an engine: from the state's file, else by the owner in the cluster."""
    home = home_of(workspace)
    checkpoint = home.checkpoint(project_of(PLATFORM))
    if checkpoint is not None and checkpoint.is_file():
        return releases_in(parse_checkpoint(checkpoint.read_text(encoding="utf-8")) or {})
    if checkpoint is not None or not owner.is_owner(kube, workspace.spec.metadata.name, home):
        return []
    # The state is elsewhere, but the cluster names this stack as its owner: releases with planned names are managed.
    seen = {(one.namespace, one.name): one for one in look(kube).releases}
    wanted = [seen.get((release.namespace, release.name)) for release in workspace.plan.releases]
    return [Deployed(one.namespace, one.name, one.chart, one.version) for one in wanted if one is not None]
