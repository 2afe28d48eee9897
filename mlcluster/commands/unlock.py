"""`mlcluster unlock`: clear the locks that a killed run left, after a check that its process is dead."""

from pathlib import Path

from mlcluster.deploy.session.cluster import lab_of
from mlcluster.deploy.session.run_lock import exclusive
from mlcluster.deploy.session.session import open_session
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


def unlock(path: Path, output: str, *, assume_dead: bool) -> ExitCode:
    """Clear the locks of dead owners and the operations that they left open; a live owner keeps its lock, and is named.

    Args:
        assume_dead: the user vouches that a holder on another host is gone.
    """
    screen = Screen(output, color=use_color())
    workspace = load_workspace(path)
    with exclusive(workspace, "unlock", screen):
        return _unlock(workspace, screen, assume_dead=assume_dead)


def _unlock(workspace: Workspace, screen: Screen, *, assume_dead: bool) -> ExitCode:
    lab = lab_of(workspace)
    if lab is not None and lab.status().state == "absent":
        screen.result("UnlockResult", "there is no lab, so nothing is locked", {"cleared": []})
        return ExitCode.OK
    cleared = []
    # Recovery reads the API server of a lab, which a killed run may have left stopped: so the lab starts.
    with open_session(workspace, screen.progress, start=True, owned=False) as session:
        for stack in session.stacks:
            with screen.progress.task(f"looking at {stack.title}"):
                recovered = stack.engine.unlock(assume_dead=assume_dead)
            cleared += [str(recovered)] if recovered else []
    screen.result("UnlockResult", "\n".join(cleared) or "nothing was locked", {"cleared": cleared})
    return ExitCode.OK
