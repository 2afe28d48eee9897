"""Workloads of components, which determine the shape of their pods."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlcluster.catalog.components import pin
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.releases import release_ref
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.model import ItemRef, PlanPod, Pool, Toleration
from mlcluster.plan.taints import daemon_set_tolerations
from mlcluster.quantities import parse
from mlcluster.spec.document import Loc

CLUSTER_CRITICAL, NODE_CRITICAL = "system-cluster-critical", "system-node-critical"


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload of a component, and the shape of its pods.

    Attributes:
        name: name of the Deployment, StatefulSet, DaemonSet or Job, which may be a hook of Helm.
        requests: requests of one pod, in the notation of Kubernetes, e.g. {"cpu": "100m", "memory": "128Mi"}.
        priority_class: "" for none, e.g. because the chart has no value for it.
        evidence: "rendered" if the shape comes from the rendered chart, "declared" if it comes from the chart's source.
        source: the source of the shape; `{source}` is replaced by the source in the catalog.
    """

    name: str
    requests: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["Deployment", "StatefulSet", "DaemonSet", "Job"] = "Deployment"
    replicas: int = 1
    priority_class: str = CLUSTER_CRITICAL
    evidence: Literal["rendered", "declared"] = "declared"
    source: str = "{source}"


def workload_pod(  # noqa: PLR0913 -- the placement of the pod, which a row lacks
    context: ComponentContext,
    component: str,
    workload: Workload,
    *,
    owner: ItemRef | None = None,
    namespace: str = "",
    spec_path: Loc = (),
    pool: str = "",
    tolerations: Iterable[Toleration] | None = None,
    node_selector: Mapping[str, str] | None = None,
) -> PlanPod:
    """Return the pod of a workload.

    Args:
        owner: the release or object that creates it; default: the release of the component.
        namespace: default: that of the catalog.
        spec_path: default: the place in the spec that selected the component.
        pool: the pool that the shape is for; default: none.
        tolerations: default: those of controllers.
    """
    found = pin(component)
    return PlanPod(
        owner=owner or release_ref(component),
        kind=workload.kind,
        namespace=namespace or found.namespace,
        node_selector=dict(node_selector or {}),
        tolerations=tuple(controller_tolerations(context) if tolerations is None else tolerations),
        requests={**{name: parse(name, text) for name, text in workload.requests.items()}, "pods": 1},
        priority_class=workload.priority_class,
        evidence=workload.evidence,
        source=workload.source.format(source=found.source),
        spec_path=spec_path or context.spec_path(component),
        name=workload.name,
        replicas=workload.replicas,
        pool=pool,
    )


def daemon_set_pods(  # noqa: PLR0913 -- the placement of the pods, which a row lacks
    context: ComponentContext,
    component: str,
    workload: Workload,
    pools: Iterable[Pool],
    *,
    owner: ItemRef | None = None,
    namespace: str = "",
    tolerations: Iterable[Toleration] | None = None,
) -> tuple[PlanPod, ...]:
    """Return the pods of a daemon set, one for each pool that it serves.

    Args:
        owner: as for `workload_pod`.
        namespace: as for `workload_pod`.
        tolerations: default: every taint of the pools.
    """
    pools = tuple(pools)
    tolerated = tuple(daemon_set_tolerations(context.spec, pools) if tolerations is None else tolerations)
    return tuple(
        workload_pod(
            context,
            component,
            workload,
            owner=owner,
            namespace=namespace,
            spec_path=pool.spec_path,
            pool=pool.name,
            tolerations=tolerated,
            node_selector=pool.selector,
        )
        for pool in pools
    )
