"""A session: the programs, the cluster and the stacks of a workspace, opened once for a command."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster, is_eks, open_cluster, stacks_of
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.tools import Tools, tools_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """The state that the steps of a command share.

    Attributes:
        live: the cluster; None where a lab does not run, or EKS has no cluster yet.
        stacks: in the order of `up`; without a cluster only the stack of the AWS resources.
    """

    workspace: Workspace
    tools: Tools
    live: LiveCluster | None
    stacks: list[Stack]
    progress: Progress

    @property
    def plan(self) -> Plan:
        """The plan of the workspace."""
        return self.workspace.plan

    @property
    def is_eks(self) -> bool:
        """Whether the cluster itself is part of the plan."""
        return is_eks(self.workspace)

    @property
    def platform(self) -> Stack:
        """The stack of the platform: the last one of a cluster that runs."""
        return self.stacks[-1]

    @property
    def cluster(self) -> LiveCluster:
        """The cluster.

        Raises:
            MlclusterError: there is none that runs.
        """
        if self.live is None:
            name = self.workspace.spec.metadata.name
            hint = f"Run `mlcluster up {home_of(self.workspace).spec}`."
            raise MlclusterError("opening the cluster", f"the cluster {name} does not run", hint)
        return self.live


@contextmanager
def open_session(
    workspace: Workspace, progress: Progress, *, start: bool, tools: Tools | None = None, owned: bool = True
) -> Iterator[Session]:
    """Open the cluster of a workspace and its stacks.

    Args:
        start: start a lab that does not run.
        tools: those of an earlier session of the same command.
        owned: refuse a cluster that another stack manages.

    Raises:
        MlclusterError: a program is missing, the cluster does not answer, or it is not the cluster of these stacks.
    """
    tools = tools or tools_of(workspace, progress)
    with open_cluster(workspace, tools, progress, start=start) as live:
        if live is not None and owned:
            owner.check_owner(live.kube, workspace.spec.metadata.name, home_of(workspace))
        stacks = stacks_of(workspace, live, tools.pulumi, progress)
        yield Session(workspace, tools, live, stacks, progress)
