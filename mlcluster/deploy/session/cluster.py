"""The cluster of a spec: its API server, its lab on `local`, and the stacks on it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcluster.deploy.session import cloud_stack
from mlcluster.deploy.session.deleted_lab import forget_lost, refuse_lost
from mlcluster.deploy.session.platform_program import PlatformProgram
from mlcluster.deploy.session.stack import NODES, PLATFORM, TITLES, Stack, home_of, lab_name, project_of, settings_of
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.engine.programs import load
from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.gates import Gates
from mlcluster.kube.preflight import preflight
from mlcluster.progress import Progress
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.targets import ExistingTarget, LocalTarget

if TYPE_CHECKING:
    from mlcluster.lab.lab import Lab

PERMISSIONS = [
    ("create", "", "namespaces"),
    ("create", "rbac.authorization.k8s.io", "rolebindings"),
    ("create", "rbac.authorization.k8s.io", "clusterroles"),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
    ("create", "scheduling.k8s.io", "priorityclasses"),
    ("create", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("create", "kueue.x-k8s.io", "clusterqueues"),
]


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster that answers, accepts the credentials, and grants the rights that `up` and `down` need.

    Attributes:
        kubeconfig: path of the file.
        context: context in it; None is its current one.
        uid: UID of the kube-system namespace: which cluster this is.
        lab: on `local`.
        started: this run started the lab.
    """

    kubeconfig: str
    context: str | None
    kube: Kube
    uid: str
    lab: "Lab | None"
    started: bool


def lab_of(workspace: Workspace) -> "Lab | None":
    """Return the lab of a `local` spec, whether it runs or not; None for another target."""
    name = lab_name(workspace)
    if not name:
        return None
    from mlcluster.lab.lab import Lab

    return Lab(name)


@contextmanager
def open_cluster(
    workspace: Workspace, tools: Tools, progress: Progress, *, start: bool
) -> Iterator[LiveCluster | None]:
    """Yield the checked cluster; None where a lab does not run and must not start, or EKS has no cluster yet.

    Args:
        start: bring the lab up first where there is one.

    Raises:
        MlclusterError: dead, refusing, forbidding, or not the cluster of this stack.
    """
    lab = lab_of(workspace)
    if lab is None:
        kubeconfig, context = _eks(workspace, tools, progress) if is_eks(workspace) else _existing(workspace)
        if not kubeconfig:
            yield None
            return
        with Kube.from_kubeconfig(Path(kubeconfig), context) as kube:
            yield _checked(kubeconfig, context, kube, None, started=False)
        return
    with _local(lab, workspace, tools, progress, start=start) as live:
        yield live


@contextmanager
def _local(
    lab: "Lab", workspace: Workspace, tools: Tools, progress: Progress, *, start: bool
) -> Iterator[LiveCluster | None]:
    """Yield the cluster of a lab. A command that may start the lab also restarts processes of it that end meanwhile."""
    running = lab.status().state == "running"
    if not start or tools.toolchain is None:
        if not running:
            yield None
            return
        with Kube.from_kubeconfig(lab.kubeconfig) as kube:
            yield _checked(str(lab.kubeconfig), None, kube, lab, started=False)
        return
    forget_lost(lab, workspace, progress)
    tolerated = isinstance(workspace.spec.target, LocalTarget) and workspace.spec.target.extended_resource_toleration
    with _kept(lab, progress):
        # A running lab is left alone, unless the spec wants it otherwise.
        lab.start(tools.toolchain, progress, extended_resource_toleration=tolerated, started_by="up")
        if not running:  # its data may be another lab's than the stack's
            forget_lost(lab, workspace, progress)
        with Kube.from_kubeconfig(lab.kubeconfig) as kube:
            yield _checked(str(lab.kubeconfig), None, kube, lab, started=not running)


@contextmanager
def _kept(lab: "Lab", progress: Progress) -> Iterator[None]:
    """Restart processes of a lab that end meanwhile; an error names them, because they are its likely cause."""
    from mlcluster.lab.keeper import Keeper

    with Keeper(lab, progress) as keeper:
        try:
            yield
        except InterruptedByUserError:
            raise
        except MlclusterError as error:
            account = keeper.account()
            if not account:
                raise
            happened = f"{error.happened} ({account})"
            hint = "Run the same command again: it starts the processes that ended, and continues."
            raise MlclusterError(error.doing, happened, hint, exit_code=error.exit_code) from error


