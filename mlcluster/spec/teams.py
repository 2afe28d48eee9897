"""Teams: guarantees, borrowing and lending of quota, members, network access and object limits."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import BY_SHAPE, LIST, MAPPING, WORD, Count, Doc, Name, Quantity, SpecModel

AmountCount = Annotated[int, Field(ge=0, le=1_000_000)]


class Amount(SpecModel):
    """An amount of a pool, in exactly one unit. Other resources of the pool follow in proportion."""

    nodes: Annotated[AmountCount | None, Doc(example=4, unit="nodes")] = None
    """Amount in whole nodes."""
    gpus: Annotated[AmountCount | None, Doc(example=8, unit="GPUs")] = None
    """Amount in physical GPUs. Only for pools with GPUs."""
    slices: Annotated[AmountCount | None, Doc(example=14, unit="slices")] = None
    """Amount in GPU slices: MIG instances, time-slicing replicas or MPS replicas. Only for pools with shared GPUs."""

    @property
    def is_nothing(self) -> bool:
        """Return whether the amount is zero."""
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
    """The members of a team with one role in its namespace."""

    groups: Annotated[list[PrincipalName], Doc(example=["ml-research"])] = []
    """Kubernetes groups."""
    users: Annotated[list[PrincipalName], Doc(example=["ada@example.com"])] = []
    """Kubernetes users."""
    aws_roles: Annotated[
        list[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$")]],
        Doc(example=["arn:aws:iam::111122223333:role/ml-research"], targets=("eks",)),
    ] = []
    """ARNs of IAM roles."""


class TeamMembers(SpecModel):
    """Members of the team by role. They have no access to the namespaces of other teams."""

    admin: Members = Field(default_factory=Members)
    """Members with the role `admin`: they can also grant other users access to the namespace."""
    edit: Members = Field(default_factory=Members)
    """Members with the role `edit`: they submit and delete workloads."""
    view: Members = Field(default_factory=Members)
    """Members with the role `view`: they read the objects of the namespace except Secrets."""


Cidr = Annotated[str, Field(pattern=r"^[0-9a-fA-F:.]+/[0-9]{1,3}$")]


class TeamNetwork(SpecModel):
    """Network access of the pods of a team."""

    egress: Annotated[
        Annotated[Literal["internet", "cluster", "none"], WORD] | Annotated[list[Cidr], LIST],
        BY_SHAPE,
        Doc(example=["10.0.0.0/8"]),
    ] = "internet"
    """Destinations outside the namespace that the pods of the team can connect to: the internet, only pods of the
    cluster, none, or a list of IP ranges. DNS is always allowed, link-local addresses of the node never."""


ObjectCount = Annotated[int, Field(ge=1, le=1_000_000)]


class TeamLimits(SpecModel):
    """Limits on the objects in the namespace of a team. The limits on CPU, memory and GPUs follow from the quota."""

    config_maps: Annotated[ObjectCount, Doc(unit="objects")] = 250
    """Maximum number of ConfigMaps. Each takes up to 1 MiB in etcd; Kubernetes creates one itself."""
    secrets: Annotated[ObjectCount, Doc(unit="objects")] = 250
    """Maximum number of Secrets. Each takes up to 1 MiB in etcd; Helm keeps one for each of the last ten revisions of
    a release."""
    services: Annotated[ObjectCount, Doc(unit="objects")] = 250
    """Maximum number of Services. Each takes an address from the Service IP range of the cluster."""
    load_balancers: Annotated[Count, Doc(example=2, unit="objects")] = 0
    """Maximum number of Services of type LoadBalancer."""
    ingresses: Annotated[Count, Doc(example=2, unit="objects")] = 0
    """Maximum number of Ingresses."""
    volume_claims: Annotated[Count, Doc(unit="objects")] = 100
    """Maximum number of PersistentVolumeClaims."""
    storage: Annotated[Quantity, Doc(example="50Ti", unit="bytes")] = "10Ti"
    """Maximum sum of the storage requests of all PersistentVolumeClaims."""
    jobs: Annotated[ObjectCount, Doc(unit="objects")] = 5000
    """Maximum number of Jobs, including finished Jobs that are not deleted yet."""
    finished_pods: Annotated[Count, Doc(unit="pods")] = 5000
    """Maximum number of finished pods that are not deleted yet, in addition to running and pending pods."""
    other_objects: Annotated[ObjectCount, Doc(unit="objects of each kind")] = 500
    """Maximum number of objects of each other kind that members can create, such as Deployments, CronJobs,
    ServiceAccounts or TrainJobs."""
    grace_period_seconds: Annotated[int, Field(ge=30, le=86_400), Doc(example=120, unit="seconds")] = (
        GRACE_PERIOD_SECONDS
    )
    """Maximum termination grace period of a pod. A preempted pod keeps its GPUs for that time. The minimum, 30, is the
    Kubernetes default for pods without a grace period."""


class Team(SpecModel):
    """A tenant of the cluster, with a namespace, a queue and a quota."""

    name: Annotated[Name, Doc(example="research")]
    """Name of the team, of its namespace and of its ClusterQueue."""
    guarantee: Annotated[Shares, Doc(example={"train": {"nodes": 4}}, key="POOL")] = {}
    """Guaranteed quota of each pool, the nominal quota in Kueue."""
    borrow: Annotated[Limits, Doc(example={"train": {"nodes": 2}}, key="POOL")] = "none"
    """Quota that the team can borrow beyond its guarantee while other teams do not use it: nothing, everything, or a
    limit for each pool."""
    lend: Annotated[Limits, Doc(example={"train": {"gpus": 8}}, key="POOL")] = "all"
    """Part of the guarantee that other teams can borrow while the team does not use it: everything, nothing, or a
    limit for each pool."""
    tiers: Annotated[
        Annotated[list[Name], Field(min_length=1)] | None,
        Doc(example=["time-sensitive-training", "best-effort-experiment"], default="every tier"),
    ] = None
    """Priority tiers that the workloads of the team can use."""
    displaces: Annotated[
        Name | None, Doc(example="best-effort-experiment", default="no preemption while borrowing")
    ] = None
    """Highest priority tier of other teams that the team can preempt while it borrows."""
    scheduler: Literal["kueue", "volcano"] = "kueue"
    """Scheduler of the workloads of the team. `volcano` needs `components.volcano`."""
    cohort: Annotated[Name | None, Doc(example="research", default="the only cohort")] = None
    """Cohort that the team borrows from and lends to. Required if the spec has more than one cohort."""
    members: TeamMembers = Field(default_factory=TeamMembers)
    """Members of the team by role."""
    network: TeamNetwork = Field(default_factory=TeamNetwork)
    """Network access of the pods of the team."""
    limits: TeamLimits = Field(default_factory=TeamLimits)
    """Limits on the objects in the namespace of the team."""
    pod_security: Literal["baseline", "restricted", "privileged"] = "baseline"
    """Pod Security Standard that the namespace enforces."""
