"""Kinds of work that a controller of its own turns into Jobs and pods, and the users of these controllers.

Kueue 0.18.3 holds such work back as a whole: its webhook suspends the top object when it is created, and leaves alone
what the object's controller makes (`FindAncestorJobManagedByKueue`). So the pods of an admitted JobSet or MPIJob carry
no gate of Kueue's; the policies admit them by the user that makes them and by their owner. A team member cannot act as
a controller's service account, which lives in a namespace outside the team.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mlcluster.plan.model import Manifest
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.queues import JobController

RAY_TEMPLATES = (
    "[{0}.headGroupSpec.template] + (has({0}.workerGroupSpecs) ? {0}.workerGroupSpecs.map(w, w.template) : [])"
)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind that people submit and that waits in the queue as a whole.

    Attributes:
        component: whose controller serves it.
        framework: Kueue's name for it.
        templates: CEL, the list of pod templates; {0} is the object's spec; "[]" where another object of the kinds has
            them.
        gated: Kueue holds its pods by their scheduling gates, a group at a time, and the object has no `suspend`.
    """

    component: str
    framework: str
    group: str
    version: str
    kind: str
    resource: str
    templates: str
    gated: bool = False


@dataclass(frozen=True, slots=True)
class Acting:
    """A controller, and the owner in whose name it makes and starts things."""

    component: str
    group: str
    kind: str


KINDS = (
    JobKind(
        "jobset",
        "jobset.x-k8s.io/jobset",
        "jobset.x-k8s.io",
        "v1alpha2",
        "JobSet",
        "jobsets",
        "{0}.replicatedJobs.map(r, r.template.spec.template)",
    ),
    JobKind(
        "kubeflow-trainer",
        "trainer.kubeflow.org/trainjob",
        "trainer.kubeflow.org",
        "v1alpha1",
        "TrainJob",
        "trainjobs",
        "[]",
    ),
    JobKind(
        "mpi-operator",
        "kubeflow.org/mpijob",
        "kubeflow.org",
        "v2beta1",
        "MPIJob",
        "mpijobs",
        "{0}.mpiReplicaSpecs.map(k, {0}.mpiReplicaSpecs[k].template)",
    ),
    JobKind(
        "kuberay-operator",
        "ray.io/rayjob",
        "ray.io",
        "v1",
        "RayJob",
        "rayjobs",
        (
            f"(has({{0}}.rayClusterSpec) ? {RAY_TEMPLATES.format('{0}.rayClusterSpec')} : [])"
            " + (has({0}.submitterPodTemplate) ? [{0}.submitterPodTemplate] : [])"
        ),
    ),
    JobKind(
        "kuberay-operator",
        "ray.io/raycluster",
        "ray.io",
        "v1",
        "RayCluster",
        "rayclusters",
        RAY_TEMPLATES,
    ),
    JobKind(
        "lws",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "leaderworkerset.x-k8s.io",
        "v1",
        "LeaderWorkerSet",
        "leaderworkersets",
        (
            "(has({0}.leaderWorkerTemplate.leaderTemplate) ? [{0}.leaderWorkerTemplate.leaderTemplate] : [])"
            " + [{0}.leaderWorkerTemplate.workerTemplate]"
        ),
        gated=True,
    ),
)

USERS: Mapping[str, str] = {
    "jobset": "system:serviceaccount:jobset-system:jobset-controller",
    "kubeflow-trainer": "system:serviceaccount:kubeflow-system:trainer-controller-manager",
    "mpi-operator": "system:serviceaccount:mpi-operator:mpi-operator",
    "kuberay-operator": "system:serviceaccount:kuberay:kuberay-operator",
    "kserve": "system:serviceaccount:kserve:kserve-controller-manager",
    "keda": "system:serviceaccount:keda:keda-operator",
    "lws": "system:serviceaccount:lws-system:lws-controller-manager",
}
"""Whom each controller is known as to the API server, where its chart is installed under our names."""

COUNTED = frozenset(kind.component for kind in KINDS)
"""Controllers whose Jobs are parts of what Kueue has counted; those of others wait by themselves."""

