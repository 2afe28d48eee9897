"""Residue of a component's chart after its uninstall: what is left, or blocks (`leaves` in components.json)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlcluster.catalog.components import pins

_WORDS = {
    "definitions": "definitions",
    "webhooks": "webhooks",
    "apiServices": "api_services",
    "finalizers": "finalizers",
    "workloads": "workloads",
    "nodeLabelPrefixes": "node_label_prefixes",
}


@dataclass(frozen=True, slots=True)
class Leaves:
    """The facts of one component. A kind is written as apiVersion/Kind.

    Attributes:
        definitions: custom resource definitions that Helm does not delete: of a `crds/` folder, or kept on purpose.
        webhooks: names of webhook configurations that its programs make themselves.
        api_services: names of aggregated APIs that it serves.
        finalizers: finalizer that only its controller takes off -> the kinds that carry it. Those that stand for
            something outside of the cluster are not here: taken off by hand, Karpenter's would leave instances running.
        workloads: kinds that users make and its controller ends, owners before what they own.
        node_label_prefixes: of labels that it puts on nodes and leaves there.
    """

    definitions: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    api_services: tuple[str, ...] = ()
    finalizers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()
    node_label_prefixes: tuple[str, ...] = ()


def leaves_of(name: str) -> Leaves:
    """The facts of the component whose pin, and whose release, is called so; none for one that nobody knows."""
    known = pins().get(name)
    if known is None:
        return Leaves()
    unknown = known.leaves.keys() - _WORDS.keys()
    if unknown:
        raise KeyError(f"{name}: leaves has {', '.join(sorted(unknown))}, which nothing reads")
    lists = {word: tuple(value) for word, value in known.leaves.items() if word != "finalizers"}
    finalizers = {key: tuple(kinds) for key, kinds in known.leaves.get("finalizers", {}).items()}
    return Leaves(**{_WORDS[word]: value for word, value in lists.items()}, finalizers=finalizers)


def split_kind(kind: str) -> tuple[str, str]:
    """The apiVersion and kind of "jobset.x-k8s.io/v1alpha2/JobSet"."""
    version, _, name = kind.rpartition("/")
    return version, name
