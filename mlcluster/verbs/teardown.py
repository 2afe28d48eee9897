"""Steps of `down` that every target takes: show what goes, drain the queues, delete a stack."""

from mlcluster.engine.engine import Engine
from mlcluster.engine.failures import ResourcesFailedError
from mlcluster.kube.client import Kube
from mlcluster.report.screen import Screen
from mlcluster.verbs.destruction import live_with
from mlcluster.verbs.emptying import empty_namespaces, installed_releases
from mlcluster.verbs.removal import hold_queues
from mlcluster.verbs.stage import Stage
from mlcluster.verbs.uninstalled import clean_up, ever_installed


def show(screen: Screen, kube: Kube | None, stages: list[Stage]) -> None:
    """What will go: resources by stack, what lives in the namespaces, and what users have of components."""
    for stage in reversed(stages):
        held = stage.engine.resources() if stage.engine.exists() else []
        screen.say(f"{stage.title}: {len(held)} to delete")
        for resource in held:
            inside = [] if kube is None else live_with(kube, resource.plan_id)
            if inside or resource.plan_id.startswith("Namespace/"):
                screen.say(f"  - {resource.plan_id}" + (f" with {', '.join(inside)}" if inside else ""))


def drain(kube: Kube, platform: Stage, screen: Screen) -> None:
    """Takes the cluster queues of the platform out of use, and what the teams have while its controllers run."""
    held = platform.engine.resources() if platform.engine.exists() else []
    prefix = "ClusterQueue/"
    queues = [entry.plan_id.removeprefix(prefix) for entry in held if entry.plan_id.startswith(prefix)]
    hold_queues(kube, queues, screen.progress)
    if releases := installed_releases(platform):
        empty_namespaces(kube, platform.engine.home.name, releases, screen.progress)


def destroy(stage: Stage, screen: Screen) -> None:
    """Deletes what a stack holds, and the stack."""
    engine: Engine = stage.engine
    if not engine.exists():
        return
    with screen.operation(f"deleting {stage.title}", len(engine.resources())) as take:
        engine.destroy(take)
    engine.remove_stack()


def destroy_platform(kube: Kube, platform: Stage, screen: Screen, *, nodes: bool) -> None:
    """The same for the platform; once more when what its uninstalled charts have left may be what was in the way.

    A metrics API without anybody behind it, for one, keeps every namespace from going.
    """
    releases = ever_installed(kube, installed_releases(platform))
    try:
        destroy(platform, screen)
    except ResourcesFailedError as error:
        left = {release.name for release in installed_releases(platform)}
        gone = [release for release in releases if release.name not in left]
        if not gone:
            raise
        screen.say(f"{error.happened}\ntrying once more without what uninstalled charts have left")
        clean_up(kube, gone, screen.progress, nodes=nodes)
        destroy(platform, screen)
