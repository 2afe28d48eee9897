"""Ownership of a resource: by its tags, and by its VPC."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.plan import names

DISCOVERY = "karpenter.sh/discovery"
NAMING_KEYS = (
    "KubernetesCluster",
    "eks:cluster-name",
    "eks:eks-cluster-name",
    "aws:eks:cluster-name",
    "cluster.k8s.amazonaws.com/name",
    "elbv2.k8s.aws/cluster",
    "ebs.csi.aws.com/cluster",
    DISCOVERY,
)
"""Tag keys of EKS, VPC CNI, load balancer controller, CSI drivers and Karpenter with the cluster's name as value."""


def tags_of(tags: Any) -> dict[str, str]:
    """Return tags as a dict, from any of the forms that AWS APIs use."""
    if isinstance(tags, Mapping):
        return dict(tags)
    return {entry["Key"]: entry.get("Value", "") for entry in tags or ()}


@dataclass(frozen=True, slots=True)
class Owner:
    """The cluster whose resources are searched for.

    Attributes:
        cluster: its name.
        vpcs: VPCs that carry its tag; the resources in them belong to the cluster.
        namesake: whether another tool created an EKS cluster of this name, which then owns what its controllers tagged.
    """

    cluster: str
    vpcs: frozenset[str] = frozenset()
    namesake: bool = False

    @property
    def tag_keys(self) -> list[str]:
        """Every tag key that can mark a resource as the cluster's."""
        return [names.CLUSTER, f"kubernetes.io/cluster/{self.cluster}", *NAMING_KEYS]

    def why(self, tags: Mapping[str, str], vpc: str = "", *, network: bool = False) -> str:
        """Return why a resource belongs to the cluster; "" if it does not.

        Args:
            vpc: the VPC of the resource.
            network: whether it is a subnet or security group. Unmanaged ones can carry Karpenter's discovery tag too,
                so that tag does not count.
        """
        marked = tags.get(names.CLUSTER)
        if marked is not None:
            return f"tag {names.CLUSTER}" if marked == self.cluster else ""
        if not self.namesake:
            owned = f"kubernetes.io/cluster/{self.cluster}"
            if tags.get(owned) == "owned":
                return f"tag {owned}"
            for key in NAMING_KEYS:
                if tags.get(key) == self.cluster and not (network and key == DISCOVERY):
                    return f"tag {key}"
        return f"in {vpc}" if vpc in self.vpcs else ""

    def first_named(self, texts: Iterable[str]) -> str:
        """Return the first text that is the cluster's name, or the name followed by a slash."""
        return next((text for text in texts if text == self.cluster or text.startswith(f"{self.cluster}/")), "")
