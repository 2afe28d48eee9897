"""Managed node groups with their launch templates, one of each for a pool.

Sources: Amazon EKS API reference, CreateNodegroup.
"""

from mlcluster.plan.eks.addons import node_prerequisites
from mlcluster.plan.eks.capacity import node_group_capacity, placement_group_resources, schedule_resources
from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.control_plane import cluster_id
from mlcluster.plan.eks.identity import node_role_arn, node_role_resources
from mlcluster.plan.eks.images import ami_release, ami_type_of
from mlcluster.plan.eks.interfaces import efa_security_group_resources
from mlcluster.plan.eks.launch_templates import LAUNCH_TEMPLATE, launch_template, node_tags
from mlcluster.plan.eks.network import egress_dependencies
from mlcluster.plan.eks.subnets import node_subnets
from mlcluster.plan.eks.warm_pools import warm_pool_config
from mlcluster.plan.model import Manifest, PlanResource, Pool
from mlcluster.plan.taints import eks_taint, startup_taints
from mlcluster.plan.values import Ref

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def node_group_resources(context: EksContext) -> list[PlanResource]:
    """Return the resources of managed pools: EFA's security group, placement groups, templates, node groups, schedules.

    Resources that wait for a node group come from other modules: tags of its Auto Scaling group, add-ons that need a
    node.
    """
    uses_efa = any(context.spec_pool(pool).network.efa for pool in context.managed)
    before = _before(context)
    return [
        *(efa_security_group_resources(context) if uses_efa else ()),
        *(made for pool in context.managed for made in _pool_resources(context, pool, before)),
    ]


def auto_scaling_group(pool: Pool) -> Ref:
    """Return the name of the Auto Scaling group that EKS makes for a pool's node group."""
    return Ref(resource_id(NODE_GROUP, pool.name), "resources[0].autoscalingGroups[0].name")


def _pool_resources(context: EksContext, pool: Pool, before: tuple[str, ...]) -> list[PlanResource]:
    return [
        *placement_group_resources(context, pool),
        launch_template(context, pool),
        _node_group(context, pool, before),
        *schedule_resources(context, pool, auto_scaling_group(pool)),
    ]


def _node_group(context: EksContext, pool: Pool, before: tuple[str, ...]) -> PlanResource:
    template = resource_id(LAUNCH_TEMPLATE, pool.name)
    inputs: Manifest = {
        "clusterName": context.name,
        "nodeGroupName": f"{context.name}-{pool.name}",
        "nodeRoleArn": node_role_arn(context),
        "subnetIds": node_subnets(context, context.zones_of(pool)),
        **_image(context, pool),
        **node_group_capacity(context, pool),
        "scalingConfig": {"minSize": pool.min_size, "maxSize": pool.max_size, "desiredSize": pool.min_size},
        "labels": dict(pool.labels),
        "taints": _taints(context, pool),
        "launchTemplate": {"id": Ref(template, "id"), "version": Ref(template, "latestVersion")},
        "updateConfig": _update(context, pool),
        "nodeRepairConfig": {"enabled": context.spec_pool(pool).repair},
        "tags": node_tags(context, pool),
    }
    if warm := warm_pool_config(context, pool):
        inputs["warmPoolConfig"] = warm
    # The autoscaler owns the number of nodes; `up` must not reset it.
    ignored = ("scalingConfig.desiredSize",)
    return resource(
        NODE_GROUP, pool.name, inputs, spec_path=pool.spec_path, needs=before, ignore=ignored, pool=pool.name
    )


def _before(context: EksContext) -> tuple[str, ...]:
    """Return the ids that nodes need to become ready: control plane, rights, outbound routes, add-ons."""
    rights = tuple(made.id for made in node_role_resources(context))
    return (cluster_id(context), *rights, *egress_dependencies(context), *node_prerequisites())


def _image(context: EksContext, pool: Pool) -> Manifest:
    """Return the AMI type and its exact release; without a release EKS uses the newest at that time."""
    release = ami_release(context, pool)
    found = {"amiType": ami_type_of(context, pool), "version": context.target.kubernetes_version}
    return found if release is None else {**found, "releaseVersion": release}


def _taints(context: EksContext, pool: Pool) -> list[Manifest]:
    """Return the pool's taints and its startup taints in the form of the EKS API."""
    return [eks_taint(taint) for taint in (*pool.taints, *startup_taints(context.spec, context.spec_pool(pool)))]


def _update(context: EksContext, pool: Pool) -> Manifest:
    """Return the update settings: unavailable nodes, and the strategy; reserved capacity has no room for a surge."""
    update = context.spec_pool(pool).update
    reserved = pool.capacity_type in {"reservation", "capacityBlock"}
    strategy = {"updateStrategy": "MINIMAL" if reserved else "DEFAULT"}
    if update.max_unavailable_percent is not None:
        return {"maxUnavailablePercentage": update.max_unavailable_percent, **strategy}
    return {"maxUnavailable": update.max_unavailable or 1, **strategy}
