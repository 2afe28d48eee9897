"""What would change, asked of the engine and the cluster; before there is a cluster the plan stands for it."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.deploy.node_labels import planned_marks
from mlcluster.deploy.ownership.foreign_fields import widened
from mlcluster.deploy.preview.chart_failures import charts_explained
from mlcluster.deploy.preview.checks import tell
from mlcluster.deploy.preview.cloud_changes import change_findings
from mlcluster.deploy.preview.destruction import Destruction, destructions
from mlcluster.deploy.session.cluster import LiveCluster, is_eks
from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.events import Changes
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


@dataclass(frozen=True, slots=True)
class Previewed:
    """What would be done.

    Attributes:
        stages: the stacks.
        changes: of each stack.
        going: what would be destroyed.
        marks: what would change on nodes that somebody else made, in lines.
        added: what other managers added to managed objects and `up` removes beside the engine, in lines.
    """

    stacks: list[Stack]
    changes: list[Changes]
    going: list[Destruction]
    marks: list[str]
    added: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many changes the engine and the cluster have told."""
        return sum(len(found.effective) for found in self.changes) + len(self.marks) + len(self.added)


def previewed(
    workspace: Workspace, live: LiveCluster | None, stacks: list[Stack], screen: Screen, *, refresh: bool
) -> Previewed:
    """The previews of all stacks and of the nodes, shown as they come.

    Raises:
        MlclusterError: a change that AWS would never make; see `cloud_changes`.
    """
    with charts_explained(workspace.plan):
        changes = _preview_all(stacks, screen, refresh=refresh)
    if is_eks(workspace):
        tell(workspace, change_findings(workspace, stacks[:1], changes[:1]), screen)
    marks = _node_marks(workspace, live, screen)
    added = _added(workspace, live, screen)
    return Previewed(stacks, changes, destructions(None if live is None else live.kube, changes), marks, added)


def platform_size(workspace: Workspace) -> int:
    """How many resources the platform's stack registers; a release that runs as a process of the lab is none."""
    return len(workspace.plan.objects) + len(workspace.plan.registered_releases)


def planned_size(workspace: Workspace) -> int:
    """How many resources the stacks register for the whole plan: what a first `up` creates."""
    return len(workspace.plan.resources) + platform_size(workspace)


def platform_text(workspace: Workspace) -> str:
    """What is said of the platform while the cloud's stack makes the cluster for it."""
    size = platform_size(workspace)
    return f"platform: {size} to create; planned, not previewed: no cluster yet (`mlcluster plan` shows them)"


def planned_text(workspace: Workspace) -> str:
    """Before there is a cluster nobody can be asked: the plan stands for the preview, and says so."""
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


def _added(workspace: Workspace, live: LiveCluster | None, screen: Screen) -> tuple[str, ...]:
    """What other managers added to managed objects, shown."""
    lines = () if live is None else tuple(one.text for one in widened(workspace.plan, live.kube))
    for line in lines:
        screen.say(line)
    return lines


def _node_marks(workspace: Workspace, live: LiveCluster | None, screen: Screen) -> list[str]:
    """What would change on nodes that somebody else made, shown."""
    marks = [] if live is None else planned_marks(workspace, live.kube)
    for line in marks:
        screen.say(f"nodes: {line}")
    return marks
