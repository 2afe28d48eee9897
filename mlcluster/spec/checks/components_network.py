"""Components of fast networks: one owner for each duty, and nothing asked for that no node has."""

import re
from collections.abc import Iterator, Mapping

from mlcluster.spec.checks.secondary_networks import secondary_network_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known, known_values
from mlcluster.spec.pools import NodePool
from mlcluster.spec.secondary import RDMA_PREFIX, rdma_of
from mlcluster.spec.suggestions import did_you_mean, listed

_PLUGIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""What both device plugins take for a resource (resources_manager.go of each: validResourceName)."""

_HERE: Loc = ("components",)
WITHOUT_CHARTS = {
    "rdmaDevicePlugin": "rdma_device_plugin",
    "sriovDevicePlugin": "sriov_device_plugin",
    "multus": "multus",
    "whereabouts": "whereabouts",
    "mpiOperator": "mpi_operator",
    "nodeProblemDetector": "node_problem_detector",
}
"""Components that are manifests of mlcluster, by key, with their fields: no chart takes their values."""


def components_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Plugins without anything to announce, names that they do not take, two owners of a duty."""
    yield from _rdma(spec)
    yield from _sriov(spec)
    yield from _efa(spec)
    yield from _operator(spec)
    yield from _values_of_nothing(spec)
    yield from _detector(spec)
    yield from as_far_as_known(secondary_network_problems)(spec)


@as_far_as_known
def _rdma(spec: ClusterSpec) -> Iterator[Problem]:
    plugin, here = spec.components.rdma_device_plugin, (*_HERE, "rdmaDevicePlugin")
    announced = plugin is not None or spec.components.network_operator is not None
    if announced:
        for index, names in known_values(spec.node_pools, rdma_of):
            yield from _names(("nodePools", index, "network", "rdma"), names, "RDMA")
    if plugin is None:
        return
    known = list(dict.fromkeys(name for pool in spec.node_pools for name in rdma_of(pool)))
    if not known and spec.components.network_operator is None:
        message = f"no pool offers a resource that begins with {RDMA_PREFIX}: there is nothing to announce"
        yield Problem(here, message, "nodePools[].network: {rdma: {rdma/hca: 8}} on the pools that have it", key=True)
    yield from _unknown((*here, "resources"), plugin.resources, known, "network.rdma")


@as_far_as_known
def _sriov(spec: ClusterSpec) -> Iterator[Problem]:
    for index, pool in enumerate(spec.node_pools):
        loc: Loc = ("nodePools", index, "network", "sriov")
        yield from _sriov_names(loc, pool)
        yield from _twice(loc, pool)
        yield from _sriov_on_eks(loc, spec, pool)
    plugin, here = spec.components.sriov_device_plugin, (*_HERE, "sriovDevicePlugin")
    if plugin is None:
        return
    known = list(dict.fromkeys(name for pool in spec.node_pools for name in pool.network.sriov))
    if not known and spec.components.network_operator is None:
        message = "no pool offers virtual functions: there is nothing to announce"
        hint = "nodePools[].network: {sriov: {nvidia.com/mlnx_vf: 8}} on the pools that have them"
        yield Problem(here, message, hint, key=True)
    yield from _unknown((*here, "resources"), plugin.resources, known, "network.sriov")


