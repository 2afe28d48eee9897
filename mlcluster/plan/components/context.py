"""The context of a component: the spec, the pools, and the other components of the plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlcluster.catalog.components import pin
from mlcluster.plan.model import CohortPlan, Pool, TeamPlan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.document import Loc
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.pools import NodePool

if TYPE_CHECKING:
    from mlcluster.plan.eks.context import EksContext


@dataclass(frozen=True, slots=True)
class ComponentContext:
    """One cluster, as an input of its components.

    Attributes:
        pools: the pools with their facts; the requests of daemon sets, `teams` and `cohorts` are available only in the
            second pass over the components.
        selected: every component of the plan -> the place in the spec that selects it.
    """

    spec: ClusterSpec
    pools: tuple[Pool, ...]
    selected: Mapping[str, Loc]
    teams: tuple[TeamPlan, ...] = ()
    cohorts: tuple[CohortPlan, ...] = ()

    @property
    def cluster(self) -> str:
        """The name of the cluster, for the ownership labels."""
        return self.spec.metadata.name

    @property
    def target(self) -> str:
        """The kind of the target: eks, existing or local."""
        return self.spec.target.kind

    @property
    def gpu_pools(self) -> tuple[Pool, ...]:
        """The pools whose nodes have accelerators."""
        return tuple(pool for pool in self.pools if pool.accelerator is not None)

    def has(self, component: str) -> bool:
        """Return whether the plan has a component, managed or as an existing installation."""
        return component in self.selected

    def spec_path(self, component: str) -> Loc:
        """Return the place in the spec that selects a component."""
        return self.selected[component]

    def settings(self, component: str) -> ChartComponent | None:
        """Return the spec's entry of a component; None without one."""
        field = pin(component).field
        found: ChartComponent | None = getattr(self.spec.components, field) if field else None
        return found

    def version(self, component: str) -> str:
        """Return the version of a component: that of the spec, else the pin of the catalog."""
        settings = self.settings(component)
        return (settings.version if settings is not None else None) or pin(component).version

    def image_tag(self, component: str) -> str:
        """Return the tag of images that have the component's version: v1.2.3."""
        return f"v{self.version(component).removeprefix('v')}"

    def spec_pool(self, pool: Pool) -> NodePool:
        """Return the spec's entry of a pool."""
        return self.spec.pool(pool.name).entry

    def eks(self) -> "EksContext":
        """Return the context of the eks plan; only `eks` loads its modules, so that other targets start faster.

        Raises:
            TypeError: the target is not `eks`.
        """
        from mlcluster.plan.eks.context import EksContext

        if not isinstance(self.spec.target, EksTarget):
            raise TypeError(f"{self.cluster} is not on eks")
        return EksContext(self.spec, self.spec.target, self.pools)
