"""`mlcluster down`: show, ask, drain, destroy, and prove that nothing of ours is left."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.deploy.lab_processes import stop_processes
from mlcluster.deploy.node_labels import take_off_marks
from mlcluster.deploy.ownership.adoption import take_over_rest
from mlcluster.deploy.ownership.baseline import forget_found
from mlcluster.deploy.ownership.unplanned import delete_unplanned, show_unplanned, unplanned
from mlcluster.deploy.removal.namespaces import installed_releases
from mlcluster.deploy.removal.residue import clean_up, ever_installed
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster, is_eks, lab_of, open_cluster, stacks_of
from mlcluster.deploy.session.deleted_lab import forget_lost
from mlcluster.deploy.session.prompts import agreed_to_destroy, require_answers
from mlcluster.deploy.session.run_lock import exclusive, tell_run_in_progress
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.tools import Tools, tools_of
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.deploy.teardown.cloud import CloudDown, cloud_down
from mlcluster.deploy.teardown.stacks import destroy, destroy_platform, drain, show, show_stopped
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.kube.controllers import listed
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.report.numbers import counted, some
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color

if TYPE_CHECKING:
    from mlcluster.lab.lab import Lab


@dataclass(frozen=True, slots=True)
class DownOptions:
    """What the command line says."""

    path: Path
    output: str
    yes: bool
    plan: bool = False
    """Only show what would go."""
    delete_retained: tuple[str, ...] = ()
    """Plan ids of what is kept unless it is named here."""


def down(options: DownOptions) -> ExitCode:
    """Takes away everything that `up` made, and nothing else."""
    screen = Screen(options.output, color=use_color())
    workspace = load_workspace(options.path)
    if options.plan:
        tell_run_in_progress(workspace, screen)
        return _down(options, workspace, screen)
    with exclusive(workspace, "down", screen):
        return _down(options, workspace, screen)


def _down(options: DownOptions, workspace: Workspace, screen: Screen) -> ExitCode:
    name = workspace.spec.metadata.name
    lab = lab_of(workspace)
    absent = {"cluster": name, "left": [], "unmanaged": []}
    if lab is not None and not options.plan and forget_lost(lab, workspace, screen.progress):
        screen.result("DownResult", f"{name} is not there: nothing to take down", absent)
        return ExitCode.OK
    if not options.plan:
        require_answers(yes=options.yes)
    if is_eks(workspace):
        wanted = CloudDown(workspace, options.yes, options.plan, options.delete_retained)
        return cloud_down(wanted, screen)
    tools = tools_of(workspace, screen.progress)
    if lab is not None and lab.status().state != "running":
        show_stopped(workspace, tools, screen)  # the lab starts after the question, not before
        if (end := _ask(options, name, screen)) is not None:
            return end
        options = replace(options, yes=True)
    return _open_and_delete(options, workspace, tools, screen)


def _ask(options: DownOptions, name: str, screen: Screen) -> ExitCode | None:
    """The end of a run that is only to show what would go, or that the user declines; None to go on."""
    if options.plan:
        screen.result("DownPlan", "", {"cluster": name})
        return ExitCode.OK
    if agreed_to_destroy(name, yes=options.yes):
        return None
    screen.say("nothing was changed")
    return ExitCode.DECLINED


def _open_and_delete(options: DownOptions, workspace: Workspace, tools: Tools, screen: Screen) -> ExitCode:
    name = workspace.spec.metadata.name
    with open_cluster(workspace, tools, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError(
                "opening the cluster", "the lab does not run", f"Run `mlcluster lab start --name {name}`."
            )
        owner.check_owner(live.kube, name, home_of(workspace))
        stacks = stacks_of(workspace, live, tools.pulumi, screen.progress)
        show(screen, live.kube, stacks)
        rest = unplanned(workspace.plan, live, stacks)
        show_unplanned(screen, live.kube, rest)
        if (end := _ask(options, name, screen)) is not None:
            return end
        take_over_rest(workspace.plan, live, stacks, screen.progress)
        delete_unplanned(live.kube, rest, screen.progress)
        kept = _take_down(live, stacks, screen)
        ended = Ended(leftovers(workspace.plan, live), kept, unmanaged(live))
    return _conclude(workspace, live, ended, screen)


def leftovers(plan: Plan, live: LiveCluster) -> list[str]:
    """Return what still carries the labels of the cluster."""
    selector = f"{names.MANAGED_BY}={names.MANAGER},{names.CLUSTER}={plan.cluster.name}"
    entries = [(entry.manifest["apiVersion"], entry.manifest["kind"]) for entry in plan.objects]
    entries += [(entry.inputs["apiVersion"], entry.inputs["kind"]) for entry in plan.resources]
    return [
        f"{kind}/{item['metadata']['name']}"
        for api_version, kind in sorted(set(entries))
        for item in listed(live.kube, api_version, kind, label_selector=selector)
    ]


def unmanaged(live: LiveCluster) -> list[str]:
    """Return the keys of a lab that a bare control plane does not have: what users made in it."""
    return sorted(live.lab.leftovers()) if live.lab is not None else []


def _take_down(live: LiveCluster, stacks: list[Stack], screen: Screen) -> list[str]:
    """The platform to empty, then what made the nodes; controllers outlive their objects. What is kept, and why."""
    for stack in stacks:  # an engine of a killed run may still create what is deleted here
        stack.engine.recover_if_owner_dead()
    releases = ever_installed(live.kube, installed_releases(stacks[-1]))
    drain(live.kube, stacks[-1], screen)
    destroy_platform(live.kube, stacks[-1], screen, nodes=live.lab is None)
    kept = clean_up(live.kube, releases, screen.progress, nodes=live.lab is None)
    forget_found(live.kube)
    if live.lab is None:
        take_off_marks(live.kube, screen.progress)
    stop_processes(live, screen.progress)
    for stack in reversed(stacks[:-1]):
        destroy(stack, screen)
    owner.release(live.kube)
    return kept


@dataclass(frozen=True, slots=True)
class Ended:
    """What there is after all.

    Attributes:
        left: managed resources that should be gone.
        kept: what is kept on purpose, with the reasons.
        unmanaged: what mlcluster did not create, in a lab.
    """

    left: list[str]
    kept: list[str]
    unmanaged: list[str]


def _conclude(workspace: Workspace, live: LiveCluster, ended: Ended, screen: Screen) -> ExitCode:
    """Deletes the lab that `up` started, forgets the stack, and says what is left."""
    name, left = workspace.spec.metadata.name, ended.left
    told = {"cluster": name, "left": left, "retained": ended.kept, "unmanaged": ended.unmanaged}
    for entry in ended.kept:
        screen.say(f"  kept: {entry}")
    if left:
        screen.result("DownResult", "", told)
        happened = f"{counted(len(left), 'resource is', 'resources are')} left: {some(left)}"
        raise MlclusterError(
            f"taking {name} down", happened, f"Delete them, or run `mlcluster down {home_of(workspace).spec}` again."
        )
    if live.lab is not None:
        _end_lab(live.lab, ended.unmanaged, screen)
    home_of(workspace).forget()
    what = counted(len(ended.kept), "resource", "resources")
    rest = f"Kept: {what}, listed above." if ended.kept else "Nothing of it is left."
    screen.result("DownResult", f"{name} is down. {rest}", told)
    return ExitCode.OK


def _end_lab(lab: "Lab", others: list[str], screen: Screen) -> None:
    """Deletes the lab as a whole if `up` started it; what users made in it is listed and stops nothing."""
    deletes = lab.status().started_by == "up"
    if others:
        what = "Deleted with the lab" if deletes else f"Left in the lab {lab.name}"
        entries = counted(len(others), "entry", "entries")
        screen.say(f"{what}: {entries} that mlcluster did not create: {some(others)}")
    if deletes:
        lab.reset(screen.progress)
