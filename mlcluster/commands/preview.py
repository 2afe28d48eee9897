"""`mlcluster preview`: what `up` would do now."""

from pathlib import Path

from mlcluster.deploy.preview.changes import (
    Previewed,
    planned_size,
    planned_text,
    platform_size,
    platform_text,
    previewed,
)
from mlcluster.deploy.preview.checks import ask_account, check, ready
from mlcluster.deploy.session.cluster import LiveCluster, is_eks, open_cluster
from mlcluster.deploy.session.run_lock import tell_run_in_progress
from mlcluster.deploy.session.tools import tools_of
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


def preview(path: Path, output: str, *, refresh: bool) -> ExitCode:
    """Shows what `up` would do now, asked of the engine and the cluster; changes nothing."""
    screen = Screen(output, color=use_color())
    workspace = load_workspace(path)
    check(workspace, screen)
    tell_run_in_progress(workspace, screen)
    ask_account(workspace, screen)
    tools = tools_of(workspace, screen.progress)
    with open_cluster(workspace, tools, screen.progress, start=False) as live:
        if live is None and not is_eks(workspace):
            told = {"planned": planned_size(workspace), "previewed": False}
            screen.result("PreviewResult", planned_text(workspace), told)
            return ExitCode.OK
        stacks = ready(workspace, live, tools, screen)
        _tell(workspace, live, previewed(workspace, live, stacks, screen, refresh=refresh), screen)
    return ExitCode.OK


def _tell(workspace: Workspace, live: LiveCluster | None, found: Previewed, screen: Screen) -> None:
    going = [one.key for one in found.going]
    asks = f"\n`up` will want: {' '.join(f'--allow-destroy {key}' for key in going)}" if going else ""
    text = (f"{found.size} changes in all" if found.size else "nothing to change") + asks
    if live is None:
        text += f"\n{platform_text(workspace)}"
    told = {
        "changes": found.size,
        "destroys": going,
        "previewed": True,
        "planned": 0 if live else platform_size(workspace),
        "nodes": found.marks,
        "added": [*found.added],
    }
    screen.result("PreviewResult", text, told)
