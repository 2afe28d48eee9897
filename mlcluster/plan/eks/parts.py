"""Everything that the `eks` target adds to a plan, put together."""

from dataclasses import dataclass

from mlcluster.plan.eks.access import access_objects
from mlcluster.plan.eks.addons import addon_pods, addon_resources
from mlcluster.plan.eks.autoscaling import COMPONENTS
from mlcluster.plan.eks.context import EksContext, resource_id
from mlcluster.plan.eks.control_plane import control_plane_resources
from mlcluster.plan.eks.identity import node_role_resources
from mlcluster.plan.eks.network import network_resources
from mlcluster.plan.eks.node_groups import NODE_GROUP, node_group_resources
from mlcluster.plan.eks.scaling_tags import scaling_tags_resources
from mlcluster.plan.eks.storage.objects import storage_objects
from mlcluster.plan.eks.storage.resources import storage_resources
from mlcluster.plan.eks.storage.retention import with_kept_parents
from mlcluster.plan.model import ComponentPlan, PlanObject, PlanPod, PlanRelease, PlanResource, TeamPlan


@dataclass(frozen=True, slots=True)
class EksParts:
    """The parts of a plan that come with AWS."""

    resources: tuple[PlanResource, ...]
    releases: tuple[PlanRelease, ...]
    objects: tuple[PlanObject, ...]
    components: tuple[ComponentPlan, ...]


def eks_parts(context: EksContext, teams: tuple[TeamPlan, ...]) -> EksParts:
    """AWS resources by id, and the releases and objects that need them."""
    return EksParts(
        resources=_resources(context),
        releases=tuple(made for part in COMPONENTS for made in part.releases(context)),
        objects=(
            *(made for part in COMPONENTS for made in part.objects(context)),
            *access_objects(context),
            *storage_objects(context, teams),
        ),
        components=tuple(made for part in COMPONENTS for made in part.components(context)),
    )


def eks_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Pods of add-ons and components; the pools of `context` need not know yet what these take of their nodes."""
    return (*addon_pods(context), *(pod for part in COMPONENTS for pod in part.pods(context)))


def _resources(context: EksContext) -> tuple[PlanResource, ...]:
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
        *(made for part in COMPONENTS for made in part.resources(context)),
        *storage_resources(context),
    ]
    return tuple(sorted(with_kept_parents(made), key=lambda entry: entry.id))
