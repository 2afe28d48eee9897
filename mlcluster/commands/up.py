"""`mlcluster up`: validate, plan, preview, show, ask, apply."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mlcluster.deploy.apply.lab_start import agreed_to_lab, lab_start
from mlcluster.deploy.apply.outputs import outputs_document, outputs_text
from mlcluster.deploy.apply.quota_counts import wait_until_counted
from mlcluster.deploy.apply.readiness import wait_until_settled
from mlcluster.deploy.lab_processes import start_processes, stop_processes, stop_unwanted
from mlcluster.deploy.node_labels import put_labels_first, put_marks
from mlcluster.deploy.ownership import owner
from mlcluster.deploy.ownership.adoption import restart_releases
from mlcluster.deploy.ownership.baseline import note_found
from mlcluster.deploy.ownership.foreign_fields import remove_added
from mlcluster.deploy.preview.approval import agreed_to_changes
from mlcluster.deploy.preview.changes import Previewed, platform_size, platform_text, previewed
from mlcluster.deploy.preview.chart_failures import charts_explained
from mlcluster.deploy.preview.checks import ask_account, check, ready
from mlcluster.deploy.preview.installations import releases_of
from mlcluster.deploy.preview.upgrades import by_hand, component_steps
from mlcluster.deploy.removal.namespaces import installed_releases
from mlcluster.deploy.removal.queues import hold_queues
from mlcluster.deploy.removal.residue import clean_up_removed
from mlcluster.deploy.session.cluster import LiveCluster, open_cluster
from mlcluster.deploy.session.prompts import agreed_to_steps, require_answers
from mlcluster.deploy.session.run_lock import exclusive
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.tools import Tools, tools_of
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.engine.events import Changes
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Progress
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the command line says, and what the user has answered.

    Attributes:
        agreed: the user has agreed to create everything of the plan: a preview asks for destruction alone.
    """

    path: Path
    output: str
    yes: bool
    allow_destroy: tuple[str, ...]
    refresh: bool
    agreed: bool = False


@dataclass(frozen=True, slots=True)
class Agreed:
    """Everything that was shown and agreed to."""

    workspace: Workspace
    tools: Tools
    found: Previewed
    refresh: bool


def up(options: UpOptions) -> ExitCode:
    """Makes the cluster what the spec says."""
    screen = Screen(options.output, color=use_color())
    workspace = load_workspace(options.path)
    check(workspace, screen)
    require_answers(yes=options.yes)
    with exclusive(workspace, "up", screen):
        start = lab_start(workspace)
        if start is not None and not agreed_to_lab(workspace, start, screen, yes=options.yes):
            screen.say("nothing was changed")
            return ExitCode.DECLINED
        return _up(replace(options, agreed=start is not None and start.is_new), workspace, screen)


def _up(options: UpOptions, workspace: Workspace, screen: Screen) -> ExitCode:
    ask_account(workspace, screen)
    tools = tools_of(workspace, screen.progress)
    with open_cluster(workspace, tools, screen.progress, start=True) as live:
        stacks = ready(workspace, live, tools, screen, adopt=True)
        if live is not None and live.started:
            start_processes(workspace.plan, live, tools, screen.progress)
        for stack in stacks:
            stack.engine.recover_if_owner_dead()
        found = previewed(workspace, live, stacks, screen, refresh=options.refresh)
        if live is None:
            screen.say(platform_text(workspace))
        if not _is_agreed(options, workspace, live, found, screen):
            return ExitCode.DECLINED
        decided = Agreed(workspace, tools, found, options.refresh)
        if live is not None:
            return _apply(decided, live, screen)
    return _apply_from_nothing(decided, screen)


def _is_agreed(
    options: UpOptions, workspace: Workspace, live: LiveCluster | None, found: Previewed, screen: Screen
) -> bool:
    """Whether the user wants all this; otherwise nothing is left running that this run has started."""
    size = found.size + (0 if live else platform_size(workspace))
    try:
        steps = by_hand(workspace, component_steps(workspace, releases_of(found.stacks), None))
        agreed = agreed_to_steps(steps, yes=options.yes) and agreed_to_changes(
            size, found.going, options.allow_destroy, yes=options.yes, agreed=options.agreed
        )
    except BaseException:  # Ctrl-C at a question too
        _leave(live, screen.progress)
        raise
    if not agreed:
        screen.say("nothing was changed")
        _leave(live, screen.progress)
    return agreed


def _apply(agreed: Agreed, live: LiveCluster, screen: Screen, done: int = 0) -> ExitCode:
    """Applies everything that was agreed to; `done` changes were made before."""
    workspace = agreed.workspace
    done += len(agreed.found.marks)
    owner.claim(live.kube, workspace.spec.metadata.name, home_of(workspace))
    start_processes(workspace.plan, live, agreed.tools, screen.progress)
    hold_queues(live.kube, [one.name for one in agreed.found.going if one.kind == "namespace"], screen.progress)
    note_found(workspace.plan, live.kube, _held(agreed.found.stacks))
    before = installed_releases(agreed.found.stacks[-1])
    put_labels_first(workspace, live.kube, screen.progress)
    restarted = restart_releases(workspace.plan, live, agreed.found.stacks, screen.progress)
    for stack, changes in zip(agreed.found.stacks, agreed.found.changes, strict=True):
        if changes or restarted or not stack.engine.exists():
            done += _apply_stage(stack, changes, agreed, screen)
    clean_up_removed(live.kube, before, agreed.found.stacks[-1], screen.progress, nodes=live.lab is None)
    remove_added(workspace.plan, live.kube, screen.progress)
    put_marks(workspace, live.kube, screen.progress)
    stop_unwanted(workspace.plan, live, screen.progress)
    wait_until_settled(workspace.plan, live.kube, screen.progress)
    wait_until_counted(workspace.plan, live.kube, screen.progress)
    screen.result("UpResult", outputs_text(workspace, live), outputs_document(workspace, live, done))
    return ExitCode.OK


def _held(stacks: Iterable[Stack]) -> set[str]:
    """Ids of what the stacks hold already."""
    return {resource.plan_id for stack in stacks if stack.engine.exists() for resource in stack.engine.resources()}


def _apply_from_nothing(agreed: Agreed, screen: Screen) -> ExitCode:
    """The cloud's stack first; then there is a cluster to open, and the planned platform is put on it."""
    workspace, tools, found = agreed.workspace, agreed.tools, agreed.found
    done = _apply_stage(found.stacks[0], found.changes[0], agreed, screen)
    with open_cluster(workspace, tools, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError("opening the cluster", "its stack tells no kubeconfig", "run up again")
        stacks = ready(workspace, live, tools, screen, adopt=True)[1:]
        planned = Previewed(stacks, [Changes(()) for _ in stacks], [], [])
        return _apply(Agreed(workspace, tools, planned, agreed.refresh), live, screen, done)


def _apply_stage(stack: Stack, changes: Changes, agreed: Agreed, screen: Screen) -> int:
    """Applies one stack; how many resources have changed."""
    title = f"applying {stack.title}"
    with charts_explained(agreed.workspace.plan), screen.operation(title, len(changes.effective)) as take:
        return len(stack.engine.up(take, refresh=agreed.refresh).changes.effective)


def _leave(live: LiveCluster | None, progress: Progress) -> None:
    """A refused `up` leaves nothing running that it started."""
    if live is not None and live.started and live.lab is not None:
        stop_processes(live, progress)
        live.lab.stop(progress)
