"""The definition of MPIJob, with open pod templates (mpi-operator v0.8.2, pkg/apis/kubeflow/v2beta1/types.go)."""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make

_TEXT: Manifest = {"type": "string"}
_FLAG: Manifest = {"type": "boolean"}
_TIME: Manifest = {"type": "string", "format": "date-time"}
_INT32: Manifest = {"type": "integer", "format": "int32"}
_INT64: Manifest = {"type": "integer", "format": "int64"}
_OPEN: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_QUANTITY: Manifest = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def definition(context: ComponentContext) -> PlanObject:
    """The custom resource definition."""
    schema = _object(
        {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}, "spec": _spec(), "status": _status()}
    )
    version: Manifest = {
        "name": "v2beta1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    body: Manifest = {
        "spec": {
            "group": "kubeflow.org",
            "scope": "Namespaced",
            "names": {"kind": "MPIJob", "listKind": "MPIJobList", "plural": "mpijobs", "singular": "mpijob"},
            "versions": [version],
        }
    }
    return make(
        context.cluster,
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "mpijobs.kubeflow.org",
        body,
        spec_path=context.spec_path("mpi-operator"),
    )


def _spec() -> Manifest:
    replica = _object(
        {
            "replicas": _INT32,
            "restartPolicy": _TEXT,
            "template": {**_OPEN, "description": "A pod template of Kubernetes."},
        }
    )
    return _object(
        {
            "slotsPerWorker": {**_INT32, "default": 1},
            "runLauncherAsWorker": {**_FLAG, "default": False},
            "runPolicy": _run_policy(),
            "mpiReplicaSpecs": {"type": "object", "additionalProperties": replica},
            "sshAuthMountPath": {**_TEXT, "default": "/root/.ssh"},
            "launcherCreationPolicy": {**_TEXT, "default": "AtStartup"},
            "mpiImplementation": {**_TEXT, "enum": ["OpenMPI", "Intel", "MPICH"], "default": "OpenMPI"},
        },
        "mpiReplicaSpecs",
    )


def _run_policy() -> Manifest:
    scheduling = {
        "minAvailable": _INT32,
        "queue": _TEXT,
        "minResources": {"type": "object", "additionalProperties": _QUANTITY},
        "priorityClass": _TEXT,
        "scheduleTimeoutSeconds": _INT32,
    }
    return _object(
        {
            "cleanPodPolicy": _TEXT,
            "ttlSecondsAfterFinished": _INT32,
            "activeDeadlineSeconds": _INT64,
            "backoffLimit": _INT32,
            "schedulingPolicy": _object(scheduling),
            "suspend": {**_FLAG, "default": False},
            "managedBy": _TEXT,
        }
    )


def _status() -> Manifest:
    condition = _object(
        {
            "type": _TEXT,
            "status": {**_TEXT, "enum": ["True", "False", "Unknown"]},
            "reason": _TEXT,
            "message": _TEXT,
            "lastUpdateTime": _TIME,
            "lastTransitionTime": _TIME,
        },
        "status",
        "type",
    )
    replica = _object(
        {"active": _INT32, "succeeded": _INT32, "failed": _INT32, "selector": _TEXT, "labelSelector": _OPEN}
    )
    return _object(
        {
            "conditions": {
                "type": "array",
                "items": condition,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "replicaStatuses": {"type": "object", "additionalProperties": replica},
            "startTime": _TIME,
            "completionTime": _TIME,
            "lastReconcileTime": _TIME,
        }
    )


def _object(properties: Manifest, *required: str) -> Manifest:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}
