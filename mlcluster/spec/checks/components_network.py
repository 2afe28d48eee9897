"""Checks of the network components: one provider for each resource, and resources that the nodes have."""

import re
from collections.abc import Iterator, Mapping

from mlcluster.spec.checks.secondary_networks import secondary_network_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.secondary_networks import RDMA_PREFIX, offered_names, rdma_of, sriov_of
from mlcluster.spec.suggestions import did_you_mean, listed

_PLUGIN_NAME = re.compile(r"[A-Za-z0-9_]+")
"""Valid resource names of both device plugins (resources_manager.go of each: validResourceName)."""

_HERE: Loc = ("components",)
WITHOUT_CHARTS = {
    "rdmaDevicePlugin": "rdma_device_plugin",
    "sriovDevicePlugin": "sriov_device_plugin",
    "multus": "multus",
    "whereabouts": "whereabouts",
    "mpiOperator": "mpi_operator",
    "nodeProblemDetector": "node_problem_detector",
}
"""The components without a chart, by key, with their attributes. mlcluster has the manifests itself."""


def components_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for device plugins without resources, invalid resource names, and several providers."""
    yield from _rdma(spec)
    yield from _sriov(spec)
    yield from _efa(spec)
    yield from _operator(spec)
    yield from _values_without_chart(spec)
    yield from _detector(spec)
    yield from stop_at_unknown_value(secondary_network_problems)(spec)


@stop_at_unknown_value
def _rdma(spec: ClusterSpec) -> Iterator[Problem]:
    plugin, here = spec.components.rdma_device_plugin, (*_HERE, "rdmaDevicePlugin")
    announced = plugin is not None or spec.components.network_operator is not None
    if announced:
        for index, names in known_values(spec.node_pools, rdma_of):
            yield from _names(("nodePools", index, "network", "rdma"), names, "RDMA")
    if plugin is None:
        return
    known = offered_names(spec, rdma_of)
    if not known and spec.components.network_operator is None:
        message = f"no pool offers a resource with the prefix {RDMA_PREFIX}"
        yield Problem(here, message, "Set `network: {rdma: {rdma/hca: 8}}` on the pools with RDMA devices", key=True)
    yield from _unknown_resources((*here, "resources"), plugin.resources, known, "network.rdma")


@stop_at_unknown_value
def _sriov(spec: ClusterSpec) -> Iterator[Problem]:
    for index, pool in enumerate(spec.node_pools):
        loc: Loc = ("nodePools", index, "network", "sriov")
        yield from _sriov_names(loc, pool)
        yield from _duplicates(loc, pool)
        yield from _sriov_on_eks(loc, spec, pool)
    plugin, here = spec.components.sriov_device_plugin, (*_HERE, "sriovDevicePlugin")
    if plugin is None:
        return
    known = offered_names(spec, sriov_of)
    if not known and spec.components.network_operator is None:
        message = "no pool offers virtual functions"
        hint = "Set `network: {sriov: {nvidia.com/mlnx_vf: 8}}` on the pools with virtual functions"
        yield Problem(here, message, hint, key=True)
    yield from _unknown_resources((*here, "resources"), plugin.resources, known, "network.sriov")


@stop_at_unknown_value
def _sriov_names(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    yield from _names(loc, pool.network.sriov, "SR-IOV")


@stop_at_unknown_value
def _sriov_on_eks(loc: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.sriov if spec.target.kind == "eks" else ():
        message = f"no component on EKS provides {name}, so pods that request it would stay pending"
        yield Problem((*loc, name), message, "Use `network: {efa: true}` and an instance type with EFA", key=True)


def _names(loc: Loc, names: dict[str, int], which: str) -> Iterator[Problem]:
    for name in names:
        short = name.rpartition("/")[2]
        if not _PLUGIN_NAME.fullmatch(short):
            message = (
                f"the {which} device plugin allows only letters, digits and underscores after the slash, got {short}"
            )
            meant = re.sub(r"[^A-Za-z0-9_]", "_", short)
            yield Problem((*loc, name), message, f"Did you mean {name.rpartition('/')[0]}/{meant}?", key=True)


@stop_at_unknown_value
def _duplicates(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.sriov:
        if name in pool.network.rdma:
            message = f"{name} is also in network.rdma, and only one device plugin can register it"
            yield Problem((*loc, name), message, "Remove one of the two", key=True)


@stop_at_unknown_value
def _unknown_resources(loc: Loc, given: Mapping[str, object], known: list[str], where: str) -> Iterator[Problem]:
    for name in given:
        if name not in known:
            otherwise = f"Pools offer {listed(known)}" if known else f"Add it to `nodePools[].{where}`"
            yield Problem(
                (*loc, name), f"no pool offers {name}", did_you_mean(name, known, otherwise=otherwise), key=True
            )


@stop_at_unknown_value
def _efa(spec: ClusterSpec) -> Iterator[Problem]:
    plugin, here = spec.components.efa_device_plugin, (*_HERE, "efaDevicePlugin")
    if plugin is None:
        return
    if spec.target.kind != "eks":
        message = f"mlcluster does not install the EFA device plugin on target {spec.target.kind}"
        yield Problem(here, message, "Remove it", key=True)
    elif not any(pool.network.efa for pool in spec.node_pools):
        message = "no pool has EFA"
        yield Problem(here, message, "Set `network: {efa: true}` on a pool with EFA, or remove the component", key=True)


@stop_at_unknown_value
def _operator(spec: ClusterSpec) -> Iterator[Problem]:
    operator, here = spec.components.network_operator, (*_HERE, "networkOperator")
    if operator is None:
        return
    if spec.target.kind == "eks":
        message = "EC2 instances have no NVIDIA network cards, so the network operator would have no effect"
        yield Problem(here, message, "Remove it. EFA needs only `network: {efa: true}`", key=True)
    for key, what, component, part in _replaced_components(spec):
        said = component.model_fields_set
        if component.install and (part not in said or said & {"install", "version"}):
            message = f"networkOperator already runs {what}, and two installations would conflict"
            yield Problem(
                (*_HERE, key), message, f"Remove it, or keep only `{part}`, which the operator uses", key=True
            )
        elif operator.install and not component.install:
            message = f"networkOperator would conflict with the existing installation of {what}"
            yield Problem((*_HERE, key, "install"), message, f"Remove `networkOperator` or `{key}`")
    yield from _rdma_counts(spec)


def _replaced_components(spec: ClusterSpec) -> Iterator[tuple[str, str, ChartComponent, str]]:
    """Yield the components that the operator replaces, each with the only setting that it still uses."""
    found: tuple[tuple[str, str, ChartComponent | None, str], ...] = (
        ("rdmaDevicePlugin", "the RDMA device plugin", spec.components.rdma_device_plugin, "resources"),
        ("sriovDevicePlugin", "the SR-IOV device plugin", spec.components.sriov_device_plugin, "resources"),
        ("multus", "Multus", spec.components.multus, "networks"),
    )
    for key, what, component, part in found:
        if component is not None:
            yield key, what, component, part


@stop_at_unknown_value
def _rdma_counts(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield a problem if pools differ in the number of pods per device, which the operator sets for all nodes."""
    first: dict[str, tuple[str, int]] = {}
    for index, pool in enumerate(spec.node_pools):
        for name, count in rdma_of(pool).items():
            other, there = first.setdefault(name, (pool.name, count))
            if there != count:
                loc: Loc = ("nodePools", index, "network", "rdma", name)
                message = f"the network operator needs the same number on all pools; {name} is {there} in pool {other}"
                yield Problem(loc, message, f"Set {there}, or use `rdmaDevicePlugin` instead of `networkOperator`")


def _values_without_chart(spec: ClusterSpec) -> Iterator[Problem]:
    for key, field in WITHOUT_CHARTS.items():
        yield from _component_values(spec, key, field)


@stop_at_unknown_value
def _component_values(spec: ClusterSpec, key: str, field: str) -> Iterator[Problem]:
    component: ChartComponent | None = getattr(spec.components, field)
    if component is not None and component.values:
        message = f"{key} has no Helm chart, so values have no effect"
        yield Problem((*_HERE, key, "values"), message, "Remove `values`", key=True)


@stop_at_unknown_value
def _detector(spec: ClusterSpec) -> Iterator[Problem]:
    detector = spec.components.node_problem_detector
    if detector is not None and not detector.install:
        message = "an existing Node Problem Detector does not have the checks of mlcluster"
        hint = "Remove `install`. Two detectors do not conflict"
        yield Problem((*_HERE, "nodeProblemDetector", "install"), message, hint)
