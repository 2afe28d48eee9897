"""Results of a search."""

from dataclasses import dataclass

from mlcluster.aws.leftovers.prices import PRICE_DATE, PRICE_REGION


@dataclass(frozen=True, slots=True)
class Leftover:
    """A resource in the account that belongs to the cluster.

    Attributes:
        kind: e.g. "network interface".
        id: its identifier in the AWS API: vol-0a, an ARN or a name.
        name: its Name tag or own name, "" without one.
        zone: its availability zone; "" if it is not in exactly one zone.
        hourly_usd: list price in us-east-1; 0 if it is free, None if the price is unknown.
        command: a shell command that deletes it; "" if it cannot be deleted by itself.
        why: the reason that it counts as the cluster's.
        blocked_by: IDs or descriptions of the resources that must be deleted first.
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
    """A kind of resource that could not be listed completely, so resources of it may be left.

    Attributes:
        permission: the missing IAM action, "" if that is not the reason.
        reason: the error of AWS.
    """

    kind: str
    permission: str
    reason: str


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The result of a search.

    Attributes:
        left: leftover resources, in the order in which their commands can run.
        kept: resources that the plan keeps, and resources whose deletion AWS has scheduled.
        unknown: kinds that could not be listed completely.
        region: the region of the search.
    """

    cluster: str
    region: str
    left: tuple[Leftover, ...]
    kept: tuple[Leftover, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def nothing_left(self) -> bool:
        """Whether every kind was listed and only kept resources exist."""
        return not self.left and not self.unknown

    @property
    def exact(self) -> bool:
        """Whether the prices are valid for this region."""
        return self.region == PRICE_REGION

    @property
    def price_date(self) -> str:
        """The month of the list prices, YYYY-MM."""
        return PRICE_DATE


def known_cost(things: tuple[Leftover, ...]) -> float:
    """Return the USD per hour of all resources whose price is known."""
    return sum(thing.hourly_usd or 0.0 for thing in things)


def unpriced(things: tuple[Leftover, ...]) -> int:
    """Return the number of resources whose price is unknown."""
    return sum(thing.hourly_usd is None for thing in things)
