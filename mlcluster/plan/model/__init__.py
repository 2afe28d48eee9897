"""The plan: the whole desired state as plain frozen data.

Amounts are `Mapping[resource name, int]` in the unit that `quantities.unit` gives the name: cpu in milli-CPU, memory
and ephemeral-storage in MiB, everything else in pieces. Nothing here holds a timestamp, a tool version or an absolute
path.
"""

from mlcluster.plan.model.items import (
    ComponentPlan,
    DefiningObject,
    ItemRef,
    Manifest,
    PlanObject,
    PlanPod,
    PlanRelease,
    PlanResource,
    Realisation,
    ValuePath,
    kind_of,
)
from mlcluster.plan.model.nodes import Accelerator, Amounts, Pool, Price, Taint, Toleration
from mlcluster.plan.model.plan import ClusterFacts, Plan
from mlcluster.plan.model.teams import CohortPlan, FlavorQuota, TeamPlan, Tier

__all__ = [
    "Accelerator",
    "Amounts",
    "ClusterFacts",
    "CohortPlan",
    "ComponentPlan",
    "DefiningObject",
    "FlavorQuota",
    "ItemRef",
    "Manifest",
    "Plan",
    "PlanObject",
    "PlanPod",
    "PlanRelease",
    "PlanResource",
    "Pool",
    "Price",
    "Realisation",
    "Taint",
    "TeamPlan",
    "Tier",
    "Toleration",
    "ValuePath",
    "kind_of",
]
