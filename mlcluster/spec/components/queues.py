"""Components that queue work, and those whose work is queued."""

from mlcluster.spec.base import Duration
from mlcluster.spec.components.base import ChartComponent


class Kueue(ChartComponent):
    """Kueue: queues, quotas, admission."""

    pods_ready_timeout: Duration = "30m"
    """A gang whose pods are not all running after this time goes back to the queue."""


class JobSet(ChartComponent):
    """JobSet: groups of Jobs with one life."""


class Trainer(ChartComponent):
    """Kubeflow Trainer v2: TrainJob and its runtimes."""


class MpiOperator(ChartComponent):
    """MPI Operator: MPIJob."""


class KubeRay(ChartComponent):
    """KubeRay: RayJob and RayCluster."""


class Volcano(ChartComponent):
    """Volcano: the scheduler of the teams that choose it."""
