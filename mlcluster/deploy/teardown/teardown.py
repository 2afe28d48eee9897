"""A `down` in progress: its deletions, and the confirmation before them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlcluster.deploy.ownership.unplanned import Unplanned, show_unplanned, unplanned
from mlcluster.deploy.removal.namespaces import Installed
from mlcluster.deploy.session.prompts import agreed_to_destroy
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.teardown.stacks import show
from mlcluster.engine.engine import Engine
from mlcluster.errors import ExitCode
from mlcluster.kube.client import Kube
from mlcluster.report.screen import Screen


@dataclass(frozen=True, slots=True)
class TeardownOptions:
    """The arguments of `mlcluster down`.

    Attributes:
        yes: do not ask.
        plan: only show the deletions.
        delete_retained: plan ids of retained resources to delete too.
    """

    yes: bool = False
    plan: bool = False
    delete_retained: tuple[str, ...] = ()


@dataclass(slots=True)
class Teardown:
    """A `down` in progress.

    Attributes:
        unplanned: labeled objects that neither the plan nor the state has.
        delete_retained: plan ids of retained resources that the user wants deleted.
        platform_state: the stack of the platform on `eks`, whose cluster may be gone.
        releases: Helm releases that this or an interrupted run uninstalls.
        kept: objects that stay in the cluster, each with its reason.
    """

    session: Session
    screen: Screen
    unplanned: Unplanned = field(default_factory=Unplanned)
    delete_retained: tuple[str, ...] = ()
    platform_state: Engine | None = None
    releases: list[Installed] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def kube(self) -> Kube:
        """The API server of the cluster."""
        return self.session.cluster.kube

    @property
    def has_real_nodes(self) -> bool:
        """Whether nodes outlive the cluster's objects: their labels are removed on `existing` only."""
        return self.session.cluster.lab is None and not self.session.is_eks


def show_teardown(session: Session, screen: Screen) -> Unplanned:
    """Show the deletions of `down`, in the stacks and outside of them; return the objects outside."""
    show(screen, None if session.live is None else session.live.kube, session.stacks)
    if session.live is None:
        return Unplanned()
    found = unplanned(session.plan, session.live, session.stacks)
    show_unplanned(screen, session.live.kube, found)
    return found


def declined(options: TeardownOptions, name: str, screen: Screen, kept: Sequence[str] | None = None) -> ExitCode | None:
    """Return the exit code of a run that only shows, or that the user declines; None to continue.

    Args:
        name: of the cluster.
        kept: plan ids of resources that `down` keeps on this target.
    """
    if options.plan:
        document = {"cluster": name} if kept is None else {"cluster": name, "kept": [*kept]}
        screen.result("DownPlan", "", document)
        return ExitCode.OK
    if agreed_to_destroy(name, yes=options.yes):
        return None
    screen.say("nothing was changed")
    return ExitCode.DECLINED