@as_far_as_known
def _sriov_names(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    yield from _names(loc, pool.network.sriov, "SR-IOV")


@as_far_as_known
def _sriov_on_eks(loc: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.sriov if spec.target.kind == "eks" else ():
        message = f"nothing on EKS offers {name}: pods would start nodes and wait for ever"
        yield Problem((*loc, name), message, "use network.efa: true, on a type that has EFA", key=True)


def _names(loc: Loc, names: dict[str, int], which: str) -> Iterator[Problem]:
    for name in names:
        short = name.rpartition("/")[2]
        if not _PLUGIN_NAME.fullmatch(short):
            message = f"the {which} device plugin takes letters, digits and underscores after the slash, not {short}"
            meant = re.sub(r"[^A-Za-z0-9_]", "_", short)
            yield Problem((*loc, name), message, f"did you mean {name.rpartition('/')[0]}/{meant}?", key=True)


@as_far_as_known
def _twice(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.sriov:
        if name in pool.network.rdma:
            yield Problem(
                (*loc, name), f"{name} is under network.rdma too", "one plugin announces it: keep one", key=True
            )


@as_far_as_known
def _unknown(loc: Loc, given: Mapping[str, object], known: list[str], where: str) -> Iterator[Problem]:
    for name in given:
        if name not in known:
            otherwise = f"pools offer {listed(known)}" if known else f"nodePools[].{where} says what nodes offer"
            yield Problem(
                (*loc, name), f"no pool offers {name}", did_you_mean(name, known, otherwise=otherwise), key=True
            )


@as_far_as_known
def _efa(spec: ClusterSpec) -> Iterator[Problem]:
    plugin, here = spec.components.efa_device_plugin, (*_HERE, "efaDevicePlugin")
    if plugin is None:
        return
    if spec.target.kind != "eks":
        message = f"EFA is a network of EC2; on target {spec.target.kind} mlcluster installs no plugin for it"
        yield Problem(here, message, "remove it", key=True)
    elif not any(pool.network.efa for pool in spec.node_pools):
        message = "no pool has EFA: there is nothing to announce"
        yield Problem(here, message, "network: {efa: true} on a pool whose type has it, or remove this", key=True)


@as_far_as_known
def _operator(spec: ClusterSpec) -> Iterator[Problem]:
    operator, here = spec.components.network_operator, (*_HERE, "networkOperator")
    if operator is None:
        return
    if spec.target.kind == "eks":
        message = "no network card of EC2 is NVIDIA's: nothing that the operator brings would ever start"
        yield Problem(here, message, "remove it; EFA has a plugin of its own", key=True)
    for key, what, component, part in _standalone(spec):
        said = component.model_fields_set
        if component.install and (part not in said or said & {"install", "version"}):
            message = f"networkOperator runs {what} itself: two owners would undo each other"
            yield Problem((*_HERE, key), message, f"remove it, or keep only {part}, which the operator takes", key=True)
        elif operator.install and not component.install:
            message = f"networkOperator would run {what} beside the one that is there already"
            yield Problem((*_HERE, key, "install"), message, "keep one: leave out networkOperator, or this")
    yield from _one_configuration(spec)


def _standalone(spec: ClusterSpec) -> Iterator[tuple[str, str, ChartComponent, str]]:
    """Components whose duty the operator takes, and the one thing that may be said of them all the same."""
    found: tuple[tuple[str, str, ChartComponent | None, str], ...] = (
        ("rdmaDevicePlugin", "the RDMA device plugin", spec.components.rdma_device_plugin, "resources"),
        ("sriovDevicePlugin", "the SR-IOV device plugin", spec.components.sriov_device_plugin, "resources"),
        ("multus", "Multus", spec.components.multus, "networks"),
    )
    for key, what, component, part in found:
        if component is not None:
            yield key, what, component, part


@as_far_as_known
def _one_configuration(spec: ClusterSpec) -> Iterator[Problem]:
    """Of the operator there is one configuration for every node, and it says how many pods share a device."""
    first: dict[str, tuple[str, int]] = {}
    for index, pool in enumerate(spec.node_pools):
        for name, count in rdma_of(pool).items():
            other, there = first.setdefault(name, (pool.name, count))
            if there != count:
                loc: Loc = ("nodePools", index, "network", "rdma", name)
                message = f"the network operator has one number for all nodes, and {name} is {there} in pool {other}"
                yield Problem(loc, message, f"write {there}, or use rdmaDevicePlugin instead of networkOperator")


def _values_of_nothing(spec: ClusterSpec) -> Iterator[Problem]:
    for key, field in WITHOUT_CHARTS.items():
        yield from _values_of(spec, key, field)


@as_far_as_known
def _values_of(spec: ClusterSpec, key: str, field: str) -> Iterator[Problem]:
    component: ChartComponent | None = getattr(spec.components, field)
    if component is not None and component.values:
        message = f"{key} comes without a chart: mlcluster writes its objects"
        yield Problem((*_HERE, key, "values"), message, "remove it", key=True)


@as_far_as_known
def _detector(spec: ClusterSpec) -> Iterator[Problem]:
    detector = spec.components.node_problem_detector
    if detector is not None and not detector.install:
        message = "the checks are mlcluster's own, and a detector that is there already does not have them"
        hint = "remove install: a second one does no harm"
        yield Problem((*_HERE, "nodeProblemDetector", "install"), message, hint)
