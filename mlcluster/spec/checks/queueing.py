"""Checks of queues, topologies and job controllers."""

from collections.abc import Iterator
from itertools import pairwise

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value
from mlcluster.spec.pools import HOSTNAME, NodePool
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.teams import Team

_VOLCANO_QUEUES = ("default", "root")


def queueing_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for cohorts, fair sharing, topologies, schedulers and job controllers."""
    yield from _cohorts(spec)
    yield from _fair_sharing(spec)
    for index, pool in enumerate(spec.node_pools):
        yield from _topology(spec, index, pool)
    for index, team in enumerate(spec.teams):
        yield from _displaces(spec, index, team)
        yield from _scheduler(spec, index, team)
    yield from _service_accounts(spec)


@stop_at_unknown_value
def _cohorts(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield a problem for each further cohort with the remainder, which would be lent twice."""
    sharing = [index for index, cohort in enumerate(spec.cohorts) if cohort.share == "remainder"]
    for first, index in pairwise(sharing):
        message = f"cohort {spec.cohorts[first].name} already has the remainder, which two cohorts would lend twice"
        hint = "Set `share: none`. The teams of the cohort then borrow only from the guarantees of each other"
        yield Problem(("cohorts", index), message, hint)


@stop_at_unknown_value
def _fair_sharing(spec: ClusterSpec) -> Iterator[Problem]:
    sharing = spec.components.kueue.fair_sharing
    teams = [team.name for team in spec.teams]
    elsewhere = {name for _, name in known_values(spec.teams, _scheduled_by_volcano) if name}
    for name in sharing.weights if sharing else ():
        if name not in teams:
            hint = did_you_mean(name, teams, otherwise=f"Teams: {listed(teams)}")
            yield Problem(
                ("components", "kueue", "fairSharing", "weights", name), f"unknown team {name}", hint, key=True
            )
        elif name in elsewhere:
            message = f"Volcano schedules team {name}, so a weight in Kueue has no effect"
            yield Problem(("components", "kueue", "fairSharing", "weights", name), message, "Remove it", key=True)


def _scheduled_by_volcano(team: Team) -> str:
    return team.name if team.scheduler != "kueue" else ""


@stop_at_unknown_value
def _topology(spec: ClusterSpec, index: int, pool: NodePool) -> Iterator[Problem]:
    here = ("nodePools", index, "topology")
    if pool.topology == "auto" and spec.target.kind == "existing":
        message = "topology auto is not supported on existing, where mlcluster does not know the topology labels"
        hint = f"List the labels from the widest level to the narrowest: `[topology.example.com/rack, {HOSTNAME}]`"
        yield Problem(here, message, hint)
    keys = pool.topology if isinstance(pool.topology, list) else []
    for place, key in enumerate(keys):
        if key in keys[:place]:
            yield Problem((*here, place), f"duplicate label {key}", "Remove one of the two")
        elif key == HOSTNAME and place != len(keys) - 1:
            yield Problem(
                (*here, place), f"{HOSTNAME} must be the last level, because it is the narrowest", "Move it to the end"
            )


def _displaces(spec: ClusterSpec, index: int, team: Team) -> Iterator[Problem]:
    here: Loc = ("teams", index, "displaces")
    yield from _displaced_tier(here, spec, team)
    yield from _displaces_with_fair_sharing(here, spec, team)
    yield from _displaces_without_borrowing(here, team)


@stop_at_unknown_value
def _displaced_tier(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    tiers = [tier.name for tier in spec.priority_tiers]
    if team.displaces is not None and team.displaces not in tiers:
        hint = did_you_mean(team.displaces, tiers, otherwise=f"Tiers: {listed(tiers)}")
        yield Problem(here, f"unknown priority tier {team.displaces}", hint)


@stop_at_unknown_value
def _displaces_with_fair_sharing(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    if team.displaces is not None and spec.components.kueue.fair_sharing is not None:
        message = "displaces has no effect with fair sharing, where the shares of the teams decide about preemption"
        yield Problem(here, message, "Remove it, or `components.kueue.fairSharing`", key=True)


@stop_at_unknown_value
def _displaces_without_borrowing(here: Loc, team: Team) -> Iterator[Problem]:
    if team.displaces is not None and team.borrow == "none":
        message = f"displaces has no effect, because team {team.name} does not borrow"
        yield Problem(here, message, "Set `borrow`, or remove `displaces`", key=True)


@stop_at_unknown_value
def _scheduler(spec: ClusterSpec, index: int, team: Team) -> Iterator[Problem]:
    if team.scheduler == "kueue":
        return
    here = ("teams", index, "scheduler")
    if spec.components.volcano is None:
        yield Problem(here, "Volcano is not installed", "Add `volcano: {}` under `components`")
    if team.name in _VOLCANO_QUEUES:
        message = f"Volcano already has a queue with the name {team.name}"
        yield Problem(("teams", index, "name"), message, "Choose another name")
    if team.displaces is not None:
        message = "displaces has no effect, because Kueue does not queue the workloads of this team"
        yield Problem(("teams", index, "displaces"), message, "Remove it", key=True)


@stop_at_unknown_value
def _service_accounts(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for service accounts of job controllers, whose pods the admission policies allow."""
    parts, teams = spec.components, {team.name for team in spec.teams}
    for key, settings in (
        ("jobSet", parts.job_set),
        ("trainer", parts.trainer),
        ("mpiOperator", parts.mpi_operator),
        ("kubeRay", parts.kube_ray),
        ("leaderWorkerSet", parts.leader_worker_set),
    ):
        if settings is None or settings.service_account is None:
            continue
        here = ("components", key, "serviceAccount")
        namespace = settings.service_account.partition("/")[0]
        if settings.install:
            message = "serviceAccount has no effect, because mlcluster installs the controller"
            yield Problem(here, message, "Remove it, or set `install: false`", key=True)
        elif namespace in teams:
            message = f"members of team {namespace} could use this service account to bypass the queue"
            yield Problem(here, message, "Run the controller in a separate namespace")
