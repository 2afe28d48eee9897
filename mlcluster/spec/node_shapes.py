"""Amounts of a node that the spec sets: the shape of machines other than EC2 instances, and reserved amounts."""

from typing import Annotated

from pydantic import Field

from mlcluster.quantities import parse
from mlcluster.spec.base import Doc, Quantity, SpecModel


class NodeShapeGpu(SpecModel):
    """The GPUs of one node."""

    model: Annotated[str, Field(pattern=r"^[a-z0-9][-a-z0-9]*$", max_length=40), Doc(example="h100")]
    """GPU model in lower case."""
    count: Annotated[int, Field(ge=1, le=72), Doc(example=8, unit="GPUs")]
    """Number of GPUs per node."""
    memory_mib: Annotated[
        Annotated[int, Field(ge=1024, le=1_000_000)] | None, Doc(example=81920, unit="MiB", default="unknown")
    ] = None
    """Memory of one GPU. It identifies the variant of a model, which determines its MIG layouts."""


class NodeShape(SpecModel):
    """Allocatable resources of one node, for machines that are not EC2 instances."""

    cpu: Annotated[Quantity, Doc(example="190", unit="cores")]
    """Allocatable CPU of one node, as a quoted quantity."""
    memory: Annotated[Quantity, Doc(example="1900Gi", unit="bytes")]
    """Allocatable memory of one node."""
    ephemeral_storage: Annotated[Quantity, Doc(example="800Gi", unit="bytes")] = "50Gi"
    """Allocatable ephemeral storage of one node."""
    pods: Annotated[int, Field(ge=1, le=1000), Doc(example=250, unit="pods")] = 110
    """Maximum number of pods on one node."""
    gpu: NodeShapeGpu | None = None
    """GPUs of one node. Omit it for nodes without GPUs."""
    hourly_usd: Annotated[
        Annotated[float, Field(ge=0)] | None, Doc(example=55.04, unit="USD per hour", default="unknown")
    ] = None
    """Price of one node, for the cost estimate and the budget."""

    @property
    def amounts(self) -> dict[str, int]:
        """Return the allocatable amounts of one node by resource, without GPUs."""
        return _amounts(self)


class Reserved(SpecModel):
    """Resources per node that mlcluster subtracts for daemon sets it does not manage."""

    cpu: Annotated[Quantity, Doc(example="500m", unit="cores")] = "0"
    """CPU to reserve on each node."""
    memory: Annotated[Quantity, Doc(example="1Gi", unit="bytes")] = "0"
    """Memory to reserve on each node."""
    ephemeral_storage: Annotated[Quantity, Doc(example="5Gi", unit="bytes")] = "0"
    """Ephemeral storage to reserve on each node."""
    pods: Annotated[int, Field(ge=0, le=500), Doc(example=3, unit="pods")] = 0
    """Number of pods to reserve on each node."""

    @property
    def amounts(self) -> dict[str, int]:
        """Return the reserved amounts of one node by resource."""
        return _amounts(self)


def _amounts(entry: NodeShape | Reserved) -> dict[str, int]:
    return {
        "cpu": parse("cpu", entry.cpu),
        "memory": parse("memory", entry.memory),
        "ephemeral-storage": parse("ephemeral-storage", entry.ephemeral_storage),
        "pods": entry.pods,
    }
