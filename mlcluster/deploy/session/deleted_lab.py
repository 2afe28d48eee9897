"""Stacks whose lab was deleted, for example by `mlcluster lab reset`: all their resources are gone with it.

A lab is on this machine, so its absence can be proved. The API server of an `existing` cluster may only be out of
reach, so its stack is never forgotten here.
"""

from typing import TYPE_CHECKING

from mlcluster.deploy.session.stack import PROGRAMS, home_of, project_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.recovery import end_killed_runs
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.progress import Progress

if TYPE_CHECKING:
    from mlcluster.lab.lab import Lab


def forget_lost(lab: "Lab", workspace: Workspace, progress: Progress) -> bool:
    """Forget the stacks of a lab that is gone; return whether there is nothing left to delete.

    This also finishes a `down` that was killed after it had removed the stacks. A stack that still holds something and
    belongs to another lab, which exists, is kept.

    Raises:
        MlclusterError: a run on another host, or a live process, still holds the stack.
    """
    gone = lab.discard_if_never_ready(progress)
    home = home_of(workspace)
    recorded = home.settings()
    if recorded is None:
        return gone
    if not home.owns_backend or recorded.target != "local":
        return False
    held = [home.checkpoint(project_of(name)) for name in PROGRAMS["local"]]
    holds = any(path is None or path.exists() for path in held)
    if not (_is_lost(lab, recorded, gone=gone and _is_absent(lab)) if holds else gone):
        return False
    for name in PROGRAMS["local"]:
        end_killed_runs(home, project_of(name), progress.say)
    if holds:
        progress.say(f"{_happened(lab, recorded)}. Forgetting the stack.")
    home.forget()
    return True


def refuse_lost(lab: "Lab", workspace: Workspace, uid: str) -> None:
    """Stop a command that changes nothing at a stack whose lab was deleted.

    Args:
        lab: the lab of the spec, which runs.
        workspace: the spec.
        uid: UID of the lab's kube-system namespace.

    Raises:
        MlclusterError: the lab was deleted since the last `up`; the hint names the command that continues.
    """
    home = home_of(workspace)
    recorded = home.settings()
    if recorded is None or recorded.target != "local" or not home.owns_backend:
        return
    if _is_lost(lab, recorded, uid=uid):
        raise MlclusterError(
            f"opening the stack {home.name}",
            _happened(lab, recorded),
            f"Run `mlcluster up {home.spec}` to create everything again, or `mlcluster down {home.spec}` to forget it.",
        )


def _is_lost(lab: "Lab", recorded: StackSettings, *, gone: bool = False, uid: str = "") -> bool:
    """Return whether the lab of the stack does not exist any more.

    Args:
        lab: the lab of the spec.
        recorded: of the stack.
        gone: the lab of the spec has no data.
        uid: UID of the lab of the spec; "" to read it from the lab, if it runs.
    """
    from mlcluster.lab.lab import Lab

    now = uid or _uid(lab)
    if now and now == recorded.cluster_uid:
        return False  # it is the same control plane, under any name
    if recorded.lab and recorded.lab != lab.name:
        before = Lab(recorded.lab)
        return before.status().state == "absent" and _is_absent(before)
    if not recorded.lab and _others(lab):
        return False  # an earlier version did not record the name: one of those may be the lab
    return gone or bool(now and recorded.cluster_uid and now != recorded.cluster_uid)


def _is_absent(lab: "Lab") -> bool:
    """Return whether there is no directory either: a dangling link or an empty one may be an unmounted disk."""
    root = lab.layout.root
    return not root.is_symlink() and not (root.is_dir() and not any(root.iterdir()))


def _others(lab: "Lab") -> bool:
    from mlcluster.lab.lab import list_labs

    return any(one.name != lab.name and one.state != "absent" for one in list_labs())


def _uid(lab: "Lab") -> str:
    """Return the UID of the lab's kube-system namespace; "" where it does not run or does not answer."""
    if lab.status().state != "running":
        return ""
    try:
        with Kube.from_kubeconfig(lab.kubeconfig) as kube:
            return kube.cluster_uid()
    except MlclusterError:
        return ""


def _happened(lab: "Lab", recorded: StackSettings) -> str:
    name = recorded.lab or lab.name
    return f"The lab {name} was deleted since the last `mlcluster up`, and with it everything that the stack holds"
