"""Components that queue work, and those whose work is queued."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Duration, Name, SpecModel
from mlcluster.spec.components.base import ChartComponent

ServiceAccount = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
Image = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9._/:]*[a-z0-9])?(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$")]


class FairSharing(SpecModel):
    """Whoever uses the least for its weight goes first, instead of priority within borrowed quota."""

    weights: dict[Name, Annotated[int, Field(ge=0, le=1_000_000)]] = Field(default_factory=dict)
    """By team; default: 1. A team of weight 0 borrows only what nobody else wants."""


class Kueue(ChartComponent):
    """Kueue: queues, quotas, admission."""

    pods_ready_timeout: Duration = "30m"
    """A gang whose pods are not all running after this time goes back to the queue."""
    fair_sharing: FairSharing | None = None
    """Default: none; guarantees are taken back by whoever owns them, and priority decides within a team."""
    visibility: bool = False
    """Teams may ask for the position of their pending work (API group visibility.kueue.x-k8s.io)."""
    keep_finished: Duration | None = None
    """How long the workloads of finished jobs are kept; default: as long as the job."""
    replicas: Annotated[int, Field(ge=1, le=3)] = 2
    """Controllers; more than one elect a leader, and all of them answer webhooks. With one, no pod of a team starts
    while its node drains."""
    memory: Literal["512Mi", "1Gi", "2Gi", "4Gi", "8Gi"] = "512Mi"
    """Memory of a controller; 512Mi are enough for a few thousand workloads."""


class JobController(ChartComponent):
    """A controller that makes Jobs and pods in teams' namespaces."""

    service_account: ServiceAccount | None = None
    """With `install: false`: as whom the controller that is there runs, as namespace/name."""


class JobSet(JobController):
    """JobSet: groups of Jobs with one life."""


class Runtime(SpecModel):
    """A ClusterTrainingRuntime: what a TrainJob starts from."""

    framework: Literal["torch", "deepspeed", "mpi", "plain"]
    """torch: torchrun on every node; deepspeed, mpi: mpirun from the first node; plain: the command, once a node."""
    image: Image
    """Image of its containers; a TrainJob may name another."""


class Trainer(JobController):
    """Kubeflow Trainer v2: TrainJob and its runtimes."""

    runtimes: Annotated[dict[Name, Runtime], Field(max_length=50)] = Field(default_factory=dict)
    """Runtimes beside the default ones, torch, deepspeed, mpi and plain; one of their names replaces it."""


class MpiOperator(JobController):
    """MPI Operator: MPIJob."""


class KubeRay(JobController):
    """KubeRay: RayJob and RayCluster."""


class LeaderWorkerSet(JobController):
    """LeaderWorkerSet: groups of one leader and its workers, for models that need several nodes."""


class Volcano(ChartComponent):
    """Volcano: the scheduler of the teams that choose it."""
