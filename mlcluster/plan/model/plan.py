"""The plan of a cluster, and the facts about the cluster that it is for."""

from dataclasses import dataclass, field
from typing import Literal

from mlcluster.findings import Finding
from mlcluster.plan.immutable import immutable_fields
from mlcluster.plan.model.items import (
    ComponentPlan,
    DefiningObject,
    PlanObject,
    PlanPod,
    PlanRelease,
    PlanResource,
)
from mlcluster.plan.model.nodes import Amounts, Pool
from mlcluster.plan.model.teams import CohortPlan, TeamPlan, Tier


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The name, target and versions of the cluster."""

    name: str
    target: Literal["eks", "existing", "local"]
    region: str
    kubernetes_version: str
    kubernetes_provider: Literal["official", "builtin"]
    budget_usd_per_hour: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole desired state of a cluster.

    Attributes:
        default_requests: the requests of a container of a team that has none.
        findings: findings of components; `rules.findings` adds those of the rules.
    """

    cluster: ClusterFacts
    pools: tuple[Pool, ...]
    teams: tuple[TeamPlan, ...]
    cohorts: tuple[CohortPlan, ...]
    tiers: tuple[Tier, ...]
    components: tuple[ComponentPlan, ...]
    resources: tuple[PlanResource, ...]
    releases: tuple[PlanRelease, ...]
    objects: tuple[PlanObject, ...]
    pods: tuple[PlanPod, ...]
    findings: tuple[Finding, ...] = ()
    default_requests: Amounts = field(default_factory=dict)

    @property
    def registered_releases(self) -> tuple[PlanRelease, ...]:
        """The releases that a stack registers: no processes, simulated components or existing installations."""
        return tuple(release for release in self.releases if release.realisation == "helm")

    @property
    def simulated_nodes(self) -> tuple[str, ...]:
        """The names of the simulated nodes of `local`."""
        return tuple(entry.inputs["metadata"]["name"] for entry in self.resources if entry.kind == "Node")

    @property
    def defining_objects(self) -> tuple[DefiningObject, ...]:
        """The objects for which a controller installs CRDs."""
        return tuple(
            DefiningObject(
                entry.id,
                f"{entry.manifest['kind']} {entry.manifest['metadata']['name']}",
                entry.manifest["metadata"].get("namespace", "default"),
                entry.crds,
            )
            for entry in self.objects
            if entry.crds
        )

    @property
    def immutable(self) -> dict[str, tuple[str, ...]]:
        """Object ids -> paths of the fields whose change replaces the object.

        Empty with the built-in provider, which asks the API server instead.
        """
        if self.cluster.kubernetes_provider == "builtin":
            return {}
        return {item.id: paths for item in self.objects if (paths := immutable_fields(item.manifest))}

    @property
    def registered(self) -> frozenset[str]:
        """Ids of everything that the stacks register: what the state holds after a complete `up`."""
        parts: tuple[PlanResource | PlanRelease | PlanObject, ...]
        parts = (*self.resources, *self.registered_releases, *self.objects)
        return frozenset(entry.id for entry in parts)
