"""`mlcluster up` and `mlcluster preview`: validate, plan, preview, show, ask, apply."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mlcluster.engine.events import Changes
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.findings import Finding, Severity, found
from mlcluster.progress import Progress
from mlcluster.report.screen import Screen
from mlcluster.verbs import cloud, ownership
from mlcluster.verbs.asking import agreed_to_changes, agreed_to_steps
from mlcluster.verbs.charts import charts_explained
from mlcluster.verbs.components import start_processes, stop_processes, stop_unwanted
from mlcluster.verbs.destruction import Destruction, destructions
from mlcluster.verbs.discovery import discovered, refuse, releases_of, show
from mlcluster.verbs.emptying import installed_releases
from mlcluster.verbs.found_before import note_found
from mlcluster.verbs.live import LiveCluster, is_eks, open_cluster, stages_of
from mlcluster.verbs.node_marks import planned_marks, put_labels_first, put_marks
from mlcluster.verbs.output import use_color
from mlcluster.verbs.outputs import outputs_document, outputs_text
from mlcluster.verbs.reading import Reading, read, stop_on_errors
from mlcluster.verbs.removal import hold_queues
from mlcluster.verbs.settling import wait_until_settled
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.tools import Tools, tools_of
from mlcluster.verbs.uninstalled import clean_up_removed
from mlcluster.verbs.upgrades import by_hand, component_findings, component_steps, show_steps, version_findings


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the command line says."""

    path: Path
    output: str
    yes: bool
    allow_destroy: tuple[str, ...]
    refresh: bool


def up(options: UpOptions) -> ExitCode:
    """Makes the cluster what the spec says."""
    screen = Screen(options.output, color=use_color())
    reading = read(options.path)
    check(reading, screen)
    ask_account(reading, screen)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        stages = _ready(reading, live, tools, screen)
        if live is not None and live.started:
            start_processes(reading.plan, live, tools, screen.progress)
        for stage in stages:
            stage.engine.recover_if_owner_dead()
        with charts_explained(reading.plan):
            previews = preview_all(stages, screen, refresh=options.refresh)
        if live is None:
            screen.say(_platform_text(reading))
        going = destructions(None if live is None else live.kube, previews)
        marks = _node_marks(reading, live, screen)
        changes = (
            sum(len(found.effective) for found in previews) + (0 if live else _platform_size(reading)) + len(marks)
        )
        try:
            steps = by_hand(reading, component_steps(reading, releases_of(stages), None))
            agreed = agreed_to_steps(steps, yes=options.yes) and agreed_to_changes(
                changes, going, options.allow_destroy, yes=options.yes
            )
        except MlclusterError:
            _leave(live, screen.progress)
            raise
        if not agreed:
            screen.say("nothing was changed")
            _leave(live, screen.progress)
            return ExitCode.OK
        decided = Agreed(reading, tools, stages, previews, going, options.refresh)
        if live is not None:
            return _apply(decided, live, screen)
    return _apply_from_nothing(decided, screen)


def preview(path: Path, output: str, *, refresh: bool) -> ExitCode:
    """Shows what `up` would do now, asked of the engine and the cluster; changes nothing."""
    screen = Screen(output, color=use_color())
    reading = read(path)
    check(reading, screen)
    ask_account(reading, screen)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools, screen.progress, start=False) as live:
        if live is None and not is_eks(reading):
            screen.result("PreviewResult", _planned_text(reading), {"planned": _planned(reading), "previewed": False})
            return ExitCode.OK
        stages = _ready(reading, live, tools, screen)
        with charts_explained(reading.plan):
            previews = preview_all(stages, screen, refresh=refresh)
        marks = _node_marks(reading, live, screen)
        changed = sum(len(changes.effective) for changes in previews) + len(marks)
        going = [one.key for one in destructions(None if live is None else live.kube, previews)]
        asks = f"\n`up` will want: {' '.join(f'--allow-destroy {key}' for key in going)}" if going else ""
        text = (f"{changed} changes in all" if changed else "nothing to change") + asks
        if live is None:
            text += f"\n{_platform_text(reading)}"
        told = {
            "changes": changed,
            "destroys": going,
            "previewed": True,
            "planned": 0 if live else _platform_size(reading),
            "nodes": marks,
        }
        screen.result("PreviewResult", text, told)
    return ExitCode.OK


def _ready(reading: Reading, live: LiveCluster | None, tools: Tools, screen: Screen) -> list[Stage]:
    """The stacks, after the checks that nothing may go on without."""
    if live is None and not is_eks(reading):
        raise MlclusterError("opening the cluster", "the lab does not run", "mlcluster lab start")
    if live is not None:
        ownership.check_owner(live.kube, reading.spec.metadata.name, home_of(reading))
    stages = stages_of(reading, live, tools.pulumi, screen.progress)
    if is_eks(reading):
        found = version_findings(reading, cloud.outputs_of(stages[0]), live)
        tell(reading, found, screen)
    if live is not None:
        _look_around(reading, live, stages, screen)
    return stages


def _look_around(reading: Reading, live: LiveCluster, stages: list[Stage], screen: Screen) -> None:
    """What is in the cluster already, and what changes its version: shown, and refused where it must be."""
    deployed = releases_of(stages)
    already = discovered(reading, live.kube, deployed)
    changing = component_steps(reading, deployed, already)
    show(reading, already, screen)
    show_steps(changing, screen)
    findings = (*already.findings, *component_findings(reading, changing, already))
    tell(reading, tuple(finding for finding in findings if not finding.blocks), screen)
    refuse(findings, screen)


def check(reading: Reading, screen: Screen) -> None:
    """Tells the warnings, and stops on an error that the spec does not allow."""
    tell(reading, (*reading.findings, *state_findings(reading)), screen)


