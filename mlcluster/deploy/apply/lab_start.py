"""Start of a lab by `up`: the processes that start on this machine, and the confirmation before it."""

from dataclasses import dataclass

from mlcluster.deploy.lab_processes import processes
from mlcluster.deploy.preview.changes import planned_size
from mlcluster.deploy.session.cluster import lab_of
from mlcluster.deploy.session.prompts import agreed_to_start
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.lab.components import CONTROL_PLANE
from mlcluster.report.screen import Screen
from mlcluster.spec.targets import LocalTarget


@dataclass(frozen=True, slots=True)
class LabStart:
    """A lab that has to start, or to start again with another setting.

    Attributes:
        name: of the lab.
        programs: the programs to start, in order.
        runs: it runs, but with another setting than the spec's.
        is_new: the stack has never been applied to it: the whole plan is to be created, and nothing can be destroyed.
        was_deleted: an earlier `up` applied the stack to a lab of this name, which is gone.
    """

    name: str
    programs: tuple[str, ...]
    runs: bool
    is_new: bool
    was_deleted: bool = False

    @property
    def text(self) -> str:
        """The programs that start, and the reason."""
        listed = ", ".join(self.programs)
        if self.runs:
            return f"The lab {self.name} runs with another `extendedResourceToleration`; its API server starts again."
        why = ""
        if self.was_deleted:
            why = ": it was deleted since the last `mlcluster up`, and everything is created again"
        return f"The lab {self.name} is not running{why}. This starts on this machine: {listed}."


def lab_start(workspace: Workspace) -> LabStart | None:
    """Return the processes that `up` must start before a preview; None if the lab runs as in the spec."""
    lab, target = lab_of(workspace), workspace.spec.target
    if lab is None or not isinstance(target, LocalTarget):
        return None
    if lab.runs_with(extended_resource_toleration=target.extended_resource_toleration):
        return None
    found = lab.status().state
    controllers = tuple(release.name for release in processes(workspace.plan))
    recorded = home_of(workspace).settings()
    is_new = found == "absent" or recorded is None
    was_deleted = found == "absent" and recorded is not None and recorded.lab == lab.name
    return LabStart(lab.name, (*CONTROL_PLANE, *controllers), found == "running", is_new, was_deleted)


def agreed_to_lab(workspace: Workspace, start: LabStart, screen: Screen, *, yes: bool) -> bool:
    """Show the processes and the plan, and ask for confirmation; for a new lab the answer covers the whole plan.

    Raises:
        MlclusterError: there is no terminal, or no answer fits.
    """
    screen.say(start.text)
    question = f"Start the lab {start.name} to preview the changes?"
    if start.is_new:
        size = planned_size(workspace)
        screen.say(
            f"{size} resources are planned, not previewed: the lab is not running. "
            f"`mlcluster plan {home_of(workspace).spec}` lists them."
        )
        question = f"Start the lab {start.name} and create these {size} resources?"
    elif start.runs:
        question = f"Start the API server of the lab {start.name} again to preview the changes?"
    return agreed_to_start(question, yes=yes)
