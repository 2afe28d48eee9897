"""`mlcluster down`: show, ask, delete, and check that nothing is left."""

from dataclasses import dataclass
from pathlib import Path

from mlcluster.deploy.session.cluster import is_eks, lab_of
from mlcluster.deploy.session.deleted_lab import forget_lost
from mlcluster.deploy.session.prompts import require_answers
from mlcluster.deploy.session.run_lock import exclusive, tell_run_in_progress
from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.deploy.teardown.cluster import down_cluster
from mlcluster.deploy.teardown.eks import down_eks
from mlcluster.deploy.teardown.options import TeardownOptions
from mlcluster.errors import ExitCode
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color


@dataclass(frozen=True, slots=True)
class DownOptions:
    """The arguments of `mlcluster down`.

    Attributes:
        plan: only show what would be deleted.
        delete_retained: plan ids of what is kept unless it is named here.
    """

    path: Path
    output: str
    yes: bool
    plan: bool = False
    delete_retained: tuple[str, ...] = ()


def down(options: DownOptions) -> ExitCode:
    """Delete everything that `up` made, and nothing else."""
    screen = Screen(options.output, color=use_color())
    workspace = load_workspace(options.path)
    teardown = TeardownOptions(options.yes, options.plan, options.delete_retained)
    if teardown.plan:
        tell_run_in_progress(workspace, screen)
        return _down(workspace, teardown, screen)
    with exclusive(workspace, "down", screen):
        return _down(workspace, teardown, screen)


def _down(workspace: Workspace, options: TeardownOptions, screen: Screen) -> ExitCode:
    name, lab = workspace.spec.metadata.name, lab_of(workspace)
    if lab is not None and not options.plan and forget_lost(lab, workspace, screen.progress):
        document = {"cluster": name, "left": [], "unmanaged": []}
        screen.result("DownResult", f"{name} is not there: nothing to take down", document)
        return ExitCode.OK
    if not options.plan:
        require_answers(yes=options.yes)
    run = down_eks if is_eks(workspace) else down_cluster
    return run(workspace, options, screen)
