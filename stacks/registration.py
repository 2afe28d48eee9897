"""Registers a plan with the Pulumi engine: one resource per object, in the order of their needs.

Every stack uses this loop, so a preview shows exactly what the offline plan showed. Resources are registered
generically: the SDK's classes send a type token and the whole object too, but take time to import.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, TypeVar

import pulumi

from mlcluster.plan.model import DefiningObject, PlanObject, PlanRelease, PlanResource
from mlcluster.plan.secrecy import secret_overrides
from stacks.readiness import Gated, Ready
from stacks.references import Find, Values, exported, sent

SDK_VERSION = "4.34.2"
"""Version of the Kubernetes provider that is asked for; the one pulumi-kubernetes is pinned to."""

NAMESPACE_TIMEOUT = "5m"
"""Deleting a namespace waits for its controllers; 6 to 50 seconds were measured for three of them."""

RELEASE_TIMEOUT_SECONDS = 900
"""Covers driver builds of a first GPU node."""

_Item = TypeVar("_Item", "Entry", PlanResource)


@dataclass(frozen=True, slots=True)
class Entry:
    """One resource to register.

    Attributes:
        id: plan id, also its Pulumi name.
        token: type token.
        inputs: as the provider takes them.
        needs: plan ids that come first.
        timeouts: how long the engine waits.
        immutable: paths of inputs that only a replacement can change; the old object is deleted first.
    """

    id: str
    token: str
    inputs: Mapping[str, Any]
    needs: tuple[str, ...]
    timeouts: pulumi.CustomTimeouts | None = None
    immutable: tuple[str, ...] = ()


def type_token(manifest: Mapping[str, Any]) -> str:
    """Return the provider's type for an object: the core group is spelled `core/v1`, every other group as it is."""
    version = manifest["apiVersion"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def object_entry(item: PlanObject, find: Find, immutable: tuple[str, ...] = ()) -> Entry:
    """Return how a Kubernetes object is registered; the contents of a Secret are encrypted in the state."""
    inputs = dict(sent(item.manifest, find))
    if inputs["kind"] == "Secret":
        inputs |= {str(key): pulumi.Output.secret(inputs[key]) for key in ("data", "stringData") if key in inputs}
    slow = inputs["kind"] == "Namespace"
    timeouts = pulumi.CustomTimeouts(delete=NAMESPACE_TIMEOUT) if slow else None
    return Entry(item.id, type_token(inputs), inputs, item.needs, timeouts, immutable)


def release_entry(item: PlanRelease, find: Find) -> Entry:
    """Return how a Helm release is registered: its name as it is, and the engine waits until it is ready."""
    inputs: dict[str, Any] = {
        "name": item.name,
        "chart": item.chart,
        "version": item.version,
        "namespace": item.namespace,
        "values": sent(item.values, find),
        "skipAwait": False,
        "timeout": RELEASE_TIMEOUT_SECONDS,
        "compat": "true",  # the SDK's Release always sends it
    }
    if secret_overrides(item):
        inputs["values"] = pulumi.Output.secret(inputs["values"])
    if item.repository:
        inputs["repositoryOpts"] = {"repo": item.repository}
    wait = f"{RELEASE_TIMEOUT_SECONDS + 60}s"  # the provider gives up first, with the better message
    timeouts = pulumi.CustomTimeouts(create=wait, update=wait, delete=wait)
    return Entry(item.id, "kubernetes:helm.sh/v3:Release", inputs, item.needs, timeouts)


def platform_entries(
    objects: Iterable[PlanObject],
    releases: Iterable[PlanRelease],
    values: Values | None = None,
    immutable: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[list[Entry], set[str]]:
    """Return the entries of a plan, and the ids of objects that a host process, the target or another stack creates.

    Args:
        objects: of the plan.
        releases: of the plan.
        values: of the references in them; None where the target has no stack of the cloud.
        immutable: object ids -> paths whose change replaces the object.

    Raises:
        ValueError: a reference is not among the values, and this is no preview.
    """
    known, values, immutable = list(releases), values or {}, immutable or {}
    find = exported(values)
    ours = [release_entry(release, find) for release in known if release.realisation == "helm"]
    elsewhere = {release.id for release in known if release.realisation != "helm"}
    others = [object_entry(item, find, immutable.get(item.id, ())) for item in objects]
    return [*ours, *others], elsewhere | values.keys()


def gated_releases(releases: Iterable[PlanRelease | DefiningObject], ready: Ready | None) -> Gated:
    """Return the releases that say what to ask before something that needs them is registered.

    A simulated release has no pods that could become ready.
    """
    asked = [item.id for item in releases if item.realisation != "simulated" and (item.crds or item.webhook_probes)]
    return Gated(ready, frozenset(asked))


def in_order(entries: Sequence[_Item], elsewhere: Collection[str] = ()) -> list[_Item]:
    """Return the entries, each after everything it needs; needs in `elsewhere` are met before the program runs.

    Raises:
        ValueError: an entry needs an id that is not registered.
        graphlib.CycleError: the needs go in a circle.
    """
    by_id = {entry.id: entry for entry in entries}
    graph = {entry.id: [need for need in entry.needs if need not in elsewhere] for entry in entries}
    for identifier, needs in graph.items():
        unknown = [need for need in needs if need not in by_id]
        if unknown:
            raise ValueError(f"{identifier} needs {', '.join(unknown)}, which the plan does not hold")
    return [by_id[identifier] for identifier in TopologicalSorter(graph).static_order()]


def register(
    entries: Sequence[Entry],
    provider: pulumi.ProviderResource,
    elsewhere: Collection[str] = (),
    gated: Gated | None = None,
) -> None:
    """Registers every entry under its plan id, so that URNs do not depend on the order of a list.

    Args:
        entries: the objects and resources to register.
        provider: of the cluster.
        elsewhere: ids of objects that another party creates.
        gated: releases that must be ready, not only installed, before the objects that need them.
    """
    gated = gated or Gated()
    made: dict[str, pulumi.Resource] = {}
    for entry in in_order(entries, elsewhere):
        options = pulumi.ResourceOptions(
            provider=provider,
            depends_on=gated.after(entry.needs, made),
            version=SDK_VERSION,
            custom_timeouts=entry.timeouts,
            replace_on_changes=[*entry.immutable],
            delete_before_replace=True if entry.immutable else None,
        )
        made[entry.id] = pulumi.CustomResource(entry.token, entry.id, dict(entry.inputs), options)


def cluster_provider(*, kubeconfig: str, context: str | None, cluster_uid: str) -> pulumi.ProviderResource:
    """Return the one provider of a stack.

    Args:
        kubeconfig: path of the file; its contents never enter the state.
        context: context of the file, None for its current one.
        cluster_uid: UID of the kube-system namespace; a changed kubeconfig alone then never replaces anything.
    """
    from pulumi_kubernetes import Provider

    return Provider(
        "kubernetes",
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster_uid,
        enable_config_map_mutable=True,  # else a changed ConfigMap is deleted and created under its fixed name
        enable_secret_mutable=True,
        enable_patch_force=True,  # else drift on a field that kubectl touched is a conflict
        kube_client_settings={"qps": 200, "burst": 400},  # the default of 50 bounds previews of a few hundred objects
    )
