"""Results of a search."""

from dataclasses import dataclass

from mlcluster.aws.leftovers.prices import PRICE_DATE, PRICE_REGION


@dataclass(frozen=True, slots=True)
class Leftover:
    """One thing in the account that belongs to the cluster.

    Attributes:
        kind: e.g. "network interface".
        id: by which AWS knows it: vol-0a, an ARN or a name.
        name: its Name tag or own name, "" without one.
        zone: where it is; "" when it is not in one zone.
        hourly_usd: list price in us-east-1; 0 for what is free, None when unknown.
        command: removes it, for a shell; "" when it cannot be removed by itself.
        why: how it was found.
        blocked_by: ids or descriptions of what must go first.
    """

    kind: str
    id: str
    name: str
    arn: str
    zone: str
    hourly_usd: float | None
    command: str
    why: str
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A kind that the account did not tell about, all or in part: something of it may be left.

    Attributes:
        permission: the IAM action that is missing, "" when that is not the reason.
        reason: what AWS said.
    """

    kind: str
    permission: str
    reason: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The result of a search.

    Attributes:
        left: in the order in which the commands can be run.
        kept: what the plan keeps, and what AWS deletes by itself on a date.
        unknown: kinds about which nothing can be said.
        region: where the search was.
    """

    cluster: str
    region: str
    left: tuple[Leftover, ...]
    kept: tuple[Leftover, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def nothing_left(self) -> bool:
        """Proven: everything was asked, and there is nothing but what is kept."""
        return not self.left and not self.unknown

    @property
    def exact(self) -> bool:
        """Whether the prices are those of this region."""
        return self.region == PRICE_REGION

    @property
    def price_date(self) -> str:
        """Of the list prices, YYYY-MM."""
        return PRICE_DATE


def known_cost(things: tuple[Leftover, ...]) -> float:
    """USD per hour of those whose price is known."""
    return sum(thing.hourly_usd or 0.0 for thing in things)


def unpriced(things: tuple[Leftover, ...]) -> int:
    """How many have a price that nobody knows."""
    return sum(thing.hourly_usd is None for thing in things)
