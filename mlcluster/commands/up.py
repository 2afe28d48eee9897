"""`mlcluster up`: check, preview, ask, apply."""

from dataclasses import dataclass, replace
from pathlib import Path

from mlcluster.deploy.apply.apply import apply, apply_from_nothing, stop_started_lab
from mlcluster.deploy.apply.lab_start import agreed_to_lab, lab_start
from mlcluster.deploy.lab_processes import start_processes
from mlcluster.deploy.preview.approval import agreed_to_changes
from mlcluster.deploy.preview.changes import Preview, platform_size, platform_text, preview_of
from mlcluster.deploy.preview.checks import ask_account, check, check_cluster
from mlcluster.deploy.preview.installations import releases_of
from mlcluster.deploy.preview.upgrades import by_hand, component_steps
from mlcluster.deploy.session.prompts import agreed_to_steps, require_answers
from mlcluster.deploy.session.run_lock import exclusive
from mlcluster.deploy.session.session import Session, open_session
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The arguments of `mlcluster up`, and the answer of the user.

    Attributes:
        agreed: the user has confirmed the creation of the plan, so the preview asks only about destruction.
    """

    path: Path
    output: str
    yes: bool
    allow_destroy: tuple[str, ...]
    refresh: bool
    agreed: bool = False


def up(options: UpOptions) -> ExitCode:
    """Create or update the cluster to match the spec."""
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
    with open_session(workspace, screen.progress, start=True) as session:
        check_cluster(session, screen, adopt=True)
        if session.live is not None and session.live.started:
            start_processes(workspace.plan, session.live, session.tools, screen.progress)
        for stack in session.stacks:
            stack.engine.recover_if_owner_dead()
        found = preview_of(session, screen, refresh=options.refresh)
        if session.live is None:
            screen.say(platform_text(workspace))
        if not _is_agreed(options, session, found, screen):
            return ExitCode.DECLINED
        if session.live is not None:
            apply(session, found, screen, refresh=options.refresh)
            return ExitCode.OK
    apply_from_nothing(session, found, screen, refresh=options.refresh)
    return ExitCode.OK


def _is_agreed(options: UpOptions, session: Session, found: Preview, screen: Screen) -> bool:
    """Return whether the user agrees to all changes; a lab that this run started is stopped otherwise."""
    workspace = session.workspace
    size = found.size + (0 if session.live else platform_size(workspace))
    try:
        steps = by_hand(workspace, component_steps(workspace, releases_of(session.stacks), None))
        agreed = agreed_to_steps(steps, yes=options.yes) and agreed_to_changes(
            size, found.destroyed, options.allow_destroy, yes=options.yes, agreed=options.agreed
        )
    except BaseException:  # Ctrl-C at a question too
        stop_started_lab(session)
        raise
    if not agreed:
        screen.say("nothing was changed")
        stop_started_lab(session)
    return agreed
