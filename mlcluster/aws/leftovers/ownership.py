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
"""Tags of EKS, the VPC CNI, the load balancer controller, the CSI drivers and Karpenter whose value is the cluster."""


def tags_of(tags: Any) -> dict[str, str]:
    """Tags as a dict, from any of the forms in which AWS gives them."""
    if isinstance(tags, Mapping):
        return dict(tags)
    return {entry["Key"]: entry.get("Value", "") for entry in tags or ()}


@dataclass(frozen=True, slots=True)
class Owner:
    """The cluster whose things are looked for.

    Attributes:
        cluster: its name.
        vpcs: VPCs that carry its tag: what is in them is its own.
        namesake: an EKS cluster of this name is there that mlcluster did not make: what controllers tagged is its.
    """

    cluster: str
    vpcs: frozenset[str] = frozenset()
    namesake: bool = False

    @property
    def tag_keys(self) -> list[str]:
        """Every tag key that can make something the cluster's."""
        return [names.CLUSTER, f"kubernetes.io/cluster/{self.cluster}", *NAMING_KEYS]

    def why(self, tags: Mapping[str, str], vpc: str = "", *, network: bool = False) -> str:
        """Why something is the cluster's; "" when it is not.

        Args:
            vpc: the VPC it is in.
            network: subnets and security groups of others carry Karpenter's discovery tag too: it does not count.
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
        """The first text that is the cluster's name, or goes on after it with a slash."""
        return next((text for text in texts if text == self.cluster or text.startswith(f"{self.cluster}/")), "")
