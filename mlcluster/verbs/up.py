"""`mlcluster up`: validate, plan, preview, show, ask, apply."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mlcluster.engine.events import Changes
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.progress import Progress
from mlcluster.report.screen import Screen
from mlcluster.verbs import ownership
from mlcluster.verbs.added import remove_added
from mlcluster.verbs.adoption import restart_releases
from mlcluster.verbs.asking import agreed_to_changes, agreed_to_steps, require_answers
from mlcluster.verbs.charts import charts_explained
from mlcluster.verbs.components import start_processes, stop_processes, stop_unwanted
from mlcluster.verbs.conditions import ask_account, check, ready
from mlcluster.verbs.counted_kinds import wait_until_counted
from mlcluster.verbs.discovery import releases_of
from mlcluster.verbs.emptying import installed_releases
from mlcluster.verbs.exclusive import exclusive
from mlcluster.verbs.found_before import note_found
from mlcluster.verbs.live import LiveCluster, open_cluster
from mlcluster.verbs.node_marks import put_labels_first, put_marks
from mlcluster.verbs.output import use_color
from mlcluster.verbs.outputs import outputs_document, outputs_text
from mlcluster.verbs.previewing import Previewed, platform_size, platform_text, previewed
from mlcluster.verbs.reading import Reading, read
from mlcluster.verbs.removal import hold_queues
from mlcluster.verbs.settling import wait_until_settled
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.starting import agreed_to_lab, lab_start
from mlcluster.verbs.tools import Tools, tools_of
from mlcluster.verbs.uninstalled import clean_up_removed
from mlcluster.verbs.upgrades import by_hand, component_steps


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

    reading: Reading
    tools: Tools
    found: Previewed
    refresh: bool


def up(options: UpOptions) -> ExitCode:
    """Makes the cluster what the spec says."""
    screen = Screen(options.output, color=use_color())
    reading = read(options.path)
    check(reading, screen)
    require_answers(yes=options.yes)
    with exclusive(reading, "up", screen):
        start = lab_start(reading)
        if start is not None and not agreed_to_lab(reading, start, screen, yes=options.yes):
            screen.say("nothing was changed")
            return ExitCode.DECLINED
        return _up(replace(options, agreed=start is not None and start.is_new), reading, screen)


def _up(options: UpOptions, reading: Reading, screen: Screen) -> ExitCode:
    ask_account(reading, screen)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        stages = ready(reading, live, tools, screen, adopt=True)
        if live is not None and live.started:
            start_processes(reading.plan, live, tools, screen.progress)
        for stage in stages:
            stage.engine.recover_if_owner_dead()
        found = previewed(reading, live, stages, screen, refresh=options.refresh)
        if live is None:
            screen.say(platform_text(reading))
        if not _is_agreed(options, reading, live, found, screen):
            return ExitCode.DECLINED
        decided = Agreed(reading, tools, found, options.refresh)
        if live is not None:
            return _apply(decided, live, screen)
    return _apply_from_nothing(decided, screen)


def _is_agreed(
    options: UpOptions, reading: Reading, live: LiveCluster | None, found: Previewed, screen: Screen
) -> bool:
    """Whether the user wants all this; otherwise nothing is left running that this run has started."""
    size = found.size + (0 if live else platform_size(reading))
    try:
        steps = by_hand(reading, component_steps(reading, releases_of(found.stages), None))
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
    reading = agreed.reading
    done += len(agreed.found.marks)
    ownership.claim(live.kube, reading.spec.metadata.name, home_of(reading))
    start_processes(reading.plan, live, agreed.tools, screen.progress)
    hold_queues(live.kube, [one.name for one in agreed.found.going if one.kind == "namespace"], screen.progress)
    note_found(reading.plan, live.kube, _held(agreed.found.stages))
    before = installed_releases(agreed.found.stages[-1])
    put_labels_first(reading, live.kube, screen.progress)
    restarted = restart_releases(reading.plan, live, agreed.found.stages, screen.progress)
    for stage, changes in zip(agreed.found.stages, agreed.found.changes, strict=True):
        if changes or restarted or not stage.engine.exists():
            done += _apply_stage(stage, changes, agreed, screen)
    clean_up_removed(live.kube, before, agreed.found.stages[-1], screen.progress, nodes=live.lab is None)
    remove_added(reading.plan, live.kube, screen.progress)
    put_marks(reading, live.kube, screen.progress)
    stop_unwanted(reading.plan, live, screen.progress)
    wait_until_settled(reading.plan, live.kube, screen.progress)
    wait_until_counted(reading.plan, live.kube, screen.progress)
    screen.result("UpResult", outputs_text(reading, live), outputs_document(reading, live, done))
    return ExitCode.OK


def _held(stages: Iterable[Stage]) -> set[str]:
    """Ids of what the stacks hold already."""
    return {resource.plan_id for stage in stages if stage.engine.exists() for resource in stage.engine.resources()}


def _apply_from_nothing(agreed: Agreed, screen: Screen) -> ExitCode:
    """The cloud's stack first; then there is a cluster to open, and the planned platform is put on it."""
    reading, tools, found = agreed.reading, agreed.tools, agreed.found
    done = _apply_stage(found.stages[0], found.changes[0], agreed, screen)
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError("opening the cluster", "its stack tells no kubeconfig", "run up again")
        stages = ready(reading, live, tools, screen, adopt=True)[1:]
        planned = Previewed(stages, [Changes(()) for _ in stages], [], [])
        return _apply(Agreed(reading, tools, planned, agreed.refresh), live, screen, done)


def _apply_stage(stage: Stage, changes: Changes, agreed: Agreed, screen: Screen) -> int:
    """Applies one stack; how many resources have changed."""
    title = f"applying {stage.title}"
    with charts_explained(agreed.reading.plan), screen.operation(title, len(changes.effective)) as take:
        return len(stage.engine.up(take, refresh=agreed.refresh).changes.effective)


def _leave(live: LiveCluster | None, progress: Progress) -> None:
    """A refused `up` leaves nothing running that it started."""
    if live is not None and live.started and live.lab is not None:
        stop_processes(live, progress)
        live.lab.stop(progress)