def _checked(kubeconfig: str, context: str | None, kube: Kube, lab: "Lab | None", *, started: bool) -> LiveCluster:
    preflight(kube, permissions=PERMISSIONS)
    return LiveCluster(kubeconfig, context, kube, kube.cluster_uid(), lab, started)


def is_eks(workspace: Workspace) -> bool:
    """Return whether the cluster itself is part of the plan."""
    return isinstance(workspace.spec.target, EksTarget)


def _eks(workspace: Workspace, tools: Tools, progress: Progress) -> tuple[str, str | None]:
    """Return the kubeconfig from the outputs of the AWS stack; "" before there is a cluster."""
    path = cloud_stack.write_kubeconfig(
        workspace, cloud_stack.outputs_of(cloud_stack.open_cloud_stack(workspace, tools.pulumi, progress))
    )
    return ("" if path is None else str(path)), None


def _existing(workspace: Workspace) -> tuple[str, str | None]:
    target = workspace.spec.target
    if not isinstance(target, ExistingTarget):
        raise MlclusterError("opening the cluster", f"the target {target.kind} has no kubeconfig of its own")
    given = target.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    path = Path(given).expanduser()
    if target.kubeconfig and not path.is_absolute():
        path = workspace.path.parent / path
    if not path.is_file():
        hint = "Set `target.kubeconfig`, or KUBECONFIG."
        raise MlclusterError("opening the cluster", f"there is no kubeconfig {path}", hint)
    return str(path.absolute()), target.context


def kubeconfig_of(workspace: Workspace) -> tuple[str, str | None] | None:
    """Return path and context of the kubeconfig, without a request; None where no cluster runs yet."""
    if is_eks(workspace):
        path = home_of(workspace).root / "kubeconfig"  # written by `up`
        return (str(path), None) if path.is_file() else None
    lab = lab_of(workspace)
    if lab is None:
        return _existing(workspace)
    return (str(lab.kubeconfig), None) if lab.status().state == "running" else None


def stacks_of(workspace: Workspace, live: LiveCluster | None, binary: Path, progress: Progress) -> list[Stack]:
    """Return the stacks of the cluster in the order of `up`: the one that creates the nodes, then the platform.

    Without a live cluster there is nothing to put a platform on: only the stack of the AWS resources.

    Raises:
        MlclusterError: this is not the cluster, or not the provider, that the stack belongs to.
    """
    made: list[Stack] = []
    if is_eks(workspace):
        made.append(cloud_stack.open_cloud_stack(workspace, binary, progress, "" if live is None else live.uid))
    if live is None:
        return made
    settings = settings_of(workspace, live.uid)
    if live.lab is not None:
        refuse_lost(live.lab, workspace, live.uid)
    recorded = home_of(workspace).settings()
    if recorded is not None:
        recorded.check(settings)
    aws = made[0] if made else None
    for name in (NODES, PLATFORM) if live.lab is not None else (PLATFORM,):
        program = _program(name, workspace, live, aws, progress)
        engine = Engine(home_of(workspace), project_of(name), program, settings, binary, tell=progress.say)
        made.append(Stack(TITLES[name], engine))
    return made


def platform_without_cluster(workspace: Workspace, binary: Path, progress: Progress) -> Engine:
    """Return the stack of a platform whose cluster is gone: it can only be forgotten."""
    settings = settings_of(workspace, "")
    return Engine(home_of(workspace), project_of(PLATFORM), lambda: None, settings, binary, tell=progress.say)


def _program(
    name: str, workspace: Workspace, live: LiveCluster, aws_stack: Stack | None, progress: Progress
) -> Callable[[], None]:
    """Return the program of a stack; it reads the outputs of the AWS stack when it runs, after that was applied."""
    module = load(name)

    def program(**more: Any) -> None:
        given: dict[str, Any] = {"kubeconfig": live.kubeconfig, "context": live.context, "cluster_uid": live.uid}
        if aws_stack is not None:
            given["values"] = cloud_stack.values_of(aws_stack)
        module.program(workspace.plan, **given, **more)

    if name != PLATFORM:
        return program
    plan = workspace.plan

    def gates() -> Gates:
        return Gates(live.kube, [*plan.releases, *plan.defining_objects], progress.say)

    return PlatformProgram(lambda made: program(ready=made), gates)
