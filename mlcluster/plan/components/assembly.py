"""Assembly of the components' contributions: order, namespaces, values of the spec, mirror, simulation on `local`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mlcluster.catalog.components import pin
from mlcluster.findings import Finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution, Labels
from mlcluster.plan.components.index import COMPONENTS
from mlcluster.plan.components.mirror import mirrored_object, mirrored_release
from mlcluster.plan.components.overrides import with_overrides
from mlcluster.plan.components.releases import realisation
from mlcluster.plan.components.simulated import simulated_crds, simulated_pods
from mlcluster.plan.components.system_nodes import object_on, pods_on, release_on, sets_on, system_selector
from mlcluster.plan.model import ComponentPlan, PlanObject, PlanPod, PlanRelease, PlanResource, Pool
from mlcluster.plan.network import Caller
from mlcluster.plan.objects import make, object_id

Contributions = Mapping[str, Contribution]

_FIRST = ("cluster-autoscaler", "karpenter")
"""Components that start nodes: every other component may need a node, and is deleted before them."""

_WORKLOADS = frozenset({"DaemonSet", "Deployment"})
_SYSTEM_NAMESPACES = frozenset({"default", "kube-system"})


@dataclass(frozen=True, slots=True)
class ComponentParts:
    """The parts of a plan that components add."""

    releases: tuple[PlanRelease, ...]
    objects: tuple[PlanObject, ...]
    resources: tuple[PlanResource, ...]
    pods: tuple[PlanPod, ...]
    components: tuple[ComponentPlan, ...]
    findings: tuple[Finding, ...]
    callers: tuple[Caller, ...]


def contributions(context: ComponentContext) -> Contributions:
    """Return the contribution of every component of the plan, by name, in the order of the catalog."""
    return {name: _attributed(name, COMPONENTS[name].contribute(context)) for name in context.selected}


def _attributed(component: str, made: Contribution) -> Contribution:
    """Return a contribution whose items name the component."""
    return replace(
        made,
        releases=tuple(replace(entry, component=component) for entry in made.releases),
        objects=tuple(replace(entry, component=component) for entry in made.objects),
        resources=tuple(replace(entry, component=component) for entry in made.resources),
        pods=tuple(replace(pod, component=component) for pod in made.pods),
    )


def labelled(pools: Iterable[Pool], made: Contributions) -> tuple[Pool, ...]:
    """Return the pools with the labels that components put on their nodes."""
    return tuple(
        replace(pool, labels={**pool.labels, **_merged(one.node_labels.get(pool.name, {}) for one in made.values())})
        for pool in pools
    )


def component_parts(context: ComponentContext) -> ComponentParts:
    """Return everything that components add to the plan."""
    made = contributions(context)
    releases, findings = _releases(context, made)
    objects = [
        *_namespaces(context, made, releases),
        *(entry for name in made for entry in _objects(context, name, made)),
    ]
    objects = _without_foreign_namespaces(objects, releases)
    pods = pods_on(_selector(context), (pod for one in made.values() for pod in one.pods))
    stand_ins: dict[str, list[PlanObject]] = {}
    if context.target == "local":
        stand_ins = simulated_pods(context.cluster, pods, releases)
        objects = [
            *_with_crds(context.cluster, objects, releases),
            *(entry for entries in stand_ins.values() for entry in entries),
        ]
    objects = [object_on(_selector(context), entry) for entry in objects]
    registry = context.spec.components.registry
    if registry:
        objects = [mirrored_object(entry, registry) for entry in objects]
    return ComponentParts(
        releases=releases,
        objects=tuple(objects),
        resources=tuple(entry for one in made.values() for entry in one.resources),
        pods=pods,
        components=tuple(_listed(context, name, one, stand_ins) for name, one in made.items()),
        findings=(*findings, *(finding for one in made.values() for finding in one.findings)),
        callers=tuple(caller for one in made.values() for caller in one.callers),
    )


def _selector(context: ComponentContext) -> Labels:
    return system_selector(context.pools, on_existing=context.target == "existing")


def _releases(context: ComponentContext, made: Contributions) -> tuple[tuple[PlanRelease, ...], list[Finding]]:
    registry, done, findings = context.spec.components.registry, [], []
    selector = _selector(context)
    for name, one in made.items():
        before, settings = _before(context, name, made), context.settings(name)
        for release in one.releases:
            home = (object_id("Namespace", release.namespace),) if _is_made(release) else ()
            final = replace(release, needs=tuple(dict.fromkeys((*home, *before, *release.needs))))
            final = release_on(selector, final)
            if settings is not None and settings.values and release.chart == pin(name).chart:
                path = ("components", COMPONENTS[name].key, "values")
                final, refused = with_overrides(final, settings.values, path, sets_on(selector, pin(name).sets))
                findings += refused
            if registry and final.realisation in {"helm", "simulated"}:
                final = mirrored_release(final, registry)
            done.append(final)
    return tuple(done), findings


def _objects(context: ComponentContext, name: str, made: Contributions) -> Iterator[PlanObject]:
    """Yield the objects of a component; without a release, its workloads need what the release would need."""
    before = [] if made[name].releases else _before(context, name, made)
    for entry in made[name].objects:
        waits = entry.manifest["kind"] in _WORKLOADS
        yield replace(entry, needs=tuple(dict.fromkeys((*entry.needs, *before)))) if waits and before else entry


def _before(context: ComponentContext, name: str, made: Contributions) -> list[str]:
    """Return the ids that a component comes after: releases of others, or their workloads without a release."""
    entry = COMPONENTS[name]
    first = () if name in _FIRST else _FIRST
    wanted = {*first, *entry.after, *entry.required(context.spec)}
    others = [other for other in made if other != name and other in wanted]
    return [identifier for other in others for identifier in _anchors(made[other])]


def _anchors(one: Contribution) -> list[str]:
    if one.releases:
        return [release.id for release in one.releases]
    return [entry.id for entry in one.objects if entry.manifest["kind"] in _WORKLOADS]


def _is_made(release: PlanRelease) -> bool:
    """Return whether mlcluster makes the namespace of the release."""
    return release.realisation in {"helm", "simulated"} and release.namespace not in _SYSTEM_NAMESPACES


def _namespaces(context: ComponentContext, made: Contributions, releases: tuple[PlanRelease, ...]) -> list[PlanObject]:
    paths = {release.namespace: release.spec_path for release in reversed(releases) if _is_made(release)}
    for name, one in made.items():
        for namespace in one.namespaces:
            if realisation(context, name) in {"helm", "simulated"}:
                paths.setdefault(namespace, context.spec_path(name))
    return [
        make(
            context.cluster,
            "v1",
            "Namespace",
            namespace,
            {},
            labels=dict(_merged(one.namespaces.get(namespace, {}) for one in made.values())),
            spec_path=path,
        )
        for namespace, path in sorted(paths.items())
        if namespace not in _SYSTEM_NAMESPACES
    ]


def _without_foreign_namespaces(objects: list[PlanObject], releases: tuple[PlanRelease, ...]) -> list[PlanObject]:
    """Return the objects without needs of unmanaged namespaces, e.g. of an existing installation."""
    foreign = {object_id("Namespace", name) for name in _SYSTEM_NAMESPACES}
    foreign |= {object_id("Namespace", release.namespace) for release in releases if not _is_made(release)}
    foreign -= {entry.id for entry in objects}
    return [replace(entry, needs=tuple(need for need in entry.needs if need not in foreign)) for entry in objects]


def _with_crds(cluster: str, objects: list[PlanObject], releases: tuple[PlanRelease, ...]) -> list[PlanObject]:
    """Return the objects with the simulated CRDs of custom resources, each resource after its CRD."""
    crds = simulated_crds(cluster, objects, releases)
    kinds = {(entry.manifest["spec"]["group"], entry.manifest["spec"]["names"]["kind"]): entry.id for entry in crds}

    def after_its_crd(entry: PlanObject) -> PlanObject:
        crd = kinds.get((entry.manifest["apiVersion"].rpartition("/")[0], entry.manifest["kind"]))
        return replace(entry, needs=(*entry.needs, crd)) if crd else entry

    return [*crds, *map(after_its_crd, objects)]


def _listed(
    context: ComponentContext, name: str, made: Contribution, stand_ins: Mapping[str, list[PlanObject]]
) -> ComponentPlan:
    settings = context.settings(name)
    version = (settings.version if settings else None) or pin(name).version
    releases = tuple(release.id for release in made.releases)
    objects = [*made.objects, *(entry for release in releases for entry in stand_ins.get(release, []))]
    ids = tuple(entry.id for entry in objects)
    return ComponentPlan(name, version, realisation(context, name), context.spec_path(name), releases, ids)


def _merged(parts: Iterable[Labels]) -> Labels:
    return {key: value for part in parts for key, value in part.items()}
