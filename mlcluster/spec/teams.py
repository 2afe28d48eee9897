"""Teams: what is theirs, what they may borrow and lend, who they are, and what their pods may reach."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import BY_SHAPE, LIST, MAPPING, WORD, Count, Name, Quantity, SpecModel

AmountCount = Annotated[int, Field(ge=0, le=1_000_000)]


class Amount(SpecModel):
    """A share of one pool, in exactly one unit."""

    nodes: AmountCount | None = None
    """Whole nodes: every resource of the pool in proportion."""
    gpus: AmountCount | None = None
    """Physical GPUs."""
    slices: AmountCount | None = None
    """What pods can request: MIG instances or time-slice replicas."""

    @property
    def is_nothing(self) -> bool:
        """Whether it is 0 of its unit."""
        return not (self.nodes or self.gpus or self.slices)


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


ObjectCount = Annotated[int, Field(ge=1, le=1_000_000)]


class TeamLimits(SpecModel):
    """What a team may store, open to the outside, and hold on to; CPU, memory and GPUs follow from the quota."""

    config_maps: ObjectCount = 250
    """ConfigMaps, of at most 1 MiB each in etcd; one is Kubernetes' own."""
    secrets: ObjectCount = 250
    """Secrets, of at most 1 MiB each in etcd; Helm keeps one for each of the last ten revisions of a release."""
    services: ObjectCount = 250
    """Services, which take addresses of the cluster's Service range."""
    load_balancers: Count = 0
    """Services of type LoadBalancer."""
    ingresses: Count = 0
    """Ingresses."""
    volume_claims: Count = 100
    """PersistentVolumeClaims."""
    storage: Quantity = "10Ti"
    """What all PersistentVolumeClaims together may request."""
    jobs: ObjectCount = 5000
    """Jobs, with those that have ended and are not deleted yet."""
    finished_pods: Count = 5000
    """Pods that have ended and are not deleted yet, beside those that run or wait."""
    other_objects: ObjectCount = 500
    """Objects of each other kind that members may create: Deployments, CronJobs, ServiceAccounts, TrainJobs, ..."""
    grace_period_seconds: Annotated[int, Field(ge=30, le=86_400)] = GRACE_PERIOD_SECONDS
    """Longest time in seconds that a pod may take to end: a displaced pod keeps its GPUs that long. 30 is the default
    of Kubernetes for pods that name no period."""


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
    limits: TeamLimits = Field(default_factory=TeamLimits)
    pod_security: Literal["baseline", "restricted", "privileged"] = "baseline"
    """Pod Security level enforced in the namespace."""
