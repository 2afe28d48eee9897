"""What would change, asked of the engine and the cluster; before there is a cluster the plan stands for it."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.engine.events import Changes
from mlcluster.report.screen import Screen
from mlcluster.verbs.added import widened
from mlcluster.verbs.charts import charts_explained
from mlcluster.verbs.cloud_changes import change_findings
from mlcluster.verbs.conditions import tell
from mlcluster.verbs.destruction import Destruction, destructions
from mlcluster.verbs.live import LiveCluster, is_eks
from mlcluster.verbs.node_marks import planned_marks
from mlcluster.verbs.output import use_color
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import Stage


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

    stages: list[Stage]
    changes: list[Changes]
    going: list[Destruction]
    marks: list[str]
    added: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many changes the engine and the cluster have told."""
        return sum(len(found.effective) for found in self.changes) + len(self.marks) + len(self.added)


def previewed(
    reading: Reading, live: LiveCluster | None, stages: list[Stage], screen: Screen, *, refresh: bool
) -> Previewed:
    """The previews of all stacks and of the nodes, shown as they come.

    Raises:
        MlclusterError: a change that AWS would never make; see `cloud_changes`.
    """
    with charts_explained(reading.plan):
        changes = _preview_all(stages, screen, refresh=refresh)
    if is_eks(reading):
        tell(reading, change_findings(reading, stages[:1], changes[:1]), screen)
    marks = _node_marks(reading, live, screen)
    added = _added(reading, live, screen)
    return Previewed(stages, changes, destructions(None if live is None else live.kube, changes), marks, added)


def platform_size(reading: Reading) -> int:
    """How many resources the platform's stack registers; a release that runs as a process of the lab is none."""
    return len(reading.plan.objects) + len(reading.plan.registered_releases)


def planned_size(reading: Reading) -> int:
    """How many resources the stacks register for the whole plan: what a first `up` creates."""
    return len(reading.plan.resources) + platform_size(reading)


def platform_text(reading: Reading) -> str:
    """What is said of the platform while the cloud's stack makes the cluster for it."""
    size = platform_size(reading)
    return f"platform: {size} to create; planned, not previewed: no cluster yet (`mlcluster plan` shows them)"


def planned_text(reading: Reading) -> str:
    """Before there is a cluster nobody can be asked: the plan stands for the preview, and says so."""
    from mlcluster.report.plan_text import plan_text

    label = f"planned, not previewed: no cluster yet; {planned_size(reading)} to create"
    return f"{plan_text(reading.plan, color=use_color())}\n{label}"


def _preview_all(stages: Iterable[Stage], screen: Screen, *, refresh: bool) -> list[Changes]:
    previews = []
    for stage in stages:
        with screen.operation(f"previewing {stage.title}"):
            changes = stage.engine.preview(refresh=refresh)
        screen.changes(stage.title, changes)
        previews.append(changes)
    return previews


def _added(reading: Reading, live: LiveCluster | None, screen: Screen) -> tuple[str, ...]:
    """What other managers added to managed objects, shown."""
    lines = () if live is None else tuple(one.text for one in widened(reading.plan, live.kube))
    for line in lines:
        screen.say(line)
    return lines


def _node_marks(reading: Reading, live: LiveCluster | None, screen: Screen) -> list[str]:
    """What would change on nodes that somebody else made, shown."""
    marks = [] if live is None else planned_marks(reading, live.kube)
    for line in marks:
        screen.say(f"nodes: {line}")
    return marks
