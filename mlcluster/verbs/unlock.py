"""`mlcluster unlock`: clear what a killed run left, after a check that its process is dead."""

from pathlib import Path

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.screen import Screen
from mlcluster.verbs.exclusive import exclusive
from mlcluster.verbs.live import is_eks, open_cluster, stages_of
from mlcluster.verbs.output import use_color
from mlcluster.verbs.reading import Reading, read
from mlcluster.verbs.stage import home_of
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
    with open_cluster(reading, tools, screen.progress, start=False) as live:
        if live is None and not is_eks(reading):
            raise MlclusterError(
                "opening the cluster", "the lab does not run", f"Run `mlcluster up {home_of(reading).spec}`."
            )
        cleared = []
        for stage in stages_of(reading, live, tools.pulumi, screen.progress):
            with screen.progress.task(f"looking at {stage.title}"):
                recovered = stage.engine.unlock(assume_dead=assume_dead)
            cleared += [str(recovered)] if recovered else []
    screen.result("UnlockResult", "\n".join(cleared) or "nothing was locked", {"cleared": cleared})
    return ExitCode.OK
