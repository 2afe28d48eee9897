"""`mlcluster preview`: show what `up` would change now."""

from pathlib import Path

from mlcluster.deploy.preview.changes import (
    Preview,
    planned_size,
    planned_text,
    platform_size,
    platform_text,
    preview_of,
)
from mlcluster.deploy.preview.checks import ask_account, check, check_cluster
from mlcluster.deploy.session.run_lock import tell_run_in_progress
from mlcluster.deploy.session.session import Session, open_session
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


def preview(path: Path, output: str, *, refresh: bool) -> ExitCode:
    """Show what `up` would change now, as the engine and the cluster report it; change nothing."""
    screen = Screen(output, color=use_color())
    workspace = load_workspace(path)
    check(workspace, screen)
    tell_run_in_progress(workspace, screen)
    ask_account(workspace, screen)
    with open_session(workspace, screen.progress, start=False) as session:
        if session.live is None and not session.is_eks:
            document = {"planned": planned_size(workspace), "previewed": False}
            screen.result("PreviewResult", planned_text(workspace), document)
            return ExitCode.OK
        check_cluster(session, screen)
        _show(session, preview_of(session, screen, refresh=refresh), screen)
    return ExitCode.OK


def _show(session: Session, found: Preview, screen: Screen) -> None:
    destroyed = [one.key for one in found.destroyed]
    flags = " ".join(f"--allow-destroy {key}" for key in destroyed)
    text = f"{found.size} changes in all" if found.size else "nothing to change"
    text += f"\n`up` will want: {flags}" if destroyed else ""
    text += f"\n{platform_text(session.workspace)}" if session.live is None else ""
    document = {
        "changes": found.size,
        "destroys": destroyed,
        "previewed": True,
        "planned": 0 if session.live else platform_size(session.workspace),
        "nodes": found.nodes,
        "added": [*found.added],
    }
    screen.result("PreviewResult", text, document)
