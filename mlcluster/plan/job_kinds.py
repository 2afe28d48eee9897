"""Job kinds, whose controllers create Jobs and pods, and the users of these controllers.

Kueue 0.18.3 queues such an object as a whole: its webhook suspends the top object when it is created, and ignores the
objects that the controller creates (`FindAncestorJobManagedByKueue`). So the pods of an admitted JobSet or MPIJob have
no scheduling gate; the policies accept them by the user that creates them and by their owner. A team member cannot act
as the service account of a controller, because its namespace does not belong to the team.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.queues import JobController


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind that users submit and that waits in the queue as a whole.

    The policies have its version, its resource and its pod templates (`templates/policies/shared`).

    Attributes:
        component: the component with its controller.
        framework: Kueue's name for it.
        group: the API group.
    """

    component: str
    framework: str
    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The service account of a controller."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """The user that the service account is for the API server."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


@dataclass(frozen=True, slots=True)
class Acting:
    """A controller, and the owner for which it creates and starts objects."""

    component: str
    group: str
    kind: str


KINDS = (
    JobKind("jobset", "jobset.x-k8s.io/jobset", "jobset.x-k8s.io", "JobSet"),
    JobKind("kubeflow-trainer", "trainer.kubeflow.org/trainjob", "trainer.kubeflow.org", "TrainJob"),
    JobKind("mpi-operator", "kubeflow.org/mpijob", "kubeflow.org", "MPIJob"),
    JobKind("kuberay-operator", "ray.io/rayjob", "ray.io", "RayJob"),
    JobKind("kuberay-operator", "ray.io/raycluster", "ray.io", "RayCluster"),
    JobKind("lws", "leaderworkerset.x-k8s.io/leaderworkerset", "leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
)

ACCOUNTS: Mapping[str, ServiceAccount] = {
    "jobset": ServiceAccount("jobset-system", "jobset-controller"),
    "kubeflow-trainer": ServiceAccount("kubeflow-system", "trainer-controller-manager"),
    "mpi-operator": ServiceAccount("mpi-operator", "mpi-operator"),
    "kuberay-operator": ServiceAccount("kuberay", "kuberay-operator"),
    "kserve": ServiceAccount("kserve", "kserve-controller-manager"),
    "keda": ServiceAccount("keda", "keda-operator"),
    "lws": ServiceAccount("lws-system", "lws-controller-manager"),
}
"""Component -> service account of its controller, if mlcluster installs its chart."""

USERS: Mapping[str, str] = {name: account.user for name, account in ACCOUNTS.items()}
"""Component -> user name of its controller, likewise."""

COUNTED = frozenset(kind.component for kind in KINDS)
"""Components whose Jobs Kueue counts with their owner; it queues the Jobs of other controllers one by one."""

_MAKERS = (
    *(Acting(kind.component, kind.group, kind.kind) for kind in KINDS),
    Acting("kserve", "serving.kserve.io", "InferenceService"),
    Acting("keda", "keda.sh", "ScaledJob"),
    Acting("lws", "", "Pod"),  # the StatefulSet of a group's workers belongs to the pod of its leader
)


def controllers(spec: ClusterSpec, components: Iterable[str]) -> dict[str, str]:
    """Return component -> user name of its controller, for controllers that create objects in team namespaces."""
    return {name: account.user for name, account in accounts(spec, components).items()}


def accounts(spec: ClusterSpec, components: Iterable[str]) -> dict[str, ServiceAccount]:
    """Return component -> service account of its controller, for controllers that create objects in team namespaces.

    An existing installation may use another service account: `serviceAccount: namespace/name` in the spec.
    """
    settings_of: dict[str, JobController | None] = {
        "jobset": spec.components.job_set,
        "kubeflow-trainer": spec.components.trainer,
        "mpi-operator": spec.components.mpi_operator,
        "kuberay-operator": spec.components.kube_ray,
        "lws": spec.components.leader_worker_set,
    }
    found = {name: ACCOUNTS[name] for name in components if name in ACCOUNTS}
    for name, settings in settings_of.items():
        if name in found and settings is not None and settings.service_account:
            namespace, _, account = settings.service_account.partition("/")
            found[name] = ServiceAccount(namespace, account)
    return found


def kinds_of(components: Iterable[str]) -> tuple[JobKind, ...]:
    """Return the job kinds of the components of a plan."""
    present = set(components)
    return tuple(kind for kind in KINDS if kind.component in present)


def frameworks(components: Iterable[str]) -> list[str]:
    """Return Kueue's names of the job kinds of the components."""
    return [kind.framework for kind in kinds_of(components)]


def owners(components: Mapping[str, str], *, only: Iterable[str] = ()) -> list[list[str]]:
    """Return the owners for which controllers of the plan act: [user of the controller, API group and "/", kind].

    Args:
        components: of the plan -> the user that each one's controller is.
        only: component names; default: every component that creates objects for an owner.
    """
    chosen = set(only) or {maker.component for maker in _MAKERS}
    return [
        [components[maker.component], f"{maker.group}/" if maker.group else "v1", maker.kind]
        for maker in _MAKERS
        if maker.component in components and maker.component in chosen
    ]


def users_of(components: Mapping[str, str]) -> list[str]:
    """Return the users of the controllers that make objects for an owner, sorted.

    Args:
        components: of the plan -> the user that each one's controller is.
    """
    return sorted({components[maker.component] for maker in _MAKERS if maker.component in components})
