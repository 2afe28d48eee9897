"""Components of fast networks."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import RESOURCE_NAME, Name, SpecModel
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.teams import Cidr

ResourceName = Annotated[str, Field(pattern=RESOURCE_NAME)]
PciId = Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
InterfaceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@#,-]{1,64}$")]
DriverName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
LinkType = Literal["ether", "infiniband"]
Address = Annotated[str, Field(pattern=r"^[0-9a-fA-F:.]+$", max_length=45)]
AddressInRange = Annotated[str, Field(pattern=r"^[0-9a-fA-F:.]+/[0-9]{1,3}$")]
NetworkType = Literal["macvlan", "ipvlan", "host-device", "sriov", "ib-sriov", "ipoib"]
NetworkMode = Literal["bridge", "private", "vepa", "passthru", "l2", "l3", "l3s"]


class RdmaSelectors(SpecModel):
    """Which devices of a node stand behind an RDMA resource: all lists that are given must match."""

    vendors: list[PciId] = ["15b3"]
    """PCI vendors; 15b3 is NVIDIA (Mellanox)."""
    device_ids: list[PciId] = []
    drivers: list[DriverName] = []
    """Kernel drivers, e.g. [mlx5_core]."""
    if_names: list[InterfaceName] = []
    """Network interfaces of the host, e.g. [ib0]."""
    link_types: list[LinkType] = []
    """infiniband, or ether for RoCE; default: both."""


class RdmaDevicePlugin(ChartComponent):
    """RDMA shared device plugin: announces rdma/... on the pools that have it."""

    resources: Annotated[dict[ResourceName, RdmaSelectors], Field(max_length=16)] = {}
    """By resource of nodePools[].network.rdma; default: every device of NVIDIA."""


class SriovSelectors(SpecModel):
    """Which virtual functions of a node stand behind a resource."""

    vendors: list[PciId] = ["15b3"]
    devices: list[PciId] = []
    """PCI device IDs of the virtual functions."""
    drivers: list[DriverName] = []
    pf_names: list[InterfaceName] = []
    """Physical functions, and which virtual functions of them, e.g. ["ens1f0#0-7"]."""
    link_types: list[LinkType] = []
    rdma: bool = True
    """The pods use the virtual function for RDMA too."""


class SriovDevicePlugin(ChartComponent):
    """SR-IOV network device plugin: announces virtual functions, which the nodes must have made at boot."""

    resources: Annotated[dict[ResourceName, SriovSelectors], Field(max_length=16)] = {}
    """By resource of nodePools[].network.sriov; default: every virtual function of NVIDIA."""


class NetworkIpam(SpecModel):
    """Where the addresses of a secondary network come from."""

    type: Literal["whereabouts", "nv-ipam", "static", "dhcp"] = "whereabouts"
    range: Cidr | None = None
    """whereabouts, nv-ipam: the addresses, e.g. 10.60.0.0/16."""
    exclude: Annotated[list[Cidr], Field(max_length=64)] = []
    """Ranges inside it that are not given out."""
    gateway: Address | None = None
    addresses: Annotated[list[AddressInRange], Field(max_length=16)] = []
    """static: the one pod's addresses, each with its prefix, e.g. [10.60.0.5/16]."""
    per_node_block_size: Annotated[int, Field(ge=1, le=65536)] = 64
    """nv-ipam: addresses that every node gets."""


class SecondaryNetwork(SpecModel):
    """A network beside the cluster's own, which pods join by an annotation."""

    name: Name
    """What the annotation k8s.v1.cni.cncf.io/networks says."""
    type: NetworkType
    teams: list[Name] | None = None
    """Teams whose pods may join; default: all."""
    namespaces: Annotated[list[Name], Field(max_length=64)] = []
    """Other namespaces, which are there already."""
    pools: list[Name] | None = None
    """Pools whose nodes have it; default: those that offer `resource`, else those with fast networks, else all."""
    master: InterfaceName | None = None
    """macvlan, ipvlan, ipoib: the interface of the node that it stands on, e.g. eth1."""
    mtu: Annotated[int, Field(ge=576, le=65520)] | None = None
    mode: NetworkMode | None = None
    """macvlan: bridge (default), private, vepa, passthru; ipvlan: l2 (default), l3, l3s."""
    resource: ResourceName | None = None
    """What a pod on this network asks for too, as nodePools[].network has it, e.g. rdma/hca."""
    vlan: Annotated[int, Field(ge=0, le=4094)] | None = None
    """sriov: VLAN of the virtual function."""
    p_key: Annotated[str, Field(pattern=r"^0x[0-9a-f]{1,4}$")] | None = None
    """ib-sriov: partition of the InfiniBand fabric; an agent of the subnet manager, e.g. ib-kubernetes, reads it."""
    link_state: Literal["auto", "enable", "disable"] | None = None
    """ib-sriov: link state of the virtual function; default: enable."""
    ipam: NetworkIpam | None = None
    """Default: no addresses."""


class Multus(ChartComponent):
    """Multus: more than one network interface for a pod."""

    networks: Annotated[list[SecondaryNetwork], Field(max_length=64)] = []
    startup_taint: bool = True
    """Keep work off a node until its networks are there (node readiness controller); not on `local`."""


class Whereabouts(ChartComponent):
    """Whereabouts: addresses for secondary networks."""


class NetworkOperator(ChartComponent):
    """NVIDIA Network Operator: owner of RDMA, SR-IOV, Multus and their addresses on Mellanox networks."""

    ofed_driver: bool = False
    """Load the DOCA-OFED driver in containers; leave it out where the image of the nodes has one."""


class EfaDevicePlugin(ChartComponent):
    """AWS EFA device plugin: announces vpc.amazonaws.com/efa."""
