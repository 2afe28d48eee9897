"""The pins that single modules name; all of them are in `components.json`."""

from mlcluster.catalog.components import ComponentPin as ChartPin
from mlcluster.catalog.components import pin

__all__ = [
    "CLUSTER_AUTOSCALER",
    "KARPENTER",
    "KARPENTER_CRD",
    "KUEUE",
    "LAB_KUBERNETES",
    "ChartPin",
]

KUEUE = pin("kueue")
KARPENTER_CRD = pin("karpenter-crd")
"""The chart of the CRDs, because Helm never upgrades a crds/ directory; installed before KARPENTER."""

KARPENTER = pin("karpenter")
CLUSTER_AUTOSCALER = pin("cluster-autoscaler")
"""Its image tag is the cluster's own minor: `EksVersion.cluster_autoscaler`."""

LAB_KUBERNETES = "1.36"
"""Minor version of the lab's control plane: k8s.io/kubernetes in lab/toolchain/go.mod."""
