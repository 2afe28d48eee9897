"""Display of the deletions of `down`, and deletion of stacks."""

from mlcluster.deploy.contents import live_with
from mlcluster.deploy.removal.namespaces import installed_releases
from mlcluster.deploy.removal.residue import clean_up, ever_installed
from mlcluster.deploy.session.cluster import lab_of
from mlcluster.deploy.session.stack import Stack, stacks_without_cluster
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.engine.failures import ResourcesFailedError
from mlcluster.engine.identity import NAMESPACE
from mlcluster.kube.client import Kube
from mlcluster.lab.components import CONTROL_PLANE
from mlcluster.report.screen import Screen


def show(screen: Screen, kube: Kube | None, stacks: list[Stack]) -> None:
    """Show the deletions of `down`: the resources of each stack, and the contents of namespaces and components."""
    for stack in reversed(stacks):
        held = stack.engine.resources()
        screen.say(f"{stack.title}: {len(held)} to delete")
        for resource in held:
            inside = [] if kube is None else live_with(kube, resource.identity.kind, resource.identity.name)
            if inside or resource.type == NAMESPACE:
                screen.say(f"  - {resource.plan_id}" + (f" with {', '.join(inside)}" if inside else ""))


def destroy(stack: Stack, screen: Screen) -> None:
    """Delete the resources of a stack, and the stack."""
    engine: Engine = stack.engine
    if not engine.exists():
        return
    with screen.operation(f"deleting {stack.title}", len(engine.resources())) as take:
        engine.destroy(take)
    engine.remove_stack()


def destroy_platform(kube: Kube, platform: Stack, screen: Screen, *, nodes: bool) -> None:
    """Delete the platform; try again after the residue of uninstalled charts is removed, which may have blocked it.

    An aggregated API without endpoints, for example, blocks the deletion of every namespace.
    """
    releases = ever_installed(kube, installed_releases(platform))
    try:
        destroy(platform, screen)
    except ResourcesFailedError as error:
        left = {release.name for release in installed_releases(platform)}
        gone = [release for release in releases if release.name not in left]
        if not gone:
            raise
        screen.say(f"{error.happened}\ntrying again after the residue of uninstalled charts is removed")
        clean_up(kube, gone, screen.progress, nodes=nodes)
        destroy(platform, screen)


def show_stopped(workspace: Workspace, tools: Tools, screen: Screen) -> None:
    """Show the deletions of `down` in a stopped lab, from the state alone, and the processes that it starts."""
    lab = lab_of(workspace)
    if lab is None:
        return
    show(screen, None, stacks_without_cluster(workspace, tools.pulumi))
    programs = ", ".join((*CONTROL_PLANE, *lab.controllers()))
    screen.say(f"The lab {lab.name} is not running. `mlcluster down` starts on this machine: {programs}.")
