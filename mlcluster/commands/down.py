"""`mlcluster down`: show, ask, delete, and check that nothing is left."""

from pathlib import Path

from mlcluster.deploy.session.cluster import is_eks, lab_of
from mlcluster.deploy.session.deleted_lab import forget_lost
from mlcluster.deploy.session.prompts import require_answers
from mlcluster.deploy.session.run_lock import exclusive, tell_run_in_progress
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.deploy.teardown.cluster import down_cluster
from mlcluster.deploy.teardown.eks import down_eks
from mlcluster.deploy.teardown.teardown import TeardownOptions
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


def down(path: Path, output: str, options: TeardownOptions) -> ExitCode:
    """Delete everything that `up` made, and nothing else."""
    screen = Screen(output, color=use_color())
    workspace = load_workspace(path)
    if options.plan:
        tell_run_in_progress(workspace, screen)
        return _down(workspace, options, screen)
    with exclusive(workspace, "down", screen):
        return _down(workspace, options, screen)


def _down(workspace: Workspace, options: TeardownOptions, screen: Screen) -> ExitCode:
    name, lab = workspace.spec.metadata.name, lab_of(workspace)
    if lab is not None and not options.plan and forget_lost(lab, workspace, screen.progress):
        document = {"cluster": name, "left": [], "unmanaged": []}
        screen.result("DownResult", f"there is no lab {name}: nothing to delete", document)
        return ExitCode.OK
    if not options.plan:
        require_answers(yes=options.yes)
    run = down_eks if is_eks(workspace) else down_cluster
    return run(workspace, options, screen)
