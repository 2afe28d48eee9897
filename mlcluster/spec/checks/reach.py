"""Who gets in and what pods reach: address ranges, IAM roles."""

from collections.abc import Iterator

from mlcluster.spec.checks.ranges import address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.teams import Team


def reach_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Address ranges that are none, and IAM roles where there is no IAM."""
    for index, team in enumerate(spec.teams):
        here: Loc = ("teams", index)
        yield from _egress((*here, "network", "egress"), team)
        yield from _roles((*here, "members"), spec, team)


@as_far_as_known
def _egress(here: Loc, team: Team) -> Iterator[Problem]:
    if isinstance(team.network.egress, list):
        for number, cidr in enumerate(team.network.egress):
            yield from _cidr((*here, number), cidr)


def _cidr(loc: Loc, cidr: str) -> Iterator[Problem]:
    network = yield from address_range(loc, cidr, "10.0.0.0/8 or fd00::/8")
    if network is not None and network.is_link_local:
        hint = "instance metadata gives away the node's rights; Pod Identity is open anyway"
        yield Problem(loc, f"{cidr} is the node's own: teams never reach it", hint)


@as_far_as_known
def _roles(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    if spec.target.kind == "eks":
        return
    for role, members in (("admin", team.members.admin), ("edit", team.members.edit), ("view", team.members.view)):
        if members.aws_roles:
            message = f"IAM roles mean nothing on target {spec.target.kind}"
            yield Problem((*here, role, "awsRoles"), message, "use groups or users", key=True)
