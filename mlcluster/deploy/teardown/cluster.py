"""`mlcluster down` on `local` and `existing`: delete the platform from a cluster, and check that nothing is left."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlcluster.deploy.session.cluster import lab_of
from mlcluster.deploy.session.session import Session, open_session
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.tools import Tools, tools_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.teardown.stacks import show_stopped
from mlcluster.deploy.teardown.steps import STEPS, run_steps
from mlcluster.deploy.teardown.teardown import Teardown, TeardownOptions, declined, show_teardown
from mlcluster.deploy.teardown.verification import leftovers, unmanaged
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.numbers import counted, some
from mlcluster.report.screen import Screen

if TYPE_CHECKING:
    from mlcluster.lab.lab import Lab


@dataclass(frozen=True, slots=True)
class Outcome:
    """The contents of a cluster after the steps.

    Attributes:
        left: managed resources that should be gone.
        kept: retained objects, with the reasons.
        unmanaged: objects in a lab that mlcluster did not create.
    """

    left: list[str]
    kept: list[str]
    unmanaged: list[str]


def down_cluster(workspace: Workspace, options: TeardownOptions, screen: Screen) -> ExitCode:
    """Delete everything that `up` made in a lab or in an existing cluster, and nothing else."""
    tools, lab = tools_of(workspace, screen.progress), lab_of(workspace)
    if lab is None or lab.status().state == "running":
        return _open_and_delete(workspace, options, tools, screen)
    show_stopped(workspace, tools, screen)  # the lab starts after the question, not before
    if (end := declined(options, workspace.spec.metadata.name, screen)) is not None:
        return end
    return _open_and_delete(workspace, TeardownOptions(yes=True), tools, screen)


def _open_and_delete(workspace: Workspace, options: TeardownOptions, tools: Tools, screen: Screen) -> ExitCode:
    name = workspace.spec.metadata.name
    with open_session(workspace, screen.progress, start=True, tools=tools) as session:
        if session.live is None:
            hint = f"Run `mlcluster lab start --name {name}`."
            raise MlclusterError("opening the cluster", "the lab does not run", hint)
        teardown = Teardown(session, screen, show_teardown(session, screen))
        if (end := declined(options, name, screen)) is not None:
            return end
        run_steps(STEPS[session.plan.cluster.target], teardown)
        outcome = Outcome(leftovers(session.plan, session.live), teardown.kept, unmanaged(session.live))
    return _conclude(session, outcome, screen)


def _conclude(session: Session, outcome: Outcome, screen: Screen) -> ExitCode:
    """Delete the lab that `up` started, forget the stack, and report leftover objects."""
    workspace, lab = session.workspace, session.cluster.lab
    name, left = workspace.spec.metadata.name, outcome.left
    told = {"cluster": name, "left": left, "retained": outcome.kept, "unmanaged": outcome.unmanaged}
    for entry in outcome.kept:
        screen.say(f"  kept: {entry}")
    if left:
        screen.result("DownResult", "", told)
        happened = f"{counted(len(left), 'resource is', 'resources are')} left: {some(left)}"
        raise MlclusterError(
            f"taking {name} down", happened, f"Delete them, or run `mlcluster down {home_of(workspace).spec}` again."
        )
    if lab is not None:
        _end_lab(lab, outcome.unmanaged, screen)
    home_of(workspace).forget()
    what = counted(len(outcome.kept), "resource", "resources")
    rest = f"Kept: {what}, listed above." if outcome.kept else "Nothing of it is left."
    screen.result("DownResult", f"{name} is down. {rest}", told)
    return ExitCode.OK


def _end_lab(lab: "Lab", others: list[str], screen: Screen) -> None:
    """Delete the lab if `up` started it; list the objects that users created in it."""
    deletes = lab.status().started_by == "up"
    if others:
        what = "Deleted with the lab" if deletes else f"Left in the lab {lab.name}"
        entries = counted(len(others), "entry", "entries")
        screen.say(f"{what}: {entries} that mlcluster did not create: {some(others)}")
    if deletes:
        lab.reset(screen.progress)
