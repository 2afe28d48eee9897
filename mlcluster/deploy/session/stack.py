"""The Pulumi stacks of a cluster: where their state is, and for which cluster."""

from dataclasses import dataclass
from pathlib import Path

from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.spec.targets import LocalTarget

AWS, NODES, PLATFORM = "eks", "local", "platform"
"""Programs in `stacks/`: AWS resources, simulated nodes, and the Kubernetes objects."""

TITLES = {AWS: "AWS", NODES: "simulated nodes", PLATFORM: "platform"}
PROGRAMS = {"eks": (AWS, PLATFORM), "existing": (PLATFORM,), "local": (NODES, PLATFORM)}
"""Target -> the programs of its stacks, in the order of `up`."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of the cluster."""

    title: str
    engine: Engine


def project_of(program: str) -> str:
    """Return the Pulumi project of a program."""
    return f"mlcluster-{program}"


def home_of(workspace: Workspace) -> StackHome:
    """Return where the state of this spec's stacks is."""
    state = workspace.spec.state
    return StackHome(
        workspace.spec.metadata.name,
        backend_url=state.backend,
        secrets_provider=state.secrets_provider,
        spec=str(workspace.path),
    )


def lab_name(workspace: Workspace) -> str:
    """Return the name of the lab of a `local` spec; "" for another target."""
    target = workspace.spec.target
    return (target.lab or workspace.spec.metadata.name) if isinstance(target, LocalTarget) else ""


def settings_of(workspace: Workspace, cluster_uid: str) -> StackSettings:
    """Return the settings of this run; `cluster_uid` is "" while there is no cluster."""
    return StackSettings(
        cluster_uid=cluster_uid,
        provider=workspace.plan.cluster.kubernetes_provider,
        target=workspace.plan.cluster.target,
        spec_name=workspace.spec.metadata.name,
        lab=lab_name(workspace),
    )


def stacks_without_cluster(workspace: Workspace, binary: Path) -> list[Stack]:
    """Return the stacks of a lab that does not run, to read their state; [] where the state is not in files."""
    home, settings = home_of(workspace), settings_of(workspace, "")
    if home.state_files is None:
        return []
    return [
        Stack(TITLES[name], Engine(home, project_of(name), lambda: None, settings, binary))
        for name in PROGRAMS["local"]
    ]
