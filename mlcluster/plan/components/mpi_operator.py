"""MPI Operator 0.8.2: MPIJob (kubeflow/mpi-operator v0.8.2, manifests/base and manifests/overlays/standalone).

Upstream has no chart. Its CRD is a file of mlcluster, `templates/crds/mpijobs.yaml`.
"""

from mlcluster.catalog.components import pin
from mlcluster.catalog.mpi_operator import RATE_FLAGS
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import APP, image, service_account
from mlcluster.plan.components.member_roles import MemberKinds, member_roles
from mlcluster.plan.components.releases import chart_release, realisation
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import from_manifest, make, object_id
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.templates import filled

NAME = "mpi-operator"
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
"""Upstream has no requests, so the scheduler could not count the pod."""

_RULES: list[Manifest] = [
    {
        "apiGroups": [""],
        "resources": ["configmaps", "secrets", "services"],
        "verbs": ["create", "list", "watch", "update"],
    },
    {
        "apiGroups": [""],
        "resources": ["pods"],
        "verbs": ["create", "get", "list", "watch", "delete", "update", "patch"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "list", "update", "watch"]},
    {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get"]},
    {
        "apiGroups": ["kubeflow.org"],
        "resources": ["mpijobs", "mpijobs/finalizers", "mpijobs/status"],
        "verbs": ["get", "list", "watch", "update", "patch"],
    },
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["create", "get", "list", "watch", "update", "patch"],
    },
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": ["get", "list", "watch"]},
]
"""The rules of upstream, without rules for the pod groups of other schedulers, and without `*`."""


def contribute(context: ComponentContext) -> Contribution:
    """Return the CRD, the operator and its rights, and the rights of members on MPIJobs."""
    roles = member_roles(context, NAME, MemberKinds("kubeflow.org", ("mpijobs",)))
    made = realisation(context, NAME)
    if made == "process":  # the lab applies the CRD and the rights that belong to its program
        return Contribution(releases=(chart_release(context, NAME, {}),), objects=roles)
    if made == "present":
        return Contribution(objects=roles)
    deployment = _deployment(context)
    return Contribution(
        objects=(_crd(context), *service_account(context, NAME, NAME, _RULES), deployment, *roles),
        pods=(_pod(context, deployment),),
        namespaces={pin(NAME).namespace: {}},
    )


def _crd(context: ComponentContext) -> PlanObject:
    return from_manifest(context.cluster, filled("crds/mpijobs.yaml"), spec_path=context.spec_path(NAME))


def _deployment(context: ComponentContext) -> PlanObject:
    found, labels = pin(NAME), {APP: NAME}
    container: Manifest = {
        "name": NAME,
        "image": image(context, NAME),
        "args": ["-alsologtostderr", f"-lock-namespace={found.namespace}", *RATE_FLAGS],
        "resources": {"requests": REQUESTS, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    pod: Manifest = {
        "serviceAccountName": NAME,
        "priorityClassName": CLUSTER_CRITICAL,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "containers": [container],
    }
    body = {
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
    }
    needs = (
        _crd(context).id,
        object_id("ServiceAccount", NAME, found.namespace),
        object_id("ClusterRoleBinding", NAME),
    )
    return make(
        context.cluster,
        "apps/v1",
        "Deployment",
        NAME,
        body,
        namespace=found.namespace,
        needs=needs,
        spec_path=context.spec_path(NAME),
    )


def _pod(context: ComponentContext, deployment: PlanObject) -> PlanPod:
    controller = Workload(NAME, REQUESTS, evidence="rendered", source="the Deployment of this plan")
    return workload_pod(context, NAME, controller, owner=deployment.ref)
