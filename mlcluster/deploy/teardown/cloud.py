"""`mlcluster down` on `eks`: the platform, what its controllers made, everything in AWS, then a search for the rest.

Order: load balancers while their controller runs, the platform with its namespaces, volumes
while their CSI driver runs, the AWS stack, and at last a look into the account for what nobody took away. Each step
finds what is left of it, so an interrupted `down` is run again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.deploy.ownership.adoption import take_over_rest
from mlcluster.deploy.ownership.unplanned import Unplanned, delete_unplanned, show_unplanned, unplanned
from mlcluster.deploy.session import cloud_stack, owner
from mlcluster.deploy.session.cluster import LiveCluster, open_cluster, platform_without_cluster, stacks_of
from mlcluster.deploy.session.prompts import agreed_to_destroy
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.tools import tools_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.teardown.leftovers import Search, search
from mlcluster.deploy.teardown.stacks import destroy, destroy_platform, drain, show
from mlcluster.deploy.teardown.volumes import delete_load_balancers, delete_volumes
from mlcluster.engine.engine import Engine
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.numbers import counted
from mlcluster.report.screen import Screen
from mlcluster.spec.eks import EksTarget


@dataclass(frozen=True, slots=True)
class CloudDown:
    """What the command line says.

    Attributes:
        plan: only show what would go.
        delete_retained: plan ids of what is kept unless it is named here.
    """

    workspace: Workspace
    yes: bool
    plan: bool
    delete_retained: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that `down` leaves on purpose: the plan's id, and the cloud's."""

    plan_id: str
    id: str


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to take down.

    Attributes:
        live: None where there is no control plane (any more).
        stages: the cloud's stack, then the platform's where there is a cluster.
        platform: the platform's stack, for when its cluster is gone.
    """

    live: LiveCluster | None
    stacks: list[Stack]
    platform: Engine


def cloud_down(wanted: CloudDown, screen: Screen) -> ExitCode:
    """Takes the whole cluster out of the account, and proves it."""
    workspace = wanted.workspace
    name = workspace.spec.metadata.name
    if home_of(workspace).settings() is None and home_of(workspace).owns_backend:
        ends = f"{name} is not there: this machine has no state of it."
        return _conclude(workspace, [], search(workspace, None, [], screen), screen, ends)
    tools = tools_of(workspace, screen.progress)
    with open_cluster(workspace, tools, screen.progress, start=False) as live:
        if live is not None:
            owner.check_owner(live.kube, name, home_of(workspace))
        stacks = stacks_of(workspace, live, tools.pulumi, screen.progress)
        platform = platform_without_cluster(workspace, tools.pulumi, screen.progress)
        return take_down(wanted, Found(live, stacks, platform), screen)


def take_down(wanted: CloudDown, found: Found, screen: Screen, looked: Callable[..., Search] = search) -> ExitCode:
    """Shows what goes, asks, deletes it, and has `looked` search the account for the rest.

    Raises:
        MlclusterError: the control plane is protected, a name is unknown, a step failed, or something is left.
    """
    workspace, aws_stack = wanted.workspace, found.stacks[0]
    name = workspace.spec.metadata.name
    kept = kept_by(workspace, aws_stack, wanted.delete_retained)
    vpc_id = vpc_of(workspace, aws_stack)
    show(screen, None if found.live is None else found.live.kube, found.stacks)
    rest = Unplanned()
    if found.live is not None:
        rest = unplanned(workspace.plan, found.live, found.stacks)
        show_unplanned(screen, found.live.kube, rest)
    for entry in kept:
        screen.say(f"  kept: {entry.plan_id} ({entry.id}); --delete-retained {entry.plan_id} deletes it too")
    if wanted.plan:
        screen.result("DownPlan", "", {"cluster": name, "kept": [entry.plan_id for entry in kept]})
        return ExitCode.OK
    refuse_protected(workspace, cloud_stack.outputs_of(aws_stack))
    if not agreed_to_destroy(name, yes=wanted.yes):
        screen.say("nothing was changed")
        return ExitCode.DECLINED
    _delete(wanted, found, rest, screen)
    found.platform.abandon()
    kept_ids = [entry.id for entry in kept]
    ends = f"{name} is down." + (f" Kept: {', '.join(kept_ids)}." if kept else "")
    return _conclude(workspace, kept, looked(workspace, vpc_id, kept_ids, screen), screen, ends)


def kept_by(workspace: Workspace, stack: Stack, asked: tuple[str, ...]) -> list[Kept]:
    """What the state holds, the plan marks as retained, and nobody asked to delete.

    Raises:
        MlclusterError: something is asked for that neither the plan nor the state has.
    """
    retained = {entry.id for entry in workspace.plan.resources if entry.retained}
    held = stack.engine.resources() if stack.engine.exists() else []
    unknown = sorted(set(asked) - retained - {entry.plan_id for entry in held})
    if unknown:
        hint = f"retained are: {', '.join(sorted(retained)) or 'none'}"
        raise MlclusterError("reading --delete-retained", f"there is no {', '.join(unknown)} to delete", hint)
    return [Kept(entry.plan_id, entry.id) for entry in held if entry.plan_id in retained - set(asked)]


def vpc_of(workspace: Workspace, stack: Stack) -> str | None:
    """The ID of the VPC that we made, None where the spec names one or none was made."""
    target = workspace.spec.target
    if not isinstance(target, EksTarget) or target.network.vpc_id:
        return None
    held = stack.engine.resources() if stack.engine.exists() else []
    return next((entry.id for entry in held if entry.plan_id.startswith("Vpc/")), None)


def refuse_protected(workspace: Workspace, outputs: Mapping[str, Any]) -> None:
    """Stops while the control plane is protected against deletion.

    Raises:
        MlclusterError: it is; says how to lift it.
    """
    if outputs.get("deletionProtection"):
        raise MlclusterError(
            f"taking {workspace.spec.metadata.name} down",
            "its control plane is protected against deletion",
            f"Set target.deletionProtection: false, run `mlcluster up {home_of(workspace).spec}`, then down again.",
        )


def _delete(wanted: CloudDown, found: Found, rest: Unplanned, screen: Screen) -> None:
    live, stacks = found.live, found.stacks
    if live is not None:
        take_over_rest(wanted.workspace.plan, live, stacks, screen.progress)
        delete_unplanned(live.kube, rest, screen.progress)
        drain(live.kube, stacks[-1], screen)
        delete_load_balancers(live.kube, screen.progress)
        destroy_platform(live.kube, stacks[-1], screen, nodes=False)
        delete_volumes(live.kube, screen.progress)
        owner.release(live.kube)
    if wanted.delete_retained and stacks[0].engine.exists():
        stacks[0].engine.stop_retaining(wanted.delete_retained)
    destroy(stacks[0], screen)


def _conclude(workspace: Workspace, kept: list[Kept], found: Search, screen: Screen, ends: str) -> ExitCode:
    name = workspace.spec.metadata.name
    told = {"cluster": name, "left": list(found.left), "kept": [entry.id for entry in kept], **found.document}
    if found.left:
        screen.result("DownResult", found.text, told)
        happened = f"{counted(len(found.left), 'resource is', 'resources are')} left in the account"
        raise MlclusterError(f"taking {name} down", happened, "run the commands above, or run down again")
    home_of(workspace).forget()
    screen.result("DownResult", f"{ends} {found.text}", told)
    return ExitCode.OK
