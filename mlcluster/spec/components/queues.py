"""Queueing components and job controllers."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Doc, Duration, Name, SpecModel
from mlcluster.spec.components.base import ChartComponent

ServiceAccount = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
Image = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9._/:]*[a-z0-9])?(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$")]


class FairSharing(SpecModel):
    """Fair sharing of borrowed quota: the team with the lowest weighted usage borrows first, regardless of priority."""

    weights: Annotated[
        dict[Name, Annotated[int, Field(ge=0, le=1_000_000)]],
        Doc(example={"research": 2}, default="1 for each team", key="TEAM"),
    ] = Field(default_factory=dict)
    """Weight of each team. A team with weight 0 borrows only quota that no other team requests."""


class Kueue(ChartComponent):
    """Kueue, which queues workloads and admits them within the quotas of the teams."""

    pods_ready_timeout: Annotated[Duration, Doc(example="10m")] = "30m"
    """Time in which all pods of an admitted workload must be ready. Kueue then requeues the workload. At most a
    year."""
    fair_sharing: Annotated[FairSharing | None, Doc(default="no fair sharing; priority decides between workloads")] = (
        None
    )
    """Fair sharing of borrowed quota. Not possible together with `teams[].displaces`."""
    visibility: bool = False
    """Let teams query the queue positions of their pending workloads, in the API group
    `visibility.kueue.x-k8s.io`."""
    keep_finished: Annotated[Duration | None, Doc(example="24h", default="as long as the Job exists")] = None
    """Time to keep the Workload objects of finished Jobs. At most a year."""
    replicas: Annotated[int, Field(ge=1, le=3), Doc(example=3, unit="replicas")] = 2
    """Number of controller replicas. All replicas serve the webhooks; with a single replica, no pod of a team starts
    while its node is drained."""
    memory: Annotated[Literal["512Mi", "1Gi", "2Gi", "4Gi", "8Gi"], Doc(unit="bytes")] = "512Mi"
    """Memory of each controller replica. 512Mi is sufficient for a few thousand workloads."""


class JobController(ChartComponent):
    """A controller that creates Jobs and pods in the namespaces of teams."""

    service_account: Annotated[
        ServiceAccount | None,
        Doc(example="jobset-system/jobset-controller", default="the service account of the chart"),
    ] = None
    """With `install: false`: the service account of the existing controller, as NAMESPACE/NAME."""


class JobSet(JobController):
    """JobSet, which runs groups of Jobs that start, fail and finish together."""


class Runtime(SpecModel):
    """A ClusterTrainingRuntime, the template of TrainJobs."""

    framework: Literal["torch", "deepspeed", "mpi", "plain"]
    """Launcher: `torch` runs torchrun on every node, `deepspeed` and `mpi` run mpirun on the first node, `plain` runs
    the command on every node."""
    image: Annotated[Image, Doc(example="registry.example.com/train:1.2")]
    """Container image. A TrainJob can override it."""


class Trainer(JobController):
    """Kubeflow Trainer v2, which runs TrainJobs."""

    runtimes: Annotated[
        dict[Name, Runtime],
        Field(max_length=50),
        Doc(
            example={"torch-research": {"framework": "torch", "image": "registry.example.com/train:1.2"}}, key="RUNTIME"
        ),
    ] = Field(default_factory=dict)
    """Additional runtimes by name. The default runtimes are `torch`, `deepspeed`, `mpi` and `plain`; a runtime with
    one of these names replaces the default."""


class MpiOperator(JobController):
    """MPI Operator, which runs MPIJobs."""


class KubeRay(JobController):
    """KubeRay, which runs RayJobs and RayClusters."""


class LeaderWorkerSet(JobController):
    """LeaderWorkerSet, which runs groups of a leader and its workers, such as multi-node inference."""


class Volcano(ChartComponent):
    """Volcano, the scheduler of teams with `scheduler: volcano`."""
