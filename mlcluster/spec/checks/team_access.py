"""Checks of the network access and the members of teams."""

from collections.abc import Iterator

from mlcluster.spec.checks.ip_ranges import address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.teams import Team


def team_access_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for invalid egress ranges, and for IAM roles on targets without IAM."""
    for index, team in enumerate(spec.teams):
        here: Loc = ("teams", index)
        yield from _egress((*here, "network", "egress"), team)
        yield from _roles((*here, "members"), spec, team)


@stop_at_unknown_value
def _egress(here: Loc, team: Team) -> Iterator[Problem]:
    if isinstance(team.network.egress, list):
        for number, cidr in enumerate(team.network.egress):
            yield from _cidr((*here, number), cidr)


def _cidr(loc: Loc, cidr: str) -> Iterator[Problem]:
    network = yield from address_range(loc, cidr, "10.0.0.0/8 or fd00::/8")
    if network is not None and network.is_link_local:
        message = f"{cidr} is link-local, and pods of teams cannot access the link-local services of a node"
        hint = "Remove it. EKS Pod Identity is accessible without it"
        yield Problem(loc, message, hint)


@stop_at_unknown_value
def _roles(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    if spec.target.kind == "eks":
        return
    for role, members in (("admin", team.members.admin), ("edit", team.members.edit), ("view", team.members.view)):
        if members.aws_roles:
            message = f"IAM roles are not supported on target {spec.target.kind}, only on eks"
            yield Problem((*here, role, "awsRoles"), message, "Use `groups` or `users`", key=True)
