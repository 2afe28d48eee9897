"""`mlcluster down`: show, ask, drain, destroy, and prove that nothing of ours is left."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.kube.controllers import listed
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.report.numbers import counted, some
from mlcluster.report.screen import Screen
from mlcluster.verbs import ownership
from mlcluster.verbs.adoption import take_over_rest
from mlcluster.verbs.asking import agreed_to_destroy, require_answers
from mlcluster.verbs.cloud_down import CloudDown, cloud_down
from mlcluster.verbs.components import stop_processes
from mlcluster.verbs.emptying import installed_releases
from mlcluster.verbs.exclusive import exclusive, tell_run_in_progress
from mlcluster.verbs.found_before import forget_found
from mlcluster.verbs.live import LiveCluster, is_eks, lab_of, open_cluster, stages_of
from mlcluster.verbs.lost_lab import forget_lost
from mlcluster.verbs.node_marks import take_off_marks
from mlcluster.verbs.output import use_color
from mlcluster.verbs.reading import Reading, read
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.starting import show_stopped
from mlcluster.verbs.teardown import destroy, destroy_platform, drain, show
from mlcluster.verbs.tools import Tools, tools_of
from mlcluster.verbs.uninstalled import clean_up, ever_installed
from mlcluster.verbs.unplanned import delete_unplanned, show_unplanned, unplanned

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
    reading = read(options.path)
    if options.plan:
        tell_run_in_progress(reading, screen)
        return _down(options, reading, screen)
    with exclusive(reading, "down", screen):
        return _down(options, reading, screen)


def _down(options: DownOptions, reading: Reading, screen: Screen) -> ExitCode:
    name = reading.spec.metadata.name
    lab = lab_of(reading)
    absent = {"cluster": name, "left": [], "unmanaged": []}
    if lab is not None and not options.plan and forget_lost(lab, reading, screen.progress):
        screen.result("DownResult", f"{name} is not there: nothing to take down", absent)
        return ExitCode.OK
    if not options.plan:
        require_answers(yes=options.yes)
    if is_eks(reading):
        wanted = CloudDown(reading, options.yes, options.plan, options.delete_retained)
        return cloud_down(wanted, screen)
    tools = tools_of(reading, screen.progress)
    if lab is not None and lab.status().state != "running":
        show_stopped(reading, tools, screen)  # the lab starts after the question, not before
        if (end := _ask(options, name, screen)) is not None:
            return end
        options = replace(options, yes=True)
    return _open_and_delete(options, reading, tools, screen)


def _ask(options: DownOptions, name: str, screen: Screen) -> ExitCode | None:
    """The end of a run that is only to show what would go, or that the user declines; None to go on."""
    if options.plan:
        screen.result("DownPlan", "", {"cluster": name})
        return ExitCode.OK
    if agreed_to_destroy(name, yes=options.yes):
        return None
    screen.say("nothing was changed")
    return ExitCode.DECLINED


def _open_and_delete(options: DownOptions, reading: Reading, tools: Tools, screen: Screen) -> ExitCode:
    name = reading.spec.metadata.name
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError(
                "opening the cluster", "the lab does not run", f"Run `mlcluster lab start --name {name}`."
            )
        ownership.check_owner(live.kube, name, home_of(reading))
        stages = stages_of(reading, live, tools.pulumi, screen.progress)
        show(screen, live.kube, stages)
        rest = unplanned(reading.plan, live, stages)
        show_unplanned(screen, live.kube, rest)
        if (end := _ask(options, name, screen)) is not None:
            return end
        take_over_rest(reading.plan, live, stages, screen.progress)
        delete_unplanned(live.kube, rest, screen.progress)
        kept = _take_down(live, stages, screen)
        ended = Ended(leftovers(reading.plan, live), kept, unmanaged(live))
    return _conclude(reading, live, ended, screen)


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


def _take_down(live: LiveCluster, stages: list[Stage], screen: Screen) -> list[str]:
    """The platform to empty, then what made the nodes; controllers outlive their objects. What is kept, and why."""
    for stage in stages:  # an engine of a killed run may still create what is deleted here
        stage.engine.recover_if_owner_dead()
    releases = ever_installed(live.kube, installed_releases(stages[-1]))
    drain(live.kube, stages[-1], screen)
    destroy_platform(live.kube, stages[-1], screen, nodes=live.lab is None)
    kept = clean_up(live.kube, releases, screen.progress, nodes=live.lab is None)
    forget_found(live.kube)
    if live.lab is None:
        take_off_marks(live.kube, screen.progress)
    stop_processes(live, screen.progress)
    for stage in reversed(stages[:-1]):
        destroy(stage, screen)
    ownership.release(live.kube)
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


def _conclude(reading: Reading, live: LiveCluster, ended: Ended, screen: Screen) -> ExitCode:
    """Deletes the lab that `up` started, forgets the stack, and says what is left."""
    name, left = reading.spec.metadata.name, ended.left
    told = {"cluster": name, "left": left, "retained": ended.kept, "unmanaged": ended.unmanaged}
    for entry in ended.kept:
        screen.say(f"  kept: {entry}")
    if left:
        screen.result("DownResult", "", told)
        happened = f"{counted(len(left), 'resource is', 'resources are')} left: {some(left)}"
        raise MlclusterError(
            f"taking {name} down", happened, f"Delete them, or run `mlcluster down {home_of(reading).spec}` again."
        )
    if live.lab is not None:
        _end_lab(live.lab, ended.unmanaged, screen)
    home_of(reading).forget()
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
