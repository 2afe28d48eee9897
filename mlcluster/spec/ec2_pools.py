"""Settings of node pools that are EC2 instances: purchase option, image, root volume, updates, spare nodes."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.quantities import parse
from mlcluster.spec.base import Doc, Gp3Iops, Gp3Throughput, Quantity, SpecModel

InstanceTypeName = Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z$")]


class Capacity(SpecModel):
    """How the EC2 instances of the pool are purchased."""

    type: Literal["onDemand", "spot", "reservation", "capacityBlock"] = "onDemand"
    """Purchase option: On-Demand, Spot, an On-Demand Capacity Reservation or a Capacity Block for ML. Targets other
    than `eks` support only `onDemand`."""
    reservation_id: Annotated[
        Annotated[str, Field(pattern=r"^cr-[0-9a-z]+$")] | None, Doc(example="cr-0123456789abcdef0", targets=("eks",))
    ] = None
    """ID of the Capacity Reservation or Capacity Block. Required with `type: reservation` and `type: capacityBlock`."""
    also: Annotated[list[InstanceTypeName], Field(max_length=19), Doc(example=["g6.4xlarge"], targets=("eks",))] = []
    """Alternative instance types for `type: spot`. Each needs the architecture and GPUs of `instanceType`, and at
    least the resources that it offers."""
    starts_at: Annotated[Instant | None, Doc(example="2026-12-01T11:30:00Z", targets=("eks",))] = None
    """Start of the Capacity Block in UTC, for `type: capacityBlock`. Required with `autoscaler: none`."""
    ends_at: Annotated[Instant | None, Doc(example="2026-12-15T11:30:00Z", targets=("eks",))] = None
    """End of the Capacity Block in UTC, for `type: capacityBlock`. The nodes are removed 30 minutes before the end."""

    @property
    def is_reserved(self) -> bool:
        """Return whether the nodes use capacity that AWS reserves for the account in one zone."""
        return self.type in {"reservation", "capacityBlock"}


class Ami(SpecModel):
    """The machine image of the nodes."""

    family: Literal["al2023", "bottlerocket", "al2"] = "al2023"
    """Operating system: Amazon Linux 2023 or Bottlerocket. `al2` is rejected, because EKS no longer publishes it."""
    release: Annotated[
        Annotated[str, Field(min_length=1, max_length=60)] | None,
        Doc(example="1.35.3-20260818", default="the release that the catalog pins for the Kubernetes version"),
    ] = None
    """Release of the EKS-optimized image."""


class RootVolume(SpecModel):
    """The encrypted gp3 volume that a node boots from."""

    size: Annotated[Quantity, Doc(example="200Gi", unit="bytes")] = "100Gi"
    """Size of the volume, from 20Gi to 64Ti."""
    iops: Gp3Iops = None
    """Provisioned I/O operations per second, at most 500 per GiB of `size`."""
    throughput_mib: Gp3Throughput = None
    """Provisioned throughput, at most 0.25 MiB/s per provisioned IOPS."""

    @property
    def size_mib(self) -> int:
        """Return the size in MiB, rounded down."""
        return parse("ephemeral-storage", self.size)

    @property
    def size_gib(self) -> int:
        """Return the size of the volume that EBS creates, in GiB: `size_mib` rounded up."""
        return -(-self.size_mib // 1024)


class Update(SpecModel):
    """The number of nodes that a rolling update of the managed node group replaces at once."""

    max_unavailable: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None, Doc(example=2, unit="nodes", default="1")
    ] = None
    """Number of nodes that can be unavailable at once. Choose this or `maxUnavailablePercent`."""
    max_unavailable_percent: Annotated[Annotated[int, Field(ge=1, le=100)] | None, Doc(example=25, unit="percent")] = (
        None
    )
    """Percentage of nodes that can be unavailable at once. Choose this or `maxUnavailable`."""


class Warm(SpecModel):
    """Spare running nodes, which placeholder pods occupy until workloads need them."""

    nodes: Annotated[int, Field(ge=1, le=100), Doc(example=1, unit="nodes")]
    """Number of spare nodes. Their placeholder pods have the lowest priority, and any workload preempts them."""


class WarmPool(SpecModel):
    """A warm pool of the EC2 Auto Scaling group: pre-initialized instances that join the cluster faster."""

    min_size: Annotated[int, Field(ge=0, le=1000), Doc(example=1, unit="instances")] = 0
    """Minimum number of instances in the warm pool."""
    max_prepared: Annotated[
        Annotated[int, Field(ge=0, le=1000)] | None,
        Doc(example=4, unit="instances", default="the `maxSize` of the node pool"),
    ] = None
    """Maximum number of instances in the warm pool and in service together."""
    state: Literal["stopped", "running", "hibernated"] = "stopped"
    """State of the instances in the warm pool. `hibernated` is rejected, because EKS launch templates do not support
    it."""
    reuse_on_scale_in: bool = True
    """Return instances to the warm pool on scale-in instead of terminating them. Not available with Bottlerocket."""