def ask_account(reading: Reading, screen: Screen) -> None:
    """On `eks`: the same for what the account answers; without credentials nobody is asked, and that is said."""
    if not is_eks(reading):
        return
    from mlcluster.verbs.preflight import preflight_findings

    found = preflight_findings(reading, screen.progress)
    if found is None:
        screen.say("the AWS account was not asked: there are no credentials in the environment")
    else:
        tell(reading, found, screen)


def tell(reading: Reading, findings: tuple[Finding, ...], screen: Screen) -> None:
    """Warnings to the screen; an error that the spec does not allow ends the run."""
    for finding in findings:
        if finding.severity is not Severity.INFO and not finding.blocks:
            accepted = f" (allowed: {finding.allowed})" if finding.allowed else ""
            screen.say(f"{finding.severity.value} {finding.id}: {finding.message}{accepted}")
    stop_on_errors(reading, findings)


def state_findings(reading: Reading) -> tuple[Finding, ...]:
    """STA001: local files as a backend on a CI machine, where they are gone with it."""
    if reading.plan.cluster.target == "local" or not os.environ.get("CI") or not home_of(reading).owns_backend:
        return ()
    message = "the state would be kept in files of this CI machine and be gone with it"
    finding = found("STA001", ("state",), message, "set state.backend, or MLCLUSTER_BACKEND_URL")
    reasons = {allowed.id: allowed.reason for allowed in reading.spec.allow}
    return (finding.allow(reasons.get("STA001", "")),)


def preview_all(stages: Iterable[Stage], screen: Screen, *, refresh: bool) -> list[Changes]:
    """The previews of all stacks, shown as they come."""
    previews = []
    for stage in stages:
        with screen.operation(f"previewing {stage.title}"):
            changes = stage.engine.preview(refresh=refresh)
        screen.changes(stage.title, changes)
        previews.append(changes)
    return previews


@dataclass(frozen=True, slots=True)
class Agreed:
    """Everything that was shown and agreed to."""

    reading: Reading
    tools: Tools
    stages: list[Stage]
    previews: list[Changes]
    going: list[Destruction]
    refresh: bool


def _apply(agreed: Agreed, live: LiveCluster, screen: Screen) -> ExitCode:
    reading = agreed.reading
    ownership.claim(live.kube, reading.spec.metadata.name, home_of(reading))
    start_processes(reading.plan, live, agreed.tools, screen.progress)
    hold_queues(live.kube, [one.name for one in agreed.going if one.kind == "namespace"], screen.progress)
    note_found(reading.plan, live.kube, _held(agreed.stages))
    before = installed_releases(agreed.stages[-1])
    put_labels_first(reading, live.kube, screen.progress)
    for stage, changes in zip(agreed.stages, agreed.previews, strict=True):
        if changes or not stage.engine.exists():
            _apply_stage(stage, changes, agreed, screen)
    clean_up_removed(live.kube, before, agreed.stages[-1], screen.progress, nodes=live.lab is None)
    put_marks(reading, live.kube, screen.progress)
    stop_unwanted(reading.plan, live, screen.progress)
    wait_until_settled(reading.plan, live.kube, screen.progress)
    screen.result("UpResult", outputs_text(reading, live), outputs_document(reading, live, agreed.previews))
    return ExitCode.OK


def _held(stages: Iterable[Stage]) -> set[str]:
    """Ids of what the stacks hold already."""
    return {resource.plan_id for stage in stages if stage.engine.exists() for resource in stage.engine.resources()}


def _apply_from_nothing(agreed: Agreed, screen: Screen) -> ExitCode:
    """The cloud's stack first; then there is a cluster to open, and the planned platform is put on it."""
    reading, tools = agreed.reading, agreed.tools
    _apply_stage(agreed.stages[0], agreed.previews[0], agreed, screen)
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError("opening the cluster", "its stack tells no kubeconfig", "run up again")
        stages = _ready(reading, live, tools, screen)[1:]
        first = Agreed(reading, tools, stages, [Changes(()) for _ in stages], [], agreed.refresh)
        return _apply(first, live, screen)


def _apply_stage(stage: Stage, changes: Changes, agreed: Agreed, screen: Screen) -> None:
    title = f"applying {stage.title}"
    with charts_explained(agreed.reading.plan), screen.operation(title, len(changes.effective)) as take:
        stage.engine.up(take, refresh=agreed.refresh)


def _node_marks(reading: Reading, live: LiveCluster | None, screen: Screen) -> list[str]:
    """What would change on nodes that somebody else made, shown."""
    marks = [] if live is None else planned_marks(reading, live.kube)
    for line in marks:
        screen.say(f"nodes: {line}")
    return marks


def _leave(live: LiveCluster | None, progress: Progress) -> None:
    """A refused `up` leaves nothing running that it started."""
    if live is not None and live.started and live.lab is not None:
        stop_processes(live, progress)
        live.lab.stop(progress)


def _planned(reading: Reading) -> int:
    return len(reading.plan.resources) + _platform_size(reading)


def _platform_size(reading: Reading) -> int:
    return len(reading.plan.objects) + len(reading.plan.releases)


def _platform_text(reading: Reading) -> str:
    size = _platform_size(reading)
    return f"platform: {size} to create; planned, not previewed: no cluster yet (`mlcluster plan` shows them)"


def _planned_text(reading: Reading) -> str:
    """Before there is a cluster nobody can be asked: the plan stands for the preview, and says so."""
    from mlcluster.report.plan_text import plan_text

    label = f"planned, not previewed: no cluster yet; {_planned(reading)} to create"
    return f"{plan_text(reading.plan, color=use_color())}\n{label}"
