"""`mlcluster down` on `eks`: delete the whole cluster, then search the account for leftover resources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.deploy.session import cloud_stack
from mlcluster.deploy.session.cluster import platform_without_cluster
from mlcluster.deploy.session.session import Session, open_session
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.teardown.account_search import Search, search
from mlcluster.deploy.teardown.steps import STEPS, run_steps
from mlcluster.deploy.teardown.teardown import Teardown, TeardownOptions, declined, show_teardown
from mlcluster.engine.engine import Engine
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.plan.eks.subnets import VPC
from mlcluster.report.numbers import counted
from mlcluster.report.screen import Screen
from mlcluster.spec.eks import EksTarget


@dataclass(frozen=True, slots=True)
class Kept:
    """A resource that `down` retains: its id in the plan, and its ID in AWS."""

    plan_id: str
    id: str


def down_eks(workspace: Workspace, options: TeardownOptions, screen: Screen) -> ExitCode:
    """Delete the cluster and everything that `up` made in the account, and search the account for the rest."""
    home, name = home_of(workspace), workspace.spec.metadata.name
    if home.settings() is None and home.owns_backend:
        ends = f"{name} is not there: this machine has no state of it."
        return _conclude(workspace, [], search(workspace, None, [], screen), screen, ends)
    with open_session(workspace, screen.progress, start=False) as session:
        platform = platform_without_cluster(workspace, session.tools.pulumi, screen.progress)
        return take_down(session, platform, options, screen)


def take_down(
    session: Session,
    platform: Engine,
    options: TeardownOptions,
    screen: Screen,
    looked: Callable[..., Search] = search,
) -> ExitCode:
    """Show the deletions of `down`, ask, run the steps, and search the account for leftover resources.

    Args:
        platform: the stack of the platform, for when its cluster is gone.

    Raises:
        MlclusterError: the control plane is protected, a name is unknown, a step failed, or something is left.
    """
    workspace, aws = session.workspace, session.stacks[0]
    name = workspace.spec.metadata.name
    kept = kept_by(workspace, aws, options.delete_retained)
    vpc_id = vpc_of(workspace, aws)
    outside = show_teardown(session, screen)
    for entry in kept:
        screen.say(f"  kept: {entry.plan_id} ({entry.id}); --delete-retained {entry.plan_id} deletes it too")
    if not options.plan:
        refuse_protected(workspace, cloud_stack.outputs_of(aws))
    if (end := declined(options, name, screen, [entry.plan_id for entry in kept])) is not None:
        return end
    teardown = Teardown(session, screen, outside, options.delete_retained, platform)
    run_steps(STEPS["eks"], teardown)
    kept_ids = [entry.id for entry in kept]
    ends = f"{name} is down." + (f" Kept: {', '.join(kept_ids)}." if kept else "")
    return _conclude(workspace, kept, looked(workspace, vpc_id, kept_ids, screen), screen, ends)


def kept_by(workspace: Workspace, stack: Stack, asked: tuple[str, ...]) -> list[Kept]:
    """Return the retained resources of the state that the user did not ask to delete.

    Raises:
        MlclusterError: something is asked for that neither the plan nor the state has.
    """
    retained = {entry.id for entry in workspace.plan.resources if entry.retained}
    held = stack.engine.resources()
    unknown = sorted(set(asked) - retained - {entry.plan_id for entry in held})
    if unknown:
        hint = f"Retained are: {', '.join(sorted(retained)) or 'none'}."
        raise MlclusterError("reading --delete-retained", f"there is no {', '.join(unknown)} to delete", hint)
    return [Kept(entry.plan_id, entry.id) for entry in held if entry.plan_id in retained - set(asked)]


def vpc_of(workspace: Workspace, stack: Stack) -> str | None:
    """Return the ID of the VPC that `up` created; None where the spec names one or none was created."""
    target = workspace.spec.target
    if not isinstance(target, EksTarget) or target.network.vpc_id:
        return None
    held = stack.engine.resources()
    return next((entry.id for entry in held if entry.type == VPC), None)


def refuse_protected(workspace: Workspace, outputs: Mapping[str, Any]) -> None:
    """Refuse to continue while the control plane is protected against deletion.

    Raises:
        MlclusterError: it is protected; the hint tells how to disable the protection.
    """
    if outputs.get("deletionProtection"):
        raise MlclusterError(
            f"taking {workspace.spec.metadata.name} down",
            "its control plane is protected against deletion",
            f"Set target.deletionProtection: false, run `mlcluster up {home_of(workspace).spec}`, then down again.",
        )


def _conclude(workspace: Workspace, kept: list[Kept], found: Search, screen: Screen, ends: str) -> ExitCode:
    name = workspace.spec.metadata.name
    told = {"cluster": name, "left": list(found.left), "kept": [entry.id for entry in kept], **found.document}
    if found.left:
        screen.result("DownResult", found.text, told)
        happened = f"{counted(len(found.left), 'resource is', 'resources are')} left in the account"
        raise MlclusterError(f"taking {name} down", happened, "Run the commands above, or run `mlcluster down` again.")
    home_of(workspace).forget()
    screen.result("DownResult", f"{ends} {found.text}", told)
    return ExitCode.OK
