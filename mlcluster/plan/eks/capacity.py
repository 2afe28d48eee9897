"""Purchase options and placement of nodes: spot, reservations, capacity blocks, placement groups.

Sources: Amazon EKS user guide "Manage compute resources for AI/ML workloads with Capacity Blocks",
"Capacity Reservations"; Amazon EC2 Auto Scaling user guide "Scheduled actions".
"""

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.model import Manifest, PlanResource, Pool
from mlcluster.plan.values import Ref

_PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
_SCHEDULE = "aws:autoscaling/schedule:Schedule"
_TYPES = {"onDemand": "ON_DEMAND", "spot": "SPOT", "reservation": "ON_DEMAND", "capacityBlock": "CAPACITY_BLOCK"}


def node_group_capacity(context: EksContext, pool: Pool) -> Manifest:
    """Return `capacityType` and `instanceTypes` of a node group; for a capacity block the template sets the type.

    EKS buys spot by price and capacity together (price-capacity-optimized), and supports no other strategy.
    """
    kind = {"capacityType": _TYPES[pool.capacity_type]}
    if pool.capacity_type == "capacityBlock":
        return kind
    return {**kind, "instanceTypes": [pool.instance_type, *context.spec_pool(pool).capacity.also]}


def template_capacity(context: EksContext, pool: Pool) -> Manifest:
    """Return the reservation and placement fields of a launch template; {} for plain on-demand and spot."""
    found: Manifest = {}
    reservation = context.spec_pool(pool).capacity.reservation_id
    if reservation is not None:
        target = {"capacityReservationTarget": {"capacityReservationId": reservation}}
        found["capacityReservationSpecification"] = target
    if pool.capacity_type == "capacityBlock":
        found["instanceMarketOptions"] = {"marketType": "capacity-block"}
        found["instanceType"] = pool.instance_type
    elif pool.placement_group == "cluster":
        found["placement"] = {"groupName": Ref(resource_id(_PLACEMENT_GROUP, pool.name), "name")}
    return found


def placement_group_resources(context: EksContext, pool: Pool) -> list[PlanResource]:
    """Return the placement group of a pool, if the spec enables it; AWS places capacity blocks itself."""
    if pool.placement_group != "cluster" or pool.capacity_type == "capacityBlock":
        return []
    name = f"{context.name}-{pool.name}"
    inputs: Manifest = {"name": name, "strategy": "cluster", "tags": {**context.tags, "Name": name}}
    path = (*pool.spec_path, "network", "placementGroup")
    return [resource(_PLACEMENT_GROUP, pool.name, inputs, spec_path=path, pool=pool.name)]


def schedule_resources(context: EksContext, pool: Pool, auto_scaling_group: Ref) -> list[PlanResource]:
    """Return the scheduled action that starts a capacity block's nodes if no autoscaler scales the pool.

    EKS scales the group down 40 minutes before the block ends, so there is no second action.
    """
    starts = context.spec_pool(pool).capacity.starts_at
    if pool.capacity_type != "capacityBlock" or context.target.autoscaler != "none" or starts is None:
        return []
    inputs: Manifest = {
        "autoscalingGroupName": auto_scaling_group,
        "scheduledActionName": f"{context.name}-{pool.name}-start",
        "startTime": _seconds(starts),
        "minSize": 0,
        "maxSize": pool.max_size,
        "desiredCapacity": pool.max_size,
    }
    path = (*pool.spec_path, "capacity", "startsAt")
    return [resource(_SCHEDULE, f"{pool.name}-start", inputs, spec_path=path, pool=pool.name)]


def _seconds(instant: str) -> str:
    """Return the instant with seconds, which the API requires and the spec does not."""
    return instant if instant.count(":") == 2 else f"{instant.removesuffix('Z')}:00Z"
