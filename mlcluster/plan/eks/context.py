"""What every module of the eks plan starts from, and how a resource is made."""

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
    """The spec, and the pools with their facts resolved, in the same order."""

    spec: ClusterSpec
    target: EksTarget
    pools: tuple[Pool, ...]

    @property
    def name(self) -> str:
        """The cluster's name: of the EKS cluster and the first part of every AWS name."""
        return self.spec.metadata.name

    @property
    def zones(self) -> tuple[str, ...]:
        """Availability zones of the subnets."""
        return cluster_zones(self.target)

    @property
    def partition(self) -> str:
        """aws, aws-cn or aws-us-gov: the second part of every ARN."""
        prefix = self.target.region.split("-")[0]
        if prefix == "cn":
            return "aws-cn"
        return "aws-us-gov" if self.target.region.startswith("us-gov-") else "aws"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of everything of ours in the account."""
        return {names.MANAGED_BY: names.MANAGER, names.CLUSTER: self.name}

    @property
    def managed(self) -> tuple[Pool, ...]:
        """Pools that are EKS managed node groups; with Karpenter only fixed ones without accelerators."""
        return tuple(pool for pool in self.pools if not self.spec.pool(pool.name).managed_by_karpenter)

    @property
    def provisioned(self) -> tuple[Pool, ...]:
        """Pools that are Karpenter NodePools."""
        return tuple(pool for pool in self.pools if self.spec.pool(pool.name).managed_by_karpenter)

    def zones_of(self, pool: Pool) -> tuple[str, ...]:
        """Zones of the pool's nodes: what the spec says, else one for EFA and placement groups, else all of them."""
        written = self.spec_pool(pool)
        if written.zones:
            return tuple(written.zones)
        return self.zones[:1] if written.network.needs_one_zone else self.zones

    def spec_pool(self, pool: Pool) -> NodePool:
        """What the spec says of a pool."""
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
    """A cloud resource; its id is `Type/name`, e.g. LaunchTemplate/train.

    Args:
        token: Pulumi type token, e.g. aws:ec2/vpc:Vpc.
        inputs: camelCase, as the type's argument class has them, tags included. What it refers to, it needs first.
        needs: ids that must exist before and that it does not refer to.
    """
    before = dict.fromkeys((*(found.resource for found in references(inputs)), *needs))
    return PlanResource(
        resource_id(token, name), token, inputs, tuple(before), spec_path, ignore, retained, team=team, pool=pool
    )


def resource_id(token: str, name: str) -> str:
    """The id of a resource: Type/name."""
    return ItemRef(kind_of(token), name).id
