"""Releases of components, and the form of installation of each component on a target."""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import ItemRef, Manifest, PlanRelease, Realisation

LOCAL_PROCESSES = frozenset({"jobset", "kubeflow-trainer", "kuberay-operator", "kueue", "mpi-operator"})
"""Components whose controllers are real processes on the lab (`lab/`); all other components are simulated."""


def release_ref(name: str) -> ItemRef:
    """Return the reference to a Helm release."""
    return ItemRef("Release", name)


def release_id(name: str) -> str:
    """Return the id of a Helm release."""
    return release_ref(name).id


def realisation(context: ComponentContext, component: str) -> Realisation:
    """Return the form in which a component is installed on this target."""
    settings = context.settings(component)
    if context.target == "local" and component in LOCAL_PROCESSES:
        return "process"
    if settings is not None and not settings.install:
        return "present"
    return "simulated" if context.target == "local" else "helm"


def is_installed(context: ComponentContext, component: str) -> bool:
    """Return whether mlcluster installs a component as pods of the cluster, which the lab simulates."""
    return realisation(context, component) in {"helm", "simulated"}


def chart_release(  # noqa: PLR0913 -- the parts of a release
    context: ComponentContext,
    component: str,
    values: Manifest,
    *,
    chart: str = "",
    name: str = "",
    namespace: str = "",
    needs: tuple[str, ...] = (),
    crds: tuple[str, ...] = (),
    webhook_probes: tuple[Manifest, ...] = (),
) -> PlanRelease:
    """Return the release of a component, at the version of the spec or of the catalog.

    Args:
        chart: name of another pin in the catalog; default: the component's own.
        name: name of the release; default: the name of the pin.
        namespace: namespace of the release; default: that of the catalog.
        needs: ids that the release needs beside other components.
        crds: names of its CRDs.
        webhook_probes: objects that its webhooks validate.
    """
    found = pin(chart or component)
    return PlanRelease(
        id=release_id(name or found.name),
        name=name or found.name,
        chart=found.chart,
        version=found.version if chart else context.version(component),
        repository=found.repository,
        namespace=namespace or found.namespace,
        values=values,
        needs=needs,
        realisation=realisation(context, component),
        spec_path=context.spec_path(component),
        crds=crds,
        webhook_probes=webhook_probes,
    )
