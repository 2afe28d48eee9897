"""Immutable fields of planned kinds: a change of one of them replaces the object.

The API server rejects an update of these fields. The built-in provider learns that from the server; the official
provider knows a part of the built-in kinds only, and fails for the rest (pulumi-kubernetes 4.32,
provider/pkg/provider/diff.go: no PriorityClass, no custom resource, and of a StorageClass only two of four fields).

Sources, all Kubernetes 1.36: `ValidatePriorityClassUpdate` (pkg/apis/scheduling/validation),
`ValidateStorageClassUpdate` (pkg/apis/storage/validation), `ValidateRoleBindingUpdate` and
`ValidateClusterRoleBindingUpdate` (pkg/apis/rbac/validation), `ValidatePersistentVolumeUpdate`,
`ValidatePersistentVolumeClaimUpdate` and `ValidateResourceQuotaUpdate` (pkg/apis/core/validation), and the selectors of
pkg/apis/apps/validation. Of custom resources: the CEL rules `self == oldSelf` in the CRDs of Kueue 0.18, Trainer 2.2,
Karpenter 1, Gateway API 1 and the node readiness controller.

A rule that applies only in some states is not here: `ResourceFlavor` freezes a flavor that has a topology, and
mlcluster names such a flavor after its contents. Nor is a CRD: to replace it deletes every object of its kind.
"""

from collections.abc import Mapping
from typing import Any

_BINDING = ("roleRef",)
_WORKLOAD = ("spec.selector",)
_RUNTIME = ("failurePolicy", "network", "startupPolicy", "successPolicy", "volumeClaimPolicies")

_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "PersistentVolume"): ("spec.csi", "spec.volumeMode"),
    ("", "PersistentVolumeClaim"): (
        "spec.accessModes",
        "spec.selector",
        "spec.storageClassName",
        "spec.volumeMode",
        "spec.volumeName",
    ),
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Secret"): ("type",),
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("gateway.networking.k8s.io", "GatewayClass"): ("spec.controllerName",),
    ("karpenter.sh", "NodePool"): ("spec.template.spec.nodeClassRef.group", "spec.template.spec.nodeClassRef.kind"),
    ("kueue.x-k8s.io", "AdmissionCheck"): ("spec.controllerName",),
    ("kueue.x-k8s.io", "LocalQueue"): ("spec.clusterQueue",),
    ("kueue.x-k8s.io", "Topology"): ("spec.levels",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("readiness.node.x-k8s.io", "NodeReadinessRule"): ("spec",),
    ("scheduling.k8s.io", "PriorityClass"): ("preemptionPolicy", "value"),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): (
        *(f"spec.template.spec.{name}" for name in _RUNTIME),
        "spec.template.spec.replicatedJobs[*].dependsOn",
    ),
}
"""By API group ("" is the core group) and kind: property paths as Pulumi writes them."""


def immutable_fields(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of a manifest's fields that only a replacement can change."""
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    return _FIELDS.get((group, str(manifest["kind"])), ())
