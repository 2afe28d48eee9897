"""`mlcluster unlock`: clear what a killed run left, after a check that its process is dead."""

from pathlib import Path

from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.verbs.exclusive import exclusive
from mlcluster.verbs.live import lab_of, open_cluster, stages_of
from mlcluster.verbs.output import use_color
from mlcluster.verbs.reading import Reading, read
from mlcluster.verbs.tools import tools_of


def unlock(path: Path, output: str, *, assume_dead: bool) -> ExitCode:
    """Clears locks of dead owners and the operations they left open; a living owner is named and left alone.

    Args:
        assume_dead: the user vouches that a holder on another host is gone.
    """
    screen = Screen(output, color=use_color())
    reading = read(path)
    with exclusive(reading, "unlock", screen):
        return _unlock(reading, screen, assume_dead=assume_dead)


def _unlock(reading: Reading, screen: Screen, *, assume_dead: bool) -> ExitCode:
    tools = tools_of(reading, screen.progress)
    lab = lab_of(reading)
    if lab is not None and lab.status().state == "absent":
        screen.result("UnlockResult", "there is no lab, so nothing is locked", {"cleared": []})
        return ExitCode.OK
    # A killed run may have left a lab that does not run; whose objects these are is looked up on its API server.
    with open_cluster(reading, tools, screen.progress, start=True) as live:
        cleared = []
        for stage in stages_of(reading, live, tools.pulumi, screen.progress):
            with screen.progress.task(f"looking at {stage.title}"):
                recovered = stage.engine.unlock(assume_dead=assume_dead)
            cleared += [str(recovered)] if recovered else []
    screen.result("UnlockResult", "\n".join(cleared) or "nothing was locked", {"cleared": cleared})
    return ExitCode.OK
