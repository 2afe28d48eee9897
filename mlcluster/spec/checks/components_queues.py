"""Queues, job controllers and serving: what cannot be, although every field has its shape."""

from collections.abc import Iterator
from itertools import pairwise

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known, known_values
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.teams import Team

HOSTNAME = "kubernetes.io/hostname"
VOLCANOS_OWN = ("default", "root")


def queue_component_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Problems of queues and of the components around them."""
    yield from _cohorts(spec)
    yield from _fair_sharing(spec)
    for index, pool in enumerate(spec.node_pools):
        yield from _topology(spec, index, pool)
    for index, team in enumerate(spec.teams):
        yield from _displaces(spec, index, team)
        yield from _scheduler(spec, index, team)
    yield from _service_accounts(spec)


@as_far_as_known
def _cohorts(spec: ClusterSpec) -> Iterator[Problem]:
    """What nobody is guaranteed is one cohort's to lend, or it would be lent twice."""
    sharing = [index for index, cohort in enumerate(spec.cohorts) if cohort.share == "remainder"]
    for first, index in pairwise(sharing):
        message = f"{spec.cohorts[first].name} has what nobody is guaranteed already; two cohorts would lend it twice"
        yield Problem(("cohorts", index), message, "add share: none; its teams borrow what the others are guaranteed")


@as_far_as_known
def _fair_sharing(spec: ClusterSpec) -> Iterator[Problem]:
    sharing = spec.components.kueue.fair_sharing
    teams = [team.name for team in spec.teams]
    elsewhere = {name for _, name in known_values(spec.teams, _by_volcano) if name}
    for name in sharing.weights if sharing else ():
        if name not in teams:
            hint = did_you_mean(name, teams, otherwise=f"teams: {listed(teams)}")
            yield Problem(
                ("components", "kueue", "fairSharing", "weights", name), f"there is no team {name}", hint, key=True
            )
        elif name in elsewhere:
            message = f"Volcano schedules team {name}, and Kueue weighs only teams of its own"
            yield Problem(("components", "kueue", "fairSharing", "weights", name), message, "remove it", key=True)


def _by_volcano(team: Team) -> str:
    return team.name if team.scheduler != "kueue" else ""


@as_far_as_known
def _topology(spec: ClusterSpec, index: int, pool: NodePool) -> Iterator[Problem]:
    here = ("nodePools", index, "topology")
    if pool.topology == "auto" and spec.target.kind == "existing":
        message = "nobody knows what labels say where the nodes of an existing cluster stand"
        yield Problem(here, message, f"name them, coarse to fine: [topology.example.com/rack, {HOSTNAME}]")
    keys = pool.topology if isinstance(pool.topology, list) else []
    for place, key in enumerate(keys):
        if key in keys[:place]:
            yield Problem((*here, place), f"{key} is in the list already", "remove one")
        elif key == HOSTNAME and place != len(keys) - 1:
            yield Problem((*here, place), f"{HOSTNAME} is the finest level", "put it last")


def _displaces(spec: ClusterSpec, index: int, team: Team) -> Iterator[Problem]:
    here: Loc = ("teams", index, "displaces")
    yield from _displaced_tier(here, spec, team)
    yield from _displaces_by_share(here, spec, team)
    yield from _borrows_nothing(here, team)


@as_far_as_known
def _displaced_tier(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    tiers = [tier.name for tier in spec.priority_tiers]
    if team.displaces is not None and team.displaces not in tiers:
        hint = did_you_mean(team.displaces, tiers, otherwise=f"tiers: {listed(tiers)}")
        yield Problem(here, f"there is no priority tier {team.displaces}", hint)


@as_far_as_known
def _displaces_by_share(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    if team.displaces is not None and spec.components.kueue.fair_sharing is not None:
        message = "with components.kueue.fairSharing, shares decide who is displaced while somebody borrows"
        yield Problem(here, message, "remove it, or fairSharing", key=True)


@as_far_as_known
def _borrows_nothing(here: Loc, team: Team) -> Iterator[Problem]:
    if team.displaces is not None and team.borrow == "none":
        yield Problem(
            here, f"{team.name} does not borrow, so it displaces nobody", "add borrow, or remove it", key=True
        )


@as_far_as_known
def _scheduler(spec: ClusterSpec, index: int, team: Team) -> Iterator[Problem]:
    if team.scheduler == "kueue":
        return
    here = ("teams", index, "scheduler")
    if spec.components.volcano is None:
        yield Problem(here, "Volcano is not installed", "add components.volcano: {}")
    if team.name in VOLCANOS_OWN:
        yield Problem(("teams", index, "name"), f"Volcano has a queue {team.name} of its own", "choose another name")
    if team.displaces is not None:
        message = "Kueue does not queue this team's work, and Volcano has no such rule"
        yield Problem(("teams", index, "displaces"), message, "remove it", key=True)


@as_far_as_known
def _service_accounts(spec: ClusterSpec) -> Iterator[Problem]:
    """As whom a controller runs; what it makes passes the policies, so nobody in a team may be it."""
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
            message = "mlcluster installs it, and knows as whom it runs"
            yield Problem(here, message, "remove it, or add install: false", key=True)
        elif namespace in teams:
            message = f"{namespace} is a team's namespace: its members could pass by the queue as this controller"
            yield Problem(here, message, "run the controller in a namespace of its own")
