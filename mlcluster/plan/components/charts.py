"""Releases and pods of components: what every one of them has in common."""

from collections.abc import Iterable, Mapping
from typing import Literal

from mlcluster.catalog.components import pin
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease, Pool, Realisation, Toleration
from mlcluster.plan.quantities import parse
from mlcluster.plan.taints import daemon_set_tolerations

LOCAL_PROCESSES = frozenset({"jobset", "kubeflow-trainer", "kuberay-operator", "kueue", "mpi-operator"})
"""Components whose controllers are real programs on the lab (`lab/`); of all others only the pods are simulated."""

Evidence = Literal["rendered", "declared"]


def release_id(name: str) -> str:
    """The id of a Helm release."""
    return f"Release/{name}"


def realisation(context: ComponentContext, component: str) -> Realisation:
    """How a component comes to be on this target."""
    settings = context.settings(component)
    if context.target == "local" and component in LOCAL_PROCESSES:
        return "process"
    if settings is not None and not settings.install:
        return "present"
    return "simulated" if context.target == "local" else "helm"


def chart_release(  # noqa: PLR0913 -- the parts of a release
    context: ComponentContext,
    component: str,
    values: Manifest,
    *,
    chart: str = "",
    name: str = "",
    namespace: str = "",
    needs: tuple[str, ...] = (),
    definitions: tuple[str, ...] = (),
    answers: tuple[Manifest, ...] = (),
) -> PlanRelease:
    """The release of a component, at the catalogue's version or the spec's.

    Args:
        chart: its pin in the catalogue; default: the component's own.
        name: of the release; default: the name of the pin.
        namespace: default: the catalogue's.
        needs: what goes first beside other components.
    """
    found, settings = pin(chart or component), context.settings(component)
    given = settings.version if settings is not None and not chart else None
    return PlanRelease(
        id=release_id(name or found.name),
        name=name or found.name,
        chart=found.chart,
        version=given or found.version,
        repository=found.repository,
        namespace=namespace or found.namespace,
        values=values,
        needs=needs,
        realisation=realisation(context, component),
        spec_path=context.spec_path(component),
        definitions=definitions,
        answers=answers,
    )


def daemon_set_pods(  # noqa: PLR0913 -- the shape of a pod
    context: ComponentContext,
    owner: str,
    name: str,
    pools: Iterable[Pool],
    requests: Mapping[str, str],
    *,
    namespace: str,
    source: str,
    evidence: Evidence = "declared",
    tolerations: Iterable[Toleration] | None = None,
    priority_class: str = "system-node-critical",
) -> tuple[PlanPod, ...]:
    """The pod of a daemon set on the nodes of each pool that it serves.

    Args:
        owner: id of the release or the object that makes it.
        name: of the daemon set.
        requests: quantities as Kubernetes spells them, e.g. {"cpu": "100m", "memory": "128Mi"}.
        source: where the shape was read.
        tolerations: default: every taint of the pools.
    """
    pools = tuple(pools)
    tolerated = tuple(daemon_set_tolerations(context.spec, pools) if tolerations is None else tolerations)
    return tuple(
        PlanPod(
            owner=owner,
            kind="DaemonSet",
            namespace=namespace,
            node_selector=pool.selector,
            tolerations=tolerated,
            requests=_amounts(requests),
            priority_class=priority_class,
            evidence=evidence,
            source=source,
            spec_path=pool.spec_path,
            name=name,
        )
        for pool in pools
    )


def deployment_pod(  # noqa: PLR0913 -- the shape of a pod
    context: ComponentContext,
    owner: str,
    name: str,
    requests: Mapping[str, str],
    *,
    namespace: str,
    source: str,
    spec_path: str,
    evidence: Evidence = "declared",
    tolerations: Iterable[Toleration] | None = None,
    priority_class: str = "system-cluster-critical",
    replicas: int = 1,
    apart: bool = False,
    kind: Literal["Deployment", "StatefulSet", "Job"] = "Deployment",
    node_selector: Mapping[str, str] | None = None,
) -> PlanPod:
    """The pod of a controller; arguments as for `daemon_set_pods`, tolerations by default what the system pool has."""
    return PlanPod(
        owner=owner,
        kind=kind,
        namespace=namespace,
        node_selector=dict(node_selector or {}),
        tolerations=tuple(controller_tolerations(context) if tolerations is None else tolerations),
        requests=_amounts(requests),
        priority_class=priority_class,
        evidence=evidence,
        source=source,
        spec_path=spec_path,
        name=name,
        replicas=replicas,
        apart=apart,
    )


def controller_pod(  # noqa: PLR0913 -- the shape of a pod
    context: ComponentContext,
    component: str,
    name: str,
    requests: Mapping[str, str],
    *,
    source: str = "",
    spec_path: str = "",
    evidence: Evidence = "declared",
    priority_class: str = "system-cluster-critical",
    replicas: int = 1,
    kind: Literal["Deployment", "Job"] = "Deployment",
) -> PlanPod:
    """The pod of a controller, or of a hook job, in the namespace of its component's own chart.

    Args:
        name: of the Deployment or Job.
        source: default: that of the catalogue.
        spec_path: default: the place that brought the component.
    """
    found = pin(component)
    return deployment_pod(
        context,
        release_id(component),
        name,
        requests,
        namespace=found.namespace,
        source=source or found.source,
        spec_path=spec_path or context.spec_path(component),
        evidence=evidence,
        priority_class=priority_class,
        replicas=replicas,
        kind=kind,
    )


def _amounts(requests: Mapping[str, str]) -> dict[str, int]:
    return {**{name: parse(name, text) for name, text in requests.items()}, "pods": 1}
