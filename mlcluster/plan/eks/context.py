"""The context of the eks plan, which all its modules share, and the constructor of its resources."""

from dataclasses import dataclass

from mlcluster.plan import names
from mlcluster.plan.model import ItemRef, Manifest, PlanResource, Pool, kind_of
from mlcluster.plan.values import references
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.pools import NodePool
from mlcluster.spec.vpc_layout import cluster_zones


@dataclass(frozen=True, slots=True)
class EksContext:
    """The spec, and its pools with resolved facts, in the order of the spec."""

    spec: ClusterSpec
    target: EksTarget
    pools: tuple[Pool, ...]

    @property
    def name(self) -> str:
        """The cluster's name: the name of the EKS cluster and the first part of every AWS name."""
        return self.spec.metadata.name

    @property
    def zones(self) -> tuple[str, ...]:
        """The availability zones of the subnets."""
        return cluster_zones(self.target)

    @property
    def partition(self) -> str:
        """The partition, which is the second part of every ARN: aws, aws-cn or aws-us-gov."""
        prefix = self.target.region.split("-")[0]
        if prefix == "cn":
            return "aws-cn"
        return "aws-us-gov" if self.target.region.startswith("us-gov-") else "aws"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of every managed resource in the account."""
        return {names.MANAGED_BY: names.MANAGER, names.CLUSTER: self.name}

    @property
    def managed(self) -> tuple[Pool, ...]:
        """The pools that are EKS managed node groups; with Karpenter, only fixed pools without accelerators."""
        return tuple(pool for pool in self.pools if not self.spec.pool(pool.name).managed_by_karpenter)

    @property
    def provisioned(self) -> tuple[Pool, ...]:
        """The pools that are Karpenter NodePools."""
        return tuple(pool for pool in self.pools if self.spec.pool(pool.name).managed_by_karpenter)

    def zones_of(self, pool: Pool) -> tuple[str, ...]:
        """Return the zones of a pool's nodes: those of the spec, else one for EFA and placement groups, else all."""
        written = self.spec_pool(pool)
        if written.zones:
            return tuple(written.zones)
        return self.zones[:1] if written.network.needs_one_zone else self.zones

    def spec_pool(self, pool: Pool) -> NodePool:
        """Return the spec's entry of a pool."""
        return self.spec.pool(pool.name).entry


def resource(  # noqa: PLR0913 -- the parts of a cloud resource
    token: str,
    name: str,
    inputs: Manifest,
    *,
    spec_path: Loc,
    needs: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    retained: bool = False,
    team: str = "",
    pool: str = "",
) -> PlanResource:
    """Return a cloud resource; its id is `Type/name`, e.g. LaunchTemplate/train.

    Args:
        token: Pulumi type token, e.g. aws:ec2/vpc:Vpc.
        inputs: camelCase, as in the type's argument class, tags included. The resource needs every id it refers to.
        needs: ids that must exist first although the inputs do not refer to them.
    """
    before = dict.fromkeys((*(found.resource for found in references(inputs)), *needs))
    return PlanResource(
        resource_id(token, name), token, inputs, tuple(before), spec_path, ignore, retained, team=team, pool=pool
    )


def resource_id(token: str, name: str) -> str:
    """Return the id of a resource: Type/name."""
    return ItemRef(kind_of(token), name).id
