"""Teams: what is theirs, what they may borrow and lend, who they are, and what their pods may reach."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import BY_SHAPE, LIST, MAPPING, WORD, Name, SpecModel

AmountCount = Annotated[int, Field(ge=0, le=1_000_000)]


class Amount(SpecModel):
    """A share of one pool, in exactly one unit."""

    nodes: AmountCount | None = None
    """Whole nodes: every resource of the pool in proportion."""
    gpus: AmountCount | None = None
    """Physical GPUs."""
    slices: AmountCount | None = None
    """What pods can request: MIG instances or time-slice replicas."""


Shares = Annotated[dict[Name, Amount], Field(max_length=64)]
AllOrNone = Literal["all", "none"]
Limits = Annotated[
    Annotated[AllOrNone, WORD]
    | Annotated[
        dict[
            Name,
            Annotated[Annotated[AllOrNone, WORD] | Annotated[Amount, MAPPING], BY_SHAPE],
        ],
        MAPPING,
    ],
    BY_SHAPE,
]
GRACE_PERIOD_SECONDS = 600
PrincipalName = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\s]+$")]


class Members(SpecModel):
    """Who has one role in the team's namespace."""

    groups: list[PrincipalName] = []
    users: list[PrincipalName] = []
    aws_roles: list[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$")]] = []
    """IAM roles, on `eks` only."""


class TeamMembers(SpecModel):
    """Roles in the team's namespace; nobody reaches another team's."""

    admin: Members = Field(default_factory=Members)
    edit: Members = Field(default_factory=Members)
    view: Members = Field(default_factory=Members)


Cidr = Annotated[str, Field(pattern=r"^[0-9a-fA-F:.]+/[0-9]{1,3}$")]


class TeamNetwork(SpecModel):
    """What the team's pods may reach outside their own namespace; DNS is always open."""

    egress: Annotated[
        Annotated[Literal["internet", "cluster", "none"], WORD] | Annotated[list[Cidr], LIST],
        BY_SHAPE,
    ] = "internet"


class Team(SpecModel):
    """One tenant: a namespace, a queue, a quota."""

    name: Name
    """Name of the team, its namespace and its queue."""
    guarantee: Shares = {}
    """Always ours: nominal quota per pool."""
    borrow: Limits = "none"
    """Beyond the guarantee, while others leave it idle: none, all, or at most this much per pool."""
    lend: Limits = "all"
    """Of the guarantee, what others may use while it is idle: all, none, or at most this much per pool."""
    tiers: Annotated[list[Name], Field(min_length=1)] | None = None
    """Priority tiers the team may use; default: every tier."""
    displaces: Name | None = None
    """While it borrows, the team may displace other teams' work of this tier and below; default: nobody's."""
    scheduler: Literal["kueue", "volcano"] = "kueue"
    """What queues the team's work and places its pods; volcano needs components.volcano."""
    cohort: Name | None = None
    """Cohort to borrow from and lend to; default: the only one."""
    members: TeamMembers = Field(default_factory=TeamMembers)
    network: TeamNetwork = Field(default_factory=TeamNetwork)
    max_grace_period_seconds: Annotated[int, Field(ge=1, le=86_400)] = GRACE_PERIOD_SECONDS
    """Longest time that a pod of the team may take to end: so long can a displaced pod keep its GPUs."""
    pod_security: Literal["baseline", "restricted", "privileged"] = "baseline"
    """Pod Security level enforced in the namespace."""
