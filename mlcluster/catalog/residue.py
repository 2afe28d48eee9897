"""Residue of a component's chart after its uninstall (`residue` in components.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlcluster.catalog.components import pins

_WORDS = {
    "crds": "crds",
    "webhooks": "webhooks",
    "apiServices": "api_services",
    "finalizers": "finalizers",
    "workloads": "workloads",
    "nodeLabelPrefixes": "node_label_prefixes",
}


@dataclass(frozen=True, slots=True)
class Residue:
    """The residue of one component. A kind has the form apiVersion/Kind.

    Attributes:
        crds: CRDs that Helm does not delete: those of a `crds/` directory, and those with `resource-policy: keep`.
        webhooks: names of webhook configurations that its controllers create.
        api_services: names of aggregated APIs that it serves.
        finalizers: finalizer that only its controller removes -> the kinds that carry it. Finalizers that protect
            resources outside the cluster are not listed: without Karpenter's finalizer, its instances keep running.
        workloads: kinds that users create and its controller deletes, owners before the objects they own.
        node_label_prefixes: prefixes of labels that it sets on nodes and does not remove.
    """

    crds: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    api_services: tuple[str, ...] = ()
    finalizers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()
    node_label_prefixes: tuple[str, ...] = ()


def residue_of(name: str) -> Residue:
    """Return the residue of the component with this name; empty for a name that the catalog does not have."""
    known = pins().get(name)
    if known is None:
        return Residue()
    unknown = known.residue.keys() - _WORDS.keys()
    if unknown:
        raise KeyError(f"{name}: unknown keys of residue: {', '.join(sorted(unknown))}")
    lists = {word: tuple(value) for word, value in known.residue.items() if word != "finalizers"}
    finalizers = {key: tuple(kinds) for key, kinds in known.residue.get("finalizers", {}).items()}
    return Residue(**{_WORDS[word]: value for word, value in lists.items()}, finalizers=finalizers)


def split_kind(kind: str) -> tuple[str, str]:
    """Return the apiVersion and kind of text such as "jobset.x-k8s.io/v1alpha2/JobSet"."""
    version, _, name = kind.rpartition("/")
    return version, name
