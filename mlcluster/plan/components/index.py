"""The components of mlcluster, their selection by a spec, and their order.

The catalog is the list: it names the field of the spec that selects a component, the components that it requires, and
those that it comes after. The module of a component has the name of the field. This module adds only the conditions
that depend on more than the field.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic.alias_generators import to_camel

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.model import Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from mlcluster.spec.gpu_duties import operator_wanted
from mlcluster.spec.secondary_networks import networks, readiness_wanted

Selector = Callable[[ClusterSpec, tuple[Pool, ...]], Loc]
"""A function that returns the place in the spec that selects a component, or () if no place does."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One component.

    Attributes:
        module: name of its module in this package; it is loaded only if the component is selected.
        field: its field of the spec's `components`; "" if another part of the spec selects it.
        selector: the selector of the component beside its field.
        requires: components that are installed with it.
        requires_too: further such components, which depend on the spec.
        after: components that come before it if the plan has them.
    """

    module: str
    field: str
    selector: Selector | None = None
    requires: tuple[str, ...] = ()
    requires_too: Callable[[ClusterSpec], tuple[str, ...]] | None = None
    after: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key under `components` in the spec, e.g. gpuOperator."""
        return to_camel(self.field)

    def selected_by(self, spec: ClusterSpec, pools: tuple[Pool, ...]) -> Loc:
        """Return the place in the spec that selects the component, or () if no place does."""
        if self.field and getattr(spec.components, self.field) is not None:
            return ("components", self.key)
        return self.selector(spec, pools) if self.selector else ()

    def required(self, spec: ClusterSpec) -> tuple[str, ...]:
        """Return the components that are installed with it."""
        return (*self.requires, *(self.requires_too(spec) if self.requires_too else ()))

    def contribute(self, context: ComponentContext) -> Contribution:
        """Return what the component adds to the plan."""
        module = importlib.import_module(f"mlcluster.plan.components.{self.module}")
        return cast("Contribution", module.contribute(context))


def _gpu_operator(spec: ClusterSpec, pools: tuple[Pool, ...]) -> Loc:
    """Return the first pool with GPUs: on `eks` they get the operator, unless the spec has the device plugin alone."""
    return next((pool.spec_path for pool in pools if operator_wanted(spec) and pool.accelerator is not None), ())


def _efa_device_plugin(spec: ClusterSpec, pools: tuple[Pool, ...]) -> Loc:
    """Return the first pool with EFA on `eks`."""
    if spec.target.kind != "eks":
        return ()
    return next(((*pool.spec_path, "network", "efa") for pool in pools if EFA_RESOURCE in pool.allocatable), ())


def _secondary_network(kind: str) -> Selector:
    """Return the selector of a component that secondary networks need.

    Args:
        kind: the type of the addresses or of the network that needs the component.
    """

    def selector(spec: ClusterSpec, _: tuple[Pool, ...]) -> Loc:
        return next(
            (
                ("components", "multus", "networks", index)
                for index, network in enumerate(networks(spec))
                if kind in {network.type.removeprefix("ib-"), network.ipam.type if network.ipam else ""}
            ),
            (),
        )

    return selector


def _node_readiness(spec: ClusterSpec, _: tuple[Pool, ...]) -> Loc:
    """Return the secondary networks, if nodes wait for them."""
    return ("components", "multus", "networks") if readiness_wanted(spec) else ()


def _autoscaler(name: str) -> Selector:
    """Return the selector of an autoscaler of `eks`."""

    def selector(spec: ClusterSpec, _: tuple[Pool, ...]) -> Loc:
        return ("target", "autoscaler") if spec.target.kind == "eks" and spec.target.autoscaler == name else ()

    return selector


_SELECTORS: Mapping[str, Selector] = {
    "cluster-autoscaler": _autoscaler("clusterAutoscaler"),
    "karpenter": _autoscaler("karpenter"),
    "node-readiness-controller": _node_readiness,
    "gpu-operator": _gpu_operator,
    "sriov-network-device-plugin": _secondary_network("sriov"),
    "whereabouts": _secondary_network("whereabouts"),
    "aws-efa-k8s-device-plugin": _efa_device_plugin,
}


def _kserve_requires(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the gateway, if models are reached from outside the cluster."""
    kserve = spec.components.kserve
    return ("envoy-gateway",) if kserve and kserve.ingress else ()


def _entry(pin: ComponentPin, others: tuple[str, ...]) -> Entry:
    return Entry(
        module=pin.field or pin.name.replace("-", "_"),
        field=pin.field,
        selector=_SELECTORS.get(pin.name),
        requires=pin.requires,
        requires_too=_kserve_requires if pin.name == "kserve" else None,
        # Kueue is last: until its webhook is ready, the API server rejects pods in the namespaces that Kueue manages.
        after=others if pin.name == "kueue" else pin.after,
    )


def _entries() -> dict[str, Entry]:
    found = {name: pin for name, pin in pins().items() if not pin.chart_of}
    return {name: _entry(pin, tuple(other for other in found if other != name)) for name, pin in found.items()}


COMPONENTS: Mapping[str, Entry] = _entries()
"""Every component by its name in the catalog, and in its order."""


def selected(spec: ClusterSpec, pools: tuple[Pool, ...]) -> dict[str, Loc]:
    """Return every component of the plan, including required components -> the place in the spec that selects it."""
    found = {name: path for name, entry in COMPONENTS.items() if (path := entry.selected_by(spec, pools))}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for required in COMPONENTS[name].required(spec):
            if required not in found:
                found[required] = found[name]
                waiting.append(required)
    return {name: found[name] for name in COMPONENTS if name in found}
