"""Preview a change with the engine and the cluster; without a cluster, every planned object counts as created."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.deploy.node_labels import planned_marks
from mlcluster.deploy.ownership.foreign_fields import widened
from mlcluster.deploy.preview.chart_failures import charts_explained
from mlcluster.deploy.preview.cloud_changes import change_findings
from mlcluster.deploy.preview.destruction import Destruction, destructions
from mlcluster.deploy.preview.findings import report_findings
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.events import Changes
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


@dataclass(frozen=True, slots=True)
class Preview:
    """The changes that `up` would make.

    Attributes:
        changes: of each stack of the session.
        destroyed: the resources that `up` would destroy.
        nodes: labels and taints that would change on nodes of an `existing` cluster, in lines.
        added: fields that other managers added to managed objects and that `up` removes beside the engine, in lines.
    """

    changes: list[Changes]
    destroyed: list[Destruction]
    nodes: list[str]
    added: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many changes the engine and the cluster report."""
        return sum(len(found.effective) for found in self.changes) + len(self.nodes) + len(self.added)


def preview_of(session: Session, screen: Screen, *, refresh: bool) -> Preview:
    """Preview all stacks and the nodes, and show each preview as it comes.

    Raises:
        MlclusterError: a change that AWS would never make; see `cloud_changes`.
    """
    with charts_explained(session.plan):
        changes = _preview_all(session.stacks, screen, refresh=refresh)
    if session.is_eks:
        report_findings(session.workspace, change_findings(session.workspace, session.stacks[:1], changes[:1]), screen)
    nodes = _node_changes(session, screen)
    added = _added_fields(session, screen)
    return Preview(changes, destructions(None if session.live is None else session.live.kube, changes), nodes, added)


def platform_size(workspace: Workspace) -> int:
    """Return how many resources the stack of the platform registers; a process of the lab is not one of them."""
    return len(workspace.plan.objects) + len(workspace.plan.registered_releases)


def planned_size(workspace: Workspace) -> int:
    """Return how many resources the stacks register for the whole plan: a first `up` creates them all."""
    return len(workspace.plan.resources) + platform_size(workspace)


def platform_text(workspace: Workspace) -> str:
    """Return the line about the platform while there is no cluster for it yet."""
    size = platform_size(workspace)
    return f"platform: {size} to create; planned, not previewed: no cluster yet (`mlcluster plan` shows them)"


def planned_text(workspace: Workspace) -> str:
    """Return the plan as the preview of a cluster that does not exist yet."""
    from mlcluster.report.plan_text import plan_text

    label = f"planned, not previewed: no cluster yet; {planned_size(workspace)} to create"
    return f"{plan_text(workspace.plan, color=use_color())}\n{label}"


def _preview_all(stacks: Iterable[Stack], screen: Screen, *, refresh: bool) -> list[Changes]:
    previews = []
    for stack in stacks:
        with screen.operation(f"previewing {stack.title}"):
            changes = stack.engine.preview(refresh=refresh)
        screen.changes(stack.title, changes)
        previews.append(changes)
    return previews


def _added_fields(session: Session, screen: Screen) -> tuple[str, ...]:
    """Show which fields other managers added to managed objects."""
    lines = () if session.live is None else tuple(one.text for one in widened(session.plan, session.live.kube))
    for line in lines:
        screen.say(line)
    return lines


def _node_changes(session: Session, screen: Screen) -> list[str]:
    """Show the changes on the nodes of an `existing` cluster."""
    lines = [] if session.live is None else planned_marks(session.workspace, session.live.kube)
    for line in lines:
        screen.say(f"nodes: {line}")
    return lines