_MAKERS = (
    *(Acting(kind.component, kind.group, kind.kind) for kind in KINDS),
    Acting("kserve", "serving.kserve.io", "InferenceService"),
    Acting("keda", "keda.sh", "ScaledJob"),
    Acting("lws", "", "Pod"),  # the StatefulSet of a group's workers belongs to the pod of its leader
)


def controllers(spec: ClusterSpec, components: Iterable[str]) -> dict[str, str]:
    """Component of the plan that makes things in teams' namespaces -> the user that its controller is.

    One that is there already may run under another name, which the spec says: `serviceAccount: namespace/name`.
    """
    said: dict[str, JobController | None] = {
        "jobset": spec.components.job_set,
        "kubeflow-trainer": spec.components.trainer,
        "mpi-operator": spec.components.mpi_operator,
        "kuberay-operator": spec.components.kube_ray,
        "lws": spec.components.leader_worker_set,
    }
    users = {name: USERS[name] for name in components if name in USERS}
    for name, settings in said.items():
        if name in users and settings is not None and settings.service_account:
            users[name] = f"system:serviceaccount:{settings.service_account.replace('/', ':')}"
    return users


def kinds_of(components: Iterable[str]) -> tuple[JobKind, ...]:
    """The kinds that the components of a plan bring."""
    present = set(components)
    return tuple(kind for kind in KINDS if kind.component in present)


def frameworks(components: Iterable[str]) -> list[str]:
    """Kueue's names of the kinds that the components bring."""
    return [kind.framework for kind in kinds_of(components)]


def rules(kinds: Iterable[JobKind], *operations: str) -> list[Manifest]:
    """What a policy on these kinds matches."""
    return [
        {
            "apiGroups": [kind.group],
            "apiVersions": [kind.version],
            "resources": [kind.resource],
            "operations": list(operations),
        }
        for kind in kinds
    ]


def acts_for_owner(components: Mapping[str, str], subject: str = "object", *, only: Iterable[str] = ()) -> str:
    """CEL: the request comes from the controller of the object's controlling owner.

    Args:
        components: of the plan -> the user that each one's controller is.
        subject: CEL of the object whose owner counts.
        only: component names; default: every component that makes things for an owner.
    """
    chosen = set(only) or {maker.component for maker in _MAKERS}
    makers = [
        f"['{components[maker.component]}', '{f'{maker.group}/' if maker.group else 'v1'}', '{maker.kind}']"
        for maker in _MAKERS
        if maker.component in components and maker.component in chosen
    ]
    if not makers:
        return "false"
    return (
        f"(has({subject}.metadata.ownerReferences) && [{', '.join(makers)}].exists(m, "
        f"m[0] == request.userInfo.username && {subject}.metadata.ownerReferences.exists(o, has(o.controller)"
        " && o.controller && o.kind == m[2] && o.apiVersion.startsWith(m[1]))))"
    )


def is_controller(components: Mapping[str, str]) -> str:
    """CEL: the request comes from a controller of the plan that makes things in teams' namespaces."""
    users = sorted({components[maker.component] for maker in _MAKERS if maker.component in components})
    return f"(request.userInfo.username in [{', '.join(repr(user) for user in users)}])" if users else "false"


def suspended(subject: str) -> str:
    """CEL: a Job, or one of the kinds, is held back."""
    spec = f"dyn({subject}.spec)"  # the API server checks types of every kind that a policy matches
    return (
        f"({subject}.kind == 'MPIJob' ? (has({spec}.runPolicy) && has({spec}.runPolicy.suspend)"
        f" && {spec}.runPolicy.suspend) : (has({spec}.suspend) && {spec}.suspend))"
    )


def templates(kinds: Iterable[JobKind], subject: str = "object") -> str:
    """CEL: the pod templates of an object of any of the kinds."""
    spec = f"dyn({subject}.spec)"  # the API server checks types of every kind that a policy matches
    cases = [
        f"{subject}.kind == '{kind.kind}' ? ({kind.templates.format(spec)}) : "
        for kind in kinds
        if kind.templates != "[]"
    ]
    return "".join(cases) + "[]"
