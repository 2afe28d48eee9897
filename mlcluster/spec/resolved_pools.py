"""Node pools with the facts of their nodes: the only place that derives them, for the checks, the plan and the rules.

A fact is resolved when it is first read. On a partial spec (`spec.partial`), a fact that depends on an unknown value
raises `UnknownValueError`, and the other facts of the pool remain readable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from mlcluster.catalog.gpus import GPU_RESOURCE, Gpu, gpu, mig_resource
from mlcluster.catalog.instances import InstanceType, known_instance
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.quantities import ordered
from mlcluster.spec.document import Loc
from mlcluster.spec.eks_nodes import default_disk_mib, eks_allocatable
from mlcluster.spec.pools import NodePool

if TYPE_CHECKING:  # the spec has its resolved pools as an attribute
    from mlcluster.spec.cluster import ClusterSpec

Sharing = Literal["whole", "mig", "timeSlicing", "mps"]
MigStrategy = Literal["single", "mixed"]


class NodeGpus(NamedTuple):
    """The NVIDIA GPUs of one node.

    Attributes:
        model: the model, such as "h100"; "" without GPUs.
        number: the number of GPUs; 0 without GPUs.
        memory_mib: the memory of one GPU in MiB; None if it is unknown.
    """

    model: str = ""
    number: int = 0
    memory_mib: int | None = None


@dataclass(frozen=True, eq=False)
class ResolvedPool:
    """A node pool with the facts of its nodes.

    Attributes:
        spec: the spec of the cluster.
        index: the position of the pool in `nodePools`.
        entry: the pool in the spec.
    """

    spec: "ClusterSpec"
    index: int
    entry: NodePool

    @property
    def name(self) -> str:
        """Return the name of the pool."""
        return self.entry.name

    @property
    def loc(self) -> Loc:
        """Return the path of the pool in the spec."""
        return ("nodePools", self.index)

    @cached_property
    def instance(self) -> InstanceType | None:
        """Return the instance type of the nodes; None without one, and for a type that the catalog lacks."""
        return known_instance(self.entry.instance_type or "")

    @property
    def has_known_node(self) -> bool:
        """Return whether the pool has exactly one kind of node, with known facts."""
        if self.entry.node_shape is not None:
            return self.entry.instance_type is None
        return self.instance is not None

    @property
    def managed_by_karpenter(self) -> bool:
        """Return whether Karpenter manages the nodes of the pool; otherwise they are a managed node group.

        Pools of fixed size without GPUs are node groups, because Karpenter needs nodes to run on that it does not
        manage. Accelerators of other vendors do not count, because `gpus` has only NVIDIA GPUs.
        """
        target = self.spec.target
        if target.kind != "eks" or target.autoscaler != "karpenter":
            return False
        return not self.entry.fixed_size or bool(self.gpus.number)

    @cached_property
    def gpus(self) -> NodeGpus:
        """Return the NVIDIA GPUs of one node."""
        if self.entry.node_shape is not None:
            shape = self.entry.node_shape.gpu
            return NodeGpus(shape.model, shape.count, shape.memory_mib) if shape else NodeGpus()
        machine = self.instance
        if machine is None or machine.accelerator_manufacturer != "nvidia" or not machine.accelerator_count:
            return NodeGpus()
        return NodeGpus(machine.accelerator, machine.accelerator_count, machine.accelerator_memory_mib)

    @property
    def gpu_model(self) -> Gpu | None:
        """Return the catalog entry of the GPUs; None without one."""
        return gpu(self.gpus.model, self.gpus.memory_mib)

    @property
    def mig_layouts(self) -> Mapping[str, Mapping[str, int]]:
        """Return the MIG layouts of the GPUs (layout -> profile -> instances on one GPU); empty if none are known.

        GB200 has none in the catalog, because the driver mode of P6e instances lacks MIG.
        """
        known = self.gpu_model
        return known.mig_layouts if known else {}

    @property
    def mig_strategy(self) -> MigStrategy:
        """Return the device plugin's strategy to register MIG instances: as GPUs (`single`) or by size (`mixed`)."""
        if self.spec.target.kind == "eks" and self.entry.ami.family == "bottlerocket":
            return "single"  # the only strategy of the device plugin in Bottlerocket
        operator = self.spec.components.gpu_operator
        return operator.mig_strategy if operator is not None else "mixed"

    @property
    def sharing(self) -> Sharing:
        """Return the kind of sharing of the GPUs between pods."""
        if self.entry.gpu.partitioned:
            return "mig"
        if self.entry.gpu.replicas > 1:
            return "timeSlicing" if self.entry.gpu.time_slicing else "mps"
        return "whole"

    @property
    def slices_per_gpu(self) -> int:
        """Return the number of slices of one GPU; 1 for whole GPUs, and for a MIG layout that the GPUs do not have."""
        if self.entry.gpu.mig is not None and self.entry.gpu.partitioned:
            return sum(self.mig_layouts.get(self.entry.gpu.mig, {}).values()) or 1
        return self.entry.gpu.replicas

    @property
    def gpu_resources(self) -> dict[str, int]:
        """Return the resources by which pods request the GPUs of one node, with their amounts."""
        count = self.gpus.number
        if not count:
            return {}
        if self.sharing == "mig" and self.mig_strategy == "mixed":
            layout = self.mig_layouts.get(self.entry.gpu.mig or "", {})
            return {mig_resource(profile): instances * count for profile, instances in layout.items()}
        return {GPU_RESOURCE: self.slices_per_gpu * count}

    @cached_property
    def machine(self) -> dict[str, int]:
        """Return the allocatable CPU, memory, disk, pods and huge pages of one node; empty for an unknown node.

        On `eks`, the pool sets the pods, the volume and the huge pages of a node. On `local`, a simulated node has the
        disk of an EKS node of its type. On `existing`, only the smallest disk of the type is certain.
        """
        if self.entry.node_shape is not None:
            return self.entry.node_shape.amounts
        if self.instance is None:
            return {}
        if self.spec.target.kind == "eks":
            return eks_allocatable(self.entry, self.instance)
        amounts = {
            "cpu": self.instance.allocatable_cpu_milli,
            "memory": self.instance.allocatable_memory_mib,
            "ephemeral-storage": self.instance.allocatable_ephemeral_mib,
            "pods": self.instance.allocatable_pods,
        }
        if self.spec.target.kind == "local":
            amounts["ephemeral-storage"] = default_disk_mib(self.instance)
        return amounts

    @property
    def allocatable(self) -> dict[str, int]:
        """Return the allocatable amounts of one node, with its GPUs and network devices."""
        network = self.entry.network
        efa = {EFA_RESOURCE: self.instance.efa} if network.efa and self.instance is not None else {}
        amounts = {**self.machine, **self.gpu_resources, **efa, **network.rdma, **network.sriov}
        return {name: amounts[name] for name in ordered(amounts)}

    @property
    def reserved(self) -> dict[str, int]:
        """Return the amounts of one node that the spec reserves, without zeros."""
        return {name: amount for name, amount in self.entry.reserved.amounts.items() if amount}
