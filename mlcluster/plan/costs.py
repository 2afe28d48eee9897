"""List prices of a cluster: its nodes, other resources with an hourly price, and the names of usage-based costs."""

from collections.abc import Iterator
from dataclasses import dataclass

from mlcluster.catalog import prices
from mlcluster.plan.model import Plan, PlanResource

_UNIT = {
    "eks:index:Cluster": ("EKS control plane", prices.EKS_CLUSTER),
    "aws:ec2/natGateway:NatGateway": ("NAT gateway", prices.NAT_GATEWAY),
    "aws:ec2/eip:Eip": ("public IPv4 address", prices.PUBLIC_ADDRESS),
    "aws:kms/key:Key": ("KMS key", prices.monthly(prices.KMS_KEY)),
}
_ENDPOINT, _LUSTRE = "aws:ec2/vpcEndpoint:VpcEndpoint", "aws:fsx/lustreFileSystem:LustreFileSystem"
_BY_USE = {
    "aws:efs/fileSystem:FileSystem": "EFS storage",
    "aws:cloudwatch/logGroup:LogGroup": "CloudWatch logs",
}
_ALWAYS = ("EBS volumes", "load balancers", "data transfer")
_ELSEWHERE = ("the control plane", "volumes", "load balancers", "data transfer")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A kind of resource that AWS bills by the hour, independent of the workloads.

    Attributes:
        usd_per_hour: list price in us-east-1 of all `count` resources together.
    """

    name: str
    count: int
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a cluster in USD per hour.

    Attributes:
        nodes_usd_per_hour_at_min: all pools of known price at minimum size.
        nodes_usd_per_hour_at_max: all pools of known price at maximum size.
        unpriced_pools: names of the pools that both totals leave out.
        beside_nodes: planned resources with a fixed hourly price.
        not_counted: names of other costs that AWS bills by usage.
    """

    nodes_usd_per_hour_at_min: float
    nodes_usd_per_hour_at_max: float
    unpriced_pools: tuple[str, ...]
    beside_nodes: tuple[Fixed, ...]
    not_counted: tuple[str, ...]

    @property
    def beside_usd_per_hour(self) -> float:
        """Return the sum of the fixed hourly prices."""
        return sum(one.usd_per_hour for one in self.beside_nodes)


def costs(plan: Plan) -> Costs:
    """Return the costs of a plan; on `local` only the simulated nodes have prices, and nothing is billed."""
    return Costs(
        round(sum(pool.usd_per_hour_at_min or 0 for pool in plan.pools), 2),
        round(sum(pool.usd_per_hour_at_max or 0 for pool in plan.pools), 2),
        tuple(pool.name for pool in plan.pools if pool.price is None),
        _beside(plan),
        _not_counted(plan),
    )


def _beside(plan: Plan) -> tuple[Fixed, ...]:
    if plan.cluster.target != "eks":
        return ()
    counts: dict[str, int] = {}
    sums: dict[str, float] = {}
    for resource in plan.resources:
        for name, count, usd in _priced(resource):
            counts[name] = counts.get(name, 0) + count
            sums[name] = sums.get(name, 0.0) + usd
    return tuple(Fixed(name, count, round(sums[name], 4)) for name, count in counts.items())


def _priced(resource: PlanResource) -> Iterator[tuple[str, int, float]]:
    """Yield name, count and hourly price for a resource with a fixed price."""
    if resource.type in _UNIT:
        name, usd = _UNIT[resource.type]
        yield name, 1, usd
    elif resource.type == _ENDPOINT and resource.inputs.get("vpcEndpointType") == "Interface":
        zones = len(resource.inputs.get("subnetIds") or ())
        yield "zone of an interface endpoint", zones, zones * prices.ENDPOINT_PER_ZONE
    elif resource.type == _LUSTRE and (usd_per_gib := _lustre(resource)) is not None:
        size = int(resource.inputs["storageCapacity"])
        yield "FSx for Lustre file system", 1, prices.monthly(size * usd_per_gib)


def _lustre(resource: PlanResource) -> float | None:
    given = resource.inputs
    speed = given.get("perUnitStorageThroughput", 0)
    return prices.LUSTRE_GIB.get((given.get("deploymentType", ""), given.get("storageType", "SSD"), speed))


def _not_counted(plan: Plan) -> tuple[str, ...]:
    if plan.cluster.target == "local":
        return ()
    if plan.cluster.target == "existing":
        return _ELSEWHERE
    kinds = {resource.type for resource in plan.resources}
    lustre = [one for one in plan.resources if one.type == _LUSTRE and _lustre(one) is None]
    return (
        *_ALWAYS,
        *(name for token, name in _BY_USE.items() if token in kinds),
        *(("FSx for Lustre file systems of unknown price",) if lustre else ()),
    )
