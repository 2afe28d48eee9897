"""`mlcluster preview`: what `up` would do now."""

from pathlib import Path

from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.verbs.conditions import ask_account, check, ready
from mlcluster.verbs.exclusive import tell_run_in_progress
from mlcluster.verbs.live import LiveCluster, is_eks, open_cluster
from mlcluster.verbs.output import use_color
from mlcluster.verbs.previewing import (
    Previewed,
    planned_size,
    planned_text,
    platform_size,
    platform_text,
    previewed,
)
from mlcluster.verbs.reading import Reading, read
from mlcluster.verbs.tools import tools_of


def preview(path: Path, output: str, *, refresh: bool) -> ExitCode:
    """Shows what `up` would do now, asked of the engine and the cluster; changes nothing."""
    screen = Screen(output, color=use_color())
    reading = read(path)
    check(reading, screen)
    tell_run_in_progress(reading, screen)
    ask_account(reading, screen)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools, screen.progress, start=False) as live:
        if live is None and not is_eks(reading):
            told = {"planned": planned_size(reading), "previewed": False}
            screen.result("PreviewResult", planned_text(reading), told)
            return ExitCode.OK
        stages = ready(reading, live, tools, screen)
        _tell(reading, live, previewed(reading, live, stages, screen, refresh=refresh), screen)
    return ExitCode.OK


def _tell(reading: Reading, live: LiveCluster | None, found: Previewed, screen: Screen) -> None:
    going = [one.key for one in found.going]
    asks = f"\n`up` will want: {' '.join(f'--allow-destroy {key}' for key in going)}" if going else ""
    text = (f"{found.size} changes in all" if found.size else "nothing to change") + asks
    if live is None:
        text += f"\n{platform_text(reading)}"
    told = {
        "changes": found.size,
        "destroys": going,
        "previewed": True,
        "planned": 0 if live else platform_size(reading),
        "nodes": found.marks,
        "added": [*found.added],
    }
    screen.result("PreviewResult", text, told)
