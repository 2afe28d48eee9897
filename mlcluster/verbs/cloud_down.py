"""`mlcluster down` on `eks`: the platform, what its controllers made, everything in AWS, then a search for the rest.

Order: load balancers while their controller runs, the platform with its namespaces, volumes
while their CSI driver runs, the AWS stack, and at last a look into the account for what nobody took away. Each step
finds what is left of it, so an interrupted `down` is run again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.engine.engine import Engine
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.numbers import counted
from mlcluster.report.screen import Screen
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs import cloud, ownership
from mlcluster.verbs.adoption import take_over_rest
from mlcluster.verbs.asking import agreed_to_destroy
from mlcluster.verbs.cloud_leftovers import Search, search
from mlcluster.verbs.cloud_volumes import delete_load_balancers, delete_volumes
from mlcluster.verbs.live import LiveCluster, open_cluster, platform_without_cluster, stages_of
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.teardown import destroy, destroy_platform, drain, show
from mlcluster.verbs.tools import tools_of
from mlcluster.verbs.unplanned import Unplanned, delete_unplanned, show_unplanned, unplanned


@dataclass(frozen=True, slots=True)
class CloudDown:
    """What the command line says.

    Attributes:
        plan: only show what would go.
        delete_retained: plan ids of what is kept unless it is named here.
    """

    reading: Reading
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
    stages: list[Stage]
    platform: Engine


def cloud_down(wanted: CloudDown, screen: Screen) -> ExitCode:
    """Takes the whole cluster out of the account, and proves it."""
    reading = wanted.reading
    name = reading.spec.metadata.name
    if home_of(reading).settings() is None and home_of(reading).owns_backend:
        ends = f"{name} is not there: this machine has no state of it."
        return _conclude(reading, [], search(reading, None, [], screen), screen, ends)
    tools = tools_of(reading, screen.progress)
    with open_cluster(reading, tools, screen.progress, start=False) as live:
        if live is not None:
            ownership.check_owner(live.kube, name, home_of(reading))
        stages = stages_of(reading, live, tools.pulumi, screen.progress)
        platform = platform_without_cluster(reading, tools.pulumi, screen.progress)
        return take_down(wanted, Found(live, stages, platform), screen)


def take_down(wanted: CloudDown, found: Found, screen: Screen, looked: Callable[..., Search] = search) -> ExitCode:
    """Shows what goes, asks, deletes it, and has `looked` search the account for the rest.

    Raises:
        MlclusterError: the control plane is protected, a name is unknown, a step failed, or something is left.
    """
    reading, cloud_stage = wanted.reading, found.stages[0]
    name = reading.spec.metadata.name
    kept = kept_by(reading, cloud_stage, wanted.delete_retained)
    vpc_id = vpc_of(reading, cloud_stage)
    show(screen, None if found.live is None else found.live.kube, found.stages)
    rest = Unplanned()
    if found.live is not None:
        rest = unplanned(reading.plan, found.live, found.stages)
        show_unplanned(screen, found.live.kube, rest)
    for entry in kept:
        screen.say(f"  kept: {entry.plan_id} ({entry.id}); --delete-retained {entry.plan_id} deletes it too")
    if wanted.plan:
        screen.result("DownPlan", "", {"cluster": name, "kept": [entry.plan_id for entry in kept]})
        return ExitCode.OK
    refuse_protected(reading, cloud.outputs_of(cloud_stage))
    if not agreed_to_destroy(name, yes=wanted.yes):
        screen.say("nothing was changed")
        return ExitCode.DECLINED
    _delete(wanted, found, rest, screen)
    found.platform.abandon()
    kept_ids = [entry.id for entry in kept]
    ends = f"{name} is down." + (f" Kept: {', '.join(kept_ids)}." if kept else "")
    return _conclude(reading, kept, looked(reading, vpc_id, kept_ids, screen), screen, ends)


def kept_by(reading: Reading, stage: Stage, asked: tuple[str, ...]) -> list[Kept]:
    """What the state holds, the plan marks as retained, and nobody asked to delete.

    Raises:
        MlclusterError: something is asked for that neither the plan nor the state has.
    """
    retained = {entry.id for entry in reading.plan.resources if entry.retained}
    held = stage.engine.resources() if stage.engine.exists() else []
    unknown = sorted(set(asked) - retained - {entry.plan_id for entry in held})
    if unknown:
        hint = f"retained are: {', '.join(sorted(retained)) or 'none'}"
        raise MlclusterError("reading --delete-retained", f"there is no {', '.join(unknown)} to delete", hint)
    return [Kept(entry.plan_id, entry.id) for entry in held if entry.plan_id in retained - set(asked)]


def vpc_of(reading: Reading, stage: Stage) -> str | None:
    """The ID of the VPC that we made, None where the spec names one or none was made."""
    target = reading.spec.target
    if not isinstance(target, EksTarget) or target.network.vpc_id:
        return None
    held = stage.engine.resources() if stage.engine.exists() else []
    return next((entry.id for entry in held if entry.plan_id.startswith("Vpc/")), None)


def refuse_protected(reading: Reading, outputs: Mapping[str, Any]) -> None:
    """Stops while the control plane is protected against deletion.

    Raises:
        MlclusterError: it is; says how to lift it.
    """
    if outputs.get("deletionProtection"):
        raise MlclusterError(
            f"taking {reading.spec.metadata.name} down",
            "its control plane is protected against deletion",
            f"Set target.deletionProtection: false, run `mlcluster up {home_of(reading).spec}`, then down again.",
        )


def _delete(wanted: CloudDown, found: Found, rest: Unplanned, screen: Screen) -> None:
    live, stages = found.live, found.stages
    if live is not None:
        take_over_rest(wanted.reading.plan, live, stages, screen.progress)
        delete_unplanned(live.kube, rest, screen.progress)
        drain(live.kube, stages[-1], screen)
        delete_load_balancers(live.kube, screen.progress)
        destroy_platform(live.kube, stages[-1], screen, nodes=False)
        delete_volumes(live.kube, screen.progress)
        ownership.release(live.kube)
    if wanted.delete_retained and stages[0].engine.exists():
        stages[0].engine.stop_retaining(wanted.delete_retained)
    destroy(stages[0], screen)


def _conclude(reading: Reading, kept: list[Kept], found: Search, screen: Screen, ends: str) -> ExitCode:
    name = reading.spec.metadata.name
    told = {"cluster": name, "left": list(found.left), "kept": [entry.id for entry in kept], **found.document}
    if found.left:
        screen.result("DownResult", found.text, told)
        happened = f"{counted(len(found.left), 'resource is', 'resources are')} left in the account"
        raise MlclusterError(f"taking {name} down", happened, "run the commands above, or run down again")
    home_of(reading).forget()
    screen.result("DownResult", f"{ends} {found.text}", told)
    return ExitCode.OK
