"""Immutable fields of planned kinds: with the official provider, a change of one of them replaces the object.

The API server rejects an update of these fields. The built-in provider learns that from the server and does not use
this table; the official provider knows a part of the built-in kinds only, and fails for the rest (pulumi-kubernetes
4.32, provider/pkg/provider/diff.go: no PriorityClass, no custom resource, and of a StorageClass two of four fields).

Sources, all Kubernetes 1.36: `ValidatePriorityClassUpdate` (pkg/apis/scheduling/validation),
`ValidateStorageClassUpdate` (pkg/apis/storage/validation), `ValidateRoleBindingUpdate` and
`ValidateClusterRoleBindingUpdate` (pkg/apis/rbac/validation), `ValidateResourceQuotaUpdate` (pkg/apis/core/validation),
and the selectors of pkg/apis/apps/validation. Of custom resources: the CEL rules with `oldSelf` in the CRDs of the
components in `CHECKED_VERSIONS`, and in `GatewayClassSpec` of the Gateway API (apis/v1).

The table leaves out:

- PersistentVolume, PersistentVolumeClaim and CustomResourceDefinition: their replacement deletes data. The official
  provider itself replaces the first two for most fields of their `spec`; `up` asks for each by name.
- optional fields with the rule `self == oldSelf`, which accepts that the field is added or removed: all of those of
  ClusterTrainingRuntime (`successPolicy`, `startupPolicy`, `failurePolicy`, `network`, `volumeClaimPolicies`,
  `dependsOn`). The API server rejects another value, and the run fails with its message.
- `spec.replicas` of Karpenter's NodePool: the API server rejects that it is added or removed, and accepts another
  number, which no path can tell apart. The run fails with its message, and `kubectl delete nodepool NAME` lets the next
  one create the pool anew. The built-in provider replaces the NodePool.
- rules that apply only in some states: `ResourceFlavor` freezes a flavor that has a topology, and mlcluster names such
  a flavor after its contents.
"""

from collections.abc import Mapping
from typing import Any

_BINDING = ("roleRef",)
_WORKLOAD = ("spec.selector",)

CHECKED_VERSIONS: Mapping[str, str] = {
    "karpenter-crd": "1.14.1",
    "kubeflow-trainer": "2.3.0",
    "kueue": "0.18.3",
    "node-readiness-controller": "0.5.0",
}
"""By component: the version whose CRDs were read for the table. A test compares it with the catalog's pin."""

_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
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
    ("readiness.node.x-k8s.io", "NodeReadinessRule"): (
        "spec.conditions",
        "spec.enforcementMode",
        "spec.nodeSelector",
        "spec.taint",
    ),
    ("scheduling.k8s.io", "PriorityClass"): ("preemptionPolicy", "value"),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
}
"""By API group ("" is the core group) and kind: property paths as Pulumi writes them."""


def immutable_fields(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of a manifest's fields that only a replacement can change."""
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    return _FIELDS.get((group, str(manifest["kind"])), ())
