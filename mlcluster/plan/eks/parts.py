"""Assembly of the parts that the `eks` target itself adds to a plan; components add their own parts."""

from dataclasses import dataclass

from mlcluster.plan.eks.access import access_objects
from mlcluster.plan.eks.addons import addon_pods, addon_resources
from mlcluster.plan.eks.context import EksContext, resource_id
from mlcluster.plan.eks.control_plane import control_plane_resources
from mlcluster.plan.eks.headroom import headroom_objects, headroom_pods
from mlcluster.plan.eks.identity import node_role_resources
from mlcluster.plan.eks.network import network_resources
from mlcluster.plan.eks.node_groups import NODE_GROUP, node_group_resources
from mlcluster.plan.eks.scaling_tags import scaling_tags_resources
from mlcluster.plan.eks.storage.objects import storage_objects
from mlcluster.plan.eks.storage.resources import storage_resources
from mlcluster.plan.eks.storage.retention import with_kept_parents
from mlcluster.plan.model import PlanObject, PlanPod, PlanResource, TeamPlan


@dataclass(frozen=True, slots=True)
class EksParts:
    """The parts that the `eks` target adds to a plan."""

    resources: tuple[PlanResource, ...]
    objects: tuple[PlanObject, ...]


def eks_parts(context: EksContext, teams: tuple[TeamPlan, ...], of_components: tuple[PlanResource, ...]) -> EksParts:
    """Return the AWS resources by id, including those of components, and the objects that need them."""
    return EksParts(
        resources=_resources(context, of_components),
        objects=(*headroom_objects(context), *access_objects(context), *storage_objects(context, teams)),
    )


def eks_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Return the pods of add-ons and headroom; the reserved amounts of `context.pools` need not include them yet."""
    return (*addon_pods(context), *headroom_pods(context))


def _resources(context: EksContext, of_components: tuple[PlanResource, ...]) -> tuple[PlanResource, ...]:
    groups = node_group_resources(context)
    # A GPU group that finds no capacity must not leave the cluster without DNS.
    homes = [pool for pool in context.managed if pool.accelerator is None] or context.managed
    group_ids = tuple(resource_id(NODE_GROUP, pool.name) for pool in homes)
    made = [
        *network_resources(context),
        *control_plane_resources(context),
        *node_role_resources(context),
        *addon_resources(context, group_ids),
        *groups,
        *scaling_tags_resources(context),
        *of_components,
        *storage_resources(context),
    ]
    return tuple(sorted(with_kept_parents(made), key=lambda entry: entry.id))
