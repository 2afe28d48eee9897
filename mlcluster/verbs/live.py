"""The cluster that a spec is for, opened: its API server, its lab on `local`, and the engine's stacks on it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.programs import load
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.preflight import preflight
from mlcluster.progress import Progress
from mlcluster.spec.targets import ExistingTarget, LocalTarget
from mlcluster.verbs.reading import Reading

if TYPE_CHECKING:
    from mlcluster.lab.lab import Lab
    from mlcluster.lab.toolchain import Toolchain

PERMISSIONS = [
    ("create", "", "namespaces"),
    ("create", "rbac.authorization.k8s.io", "rolebindings"),
    ("create", "scheduling.k8s.io", "priorityclasses"),
    ("create", "admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("create", "kueue.x-k8s.io", "clusterqueues"),
]


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster that answers, knows us, and lets us do what we are about to do.

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


@dataclass(frozen=True, slots=True)
class Stage:
    """One stack of the cluster, in the order of `up`."""

    title: str
    engine: Engine


def lab_of(reading: Reading) -> "Lab | None":
    """The lab of a `local` spec, whether it runs or not."""
    target = reading.spec.target
    if not isinstance(target, LocalTarget):
        return None
    from mlcluster.lab.lab import Lab

    return Lab(target.lab or reading.spec.metadata.name)


@contextmanager
def open_cluster(
    reading: Reading, toolchain: "Toolchain | None", progress: Progress, *, start: bool
) -> Iterator[LiveCluster | None]:
    """The live cluster, checked; None where a lab does not run and is not to be started.

    Args:
        start: bring the lab up first where there is one.

    Raises:
        MlclusterError: dead, refusing, forbidding, or not the cluster of this stack.
    """
    lab = lab_of(reading)
    if lab is None:
        kubeconfig, context = _existing(reading)
        with Kube.from_kubeconfig(Path(kubeconfig), context) as kube:
            yield _checked(kubeconfig, context, kube, None, started=False)
        return
    running = lab.status().state == "running"
    if not running and (not start or toolchain is None):
        yield None
        return
    if start and toolchain is not None:  # a running lab is left alone, unless the spec wants it otherwise
        tolerated = isinstance(reading.spec.target, LocalTarget) and reading.spec.target.extended_resource_toleration
        lab.start(toolchain, progress, extended_resource_toleration=tolerated, started_by="up")
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        yield _checked(str(lab.kubeconfig), None, kube, lab, started=not running)


def _checked(kubeconfig: str, context: str | None, kube: Kube, lab: "Lab | None", *, started: bool) -> LiveCluster:
    preflight(kube, permissions=PERMISSIONS)
    return LiveCluster(kubeconfig, context, kube, kube.cluster_uid(), lab, started)


def _existing(reading: Reading) -> tuple[str, str | None]:
    target = reading.spec.target
    if not isinstance(target, ExistingTarget):
        raise MlclusterError("opening the cluster", f"the {target.kind} target is not supported yet")
    given = target.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    path = Path(given).expanduser()
    if target.kubeconfig and not path.is_absolute():
        path = reading.path.parent / path
    if not path.is_file():
        raise MlclusterError("opening the cluster", f"there is no kubeconfig {path}", "set target.kubeconfig")
    return str(path.absolute()), target.context


def home_of(reading: Reading) -> StackHome:
    """Where the stacks of this spec live."""
    state = reading.spec.state
    return StackHome(reading.spec.metadata.name, backend_url=state.backend, secrets_provider=state.secrets_provider)


def stages_of(reading: Reading, live: LiveCluster, binary: Path, progress: Progress) -> list[Stage]:
    """The stacks of the cluster: what makes the nodes, then the platform on them.

    Raises:
        MlclusterError: this is not the cluster, or not the provider, that the stack belongs to.
    """
    settings = StackSettings(
        cluster_uid=live.uid,
        provider=reading.plan.cluster.kubernetes_provider,
        target=reading.plan.cluster.target,
        spec_name=reading.spec.metadata.name,
    )
    recorded = home_of(reading).settings()
    if recorded is not None:
        recorded.check(settings)
    projects = [("local", "simulated nodes"), ("platform", "platform")]
    if reading.plan.cluster.target != "local":
        projects = projects[1:]

    def engine(name: str) -> Engine:
        module = load(name)

        def program() -> None:
            module.program(reading.plan, kubeconfig=live.kubeconfig, context=live.context, cluster_uid=live.uid)

        return Engine(home_of(reading), f"mlcluster-{name}", program, settings, binary, tell=progress.say)

    return [Stage(title, engine(name)) for name, title in projects]
