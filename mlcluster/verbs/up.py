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
from mlcluster.verbs import ownership
from mlcluster.verbs.asking import agreed_to_changes
from mlcluster.verbs.components import start_processes
from mlcluster.verbs.destruction import Destruction, destructions
from mlcluster.verbs.live import LiveCluster, Stage, home_of, open_cluster, stages_of
from mlcluster.verbs.output import use_color
from mlcluster.verbs.outputs import outputs_document, outputs_text
from mlcluster.verbs.reading import Reading, read, stop_on_errors
from mlcluster.verbs.removal import hold_queues
from mlcluster.verbs.settling import wait_until_settled
from mlcluster.verbs.tools import Tools, tools_of


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
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools.toolchain, screen.progress, start=True) as live:
        if live is None:
            raise MlclusterError("opening the cluster", "the lab does not run", "mlcluster lab start")
        ownership.check_owner(live.kube, reading.spec.metadata.name, home_of(reading))
        if live.started:
            start_processes(reading.plan, live, tools, screen.progress)
        stages = stages_of(reading, live, tools.pulumi, screen.progress)
        for stage in stages:
            stage.engine.recover_if_owner_dead()
        previews = preview_all(stages, screen, refresh=options.refresh)
        going = destructions(live.kube, previews)
        changes = sum(len(found.effective) for found in previews)
        try:
            agreed = agreed_to_changes(changes, going, options.allow_destroy, yes=options.yes)
        except MlclusterError:
            _leave(live, screen.progress)
            raise
        if not agreed:
            screen.say("nothing was changed")
            _leave(live, screen.progress)
            return ExitCode.OK
        _apply(Agreed(reading, live, tools, stages, previews, going, options.refresh), screen)
        screen.result("UpResult", outputs_text(reading, live), outputs_document(reading, live, previews))
    return ExitCode.OK


def preview(path: Path, output: str, *, refresh: bool) -> ExitCode:
    """Shows what `up` would do now, asked of the engine and the cluster; changes nothing."""
    screen = Screen(output, color=use_color())
    reading = read(path)
    check(reading, screen)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools.toolchain, screen.progress, start=False) as live:
        if live is None:
            screen.result("PreviewResult", _planned_text(reading), {"planned": _planned(reading), "previewed": False})
            return ExitCode.OK
        ownership.check_owner(live.kube, reading.spec.metadata.name, home_of(reading))
        stages = stages_of(reading, live, tools.pulumi, screen.progress)
        previews = preview_all(stages, screen, refresh=refresh)
        changed = sum(len(changes.effective) for changes in previews)
        going = [one.key for one in destructions(live.kube, previews)]
        asks = f"\n`up` will want: {' '.join(f'--allow-destroy {key}' for key in going)}" if going else ""
        text = (f"{changed} changes in all" if changed else "nothing to change") + asks
        screen.result("PreviewResult", text, {"changes": changed, "destroys": going, "previewed": True})
    return ExitCode.OK


def check(reading: Reading, screen: Screen) -> None:
    """Tells the warnings, and stops on an error that the spec does not allow."""
    findings = (*reading.findings, *state_findings(reading))
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
    live: LiveCluster
    tools: Tools
    stages: list[Stage]
    previews: list[Changes]
    going: list[Destruction]
    refresh: bool


def _apply(agreed: Agreed, screen: Screen) -> None:
    reading, live = agreed.reading, agreed.live
    ownership.claim(live.kube, reading.spec.metadata.name, home_of(reading))
    start_processes(reading.plan, live, agreed.tools, screen.progress)
    hold_queues(live.kube, [one.name for one in agreed.going if one.kind == "namespace"], screen.progress)
    for stage, changes in zip(agreed.stages, agreed.previews, strict=True):
        if not changes and stage.engine.exists():
            continue
        with screen.operation(f"applying {stage.title}", len(changes.effective)) as take:
            stage.engine.up(take, refresh=agreed.refresh)
    wait_until_settled(reading.plan, live.kube, screen.progress)


def _leave(live: LiveCluster, progress: Progress) -> None:
    """A refused `up` leaves nothing running that it started."""
    if live.started and live.lab is not None:
        live.lab.stop_kueue(progress)
        live.lab.stop(progress)


def _planned(reading: Reading) -> int:
    return len(reading.plan.resources) + len(reading.plan.objects) + len(reading.plan.releases)


def _planned_text(reading: Reading) -> str:
    """Before there is a cluster nobody can be asked: the plan stands for the preview, and says so."""
    from mlcluster.report.plan_text import plan_text

    label = f"planned, not previewed: no cluster yet; {_planned(reading)} to create"
    return f"{plan_text(reading.plan, color=use_color())}\n{label}"
