"""Components for RDMA, SR-IOV and secondary networks."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import RESOURCE_NAME, Doc, Name, SpecModel
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
    """Selectors of the devices of an RDMA resource. A device must match every selector."""

    vendors: Annotated[list[PciId], Doc(example=["15b3"])] = ["15b3"]
    """PCI vendor IDs. 15b3 is NVIDIA (Mellanox)."""
    device_ids: Annotated[list[PciId], Doc(example=["101e"], default="every device")] = []
    """PCI device IDs."""
    drivers: Annotated[list[DriverName], Doc(example=["mlx5_core"], default="every driver")] = []
    """Kernel drivers."""
    if_names: Annotated[list[InterfaceName], Doc(example=["ib0"], default="every interface")] = []
    """Network interfaces of the host."""
    link_types: Annotated[list[LinkType], Doc(example=["infiniband"], default="both")] = []
    """Link types: InfiniBand, or Ethernet for RoCE."""


class RdmaDevicePlugin(ChartComponent):
    """RDMA shared device plugin, which registers the RDMA resources of pools."""

    resources: Annotated[
        dict[ResourceName, RdmaSelectors],
        Field(max_length=16),
        Doc(
            example={"rdma/hca": {"linkTypes": ["infiniband"]}},
            default="every NVIDIA device for every resource",
            key="RESOURCE",
        ),
    ] = {}
    """Device selectors for each resource of `nodePools[].network.rdma`."""


class SriovSelectors(SpecModel):
    """Selectors of the virtual functions of an SR-IOV resource. A virtual function must match every selector."""

    vendors: Annotated[list[PciId], Doc(example=["15b3"])] = ["15b3"]
    """PCI vendor IDs. 15b3 is NVIDIA (Mellanox)."""
    devices: Annotated[list[PciId], Doc(example=["101e"], default="every device")] = []
    """PCI device IDs of the virtual functions."""
    drivers: Annotated[list[DriverName], Doc(example=["mlx5_core"], default="every driver")] = []
    """Kernel drivers of the virtual functions."""
    pf_names: Annotated[list[InterfaceName], Doc(example=["ens1f0#0-7"], default="every physical function")] = []
    """Physical functions, each optionally with a range of its virtual functions."""
    link_types: Annotated[list[LinkType], Doc(example=["ether"], default="both")] = []
    """Link types: InfiniBand or Ethernet."""
    rdma: bool = True
    """Give pods the RDMA device of the virtual function, too."""


class SriovDevicePlugin(ChartComponent):
    """SR-IOV network device plugin, which registers virtual functions. The nodes must create them at boot."""

    resources: Annotated[
        dict[ResourceName, SriovSelectors],
        Field(max_length=16),
        Doc(
            example={"nvidia.com/mlnx_vf": {"pfNames": ["ens1f0#0-7"]}},
            default="every NVIDIA virtual function for every resource",
            key="RESOURCE",
        ),
    ] = {}
    """Device selectors for each resource of `nodePools[].network.sriov`."""


class NetworkIpam(SpecModel):
    """IP address management of a secondary network."""

    type: Literal["whereabouts", "nv-ipam", "static", "dhcp"] = "whereabouts"
    """IPAM plugin. `nv-ipam` needs `networkOperator`; `dhcp` needs the CNI DHCP daemon on the nodes."""
    range: Annotated[Cidr | None, Doc(example="10.60.0.0/16")] = None
    """IP range of the network. Required with `whereabouts` and `nv-ipam`."""
    exclude: Annotated[list[Cidr], Field(max_length=64), Doc(example=["10.60.0.0/28"])] = []
    """Ranges inside `range` that the plugin does not assign. Only with `whereabouts` and `nv-ipam`."""
    gateway: Annotated[Address | None, Doc(example="10.60.0.1", default="no gateway")] = None
    """Gateway of the network, an address inside `range`."""
    addresses: Annotated[list[AddressInRange], Field(max_length=16), Doc(example=["10.60.0.5/16"])] = []
    """With `static`: the addresses of the only pod on the network, each with its prefix length."""
    per_node_block_size: Annotated[int, Field(ge=1, le=65536), Doc(example=32, unit="addresses")] = 64
    """With `nv-ipam`: the number of addresses in the block of each node."""


class SecondaryNetwork(SpecModel):
    """A secondary network, which pods join with an annotation."""

    name: Annotated[Name, Doc(example="rail0")]
    """Name of the network in the pod annotation `k8s.v1.cni.cncf.io/networks`."""
    type: NetworkType
    """CNI plugin. `macvlan`, `ipvlan` and `ipoib` need `master`; `host-device`, `sriov` and `ib-sriov` need
    `resource`."""
    teams: Annotated[list[Name] | None, Doc(example=["research"], default="every team")] = None
    """Teams whose pods can join the network."""
    namespaces: Annotated[list[Name], Field(max_length=64), Doc(example=["benchmarks"])] = []
    """Other existing namespaces whose pods can join the network."""
    pools: Annotated[
        list[Name] | None,
        Doc(
            example=["train"],
            default="the pools that offer `resource`; otherwise the pools with RDMA or SR-IOV; otherwise every pool",
        ),
    ] = None
    """Pools whose nodes are connected to the network."""
    master: Annotated[InterfaceName | None, Doc(example="eth1")] = None
    """Host interface of the network. Only for `macvlan`, `ipvlan` and `ipoib`."""
    mtu: Annotated[Annotated[int, Field(ge=576, le=65520)] | None, Doc(example=9000, unit="bytes")] = None
    """Maximum transmission unit. Only for `macvlan` and `ipvlan`."""
    mode: Annotated[NetworkMode | None, Doc(default="bridge for macvlan, l2 for ipvlan")] = None
    """Mode: `bridge`, `private`, `vepa` or `passthru` for `macvlan`; `l2`, `l3` or `l3s` for `ipvlan`."""
    resource: Annotated[ResourceName | None, Doc(example="rdma/hca")] = None
    """Extended resource of `nodePools[].network` that pods on the network request."""
    vlan: Annotated[Annotated[int, Field(ge=0, le=4094)] | None, Doc(example=100, default="no VLAN")] = None
    """VLAN ID of the virtual function. Only for `sriov`."""
    p_key: Annotated[Annotated[str, Field(pattern=r"^0x[0-9a-f]{1,4}$")] | None, Doc(example="0x8001")] = None
    """Partition key of the InfiniBand fabric, for an agent of the subnet manager such as ib-kubernetes. Only for
    `ib-sriov`."""
    link_state: Annotated[Literal["auto", "enable", "disable"] | None, Doc(default="enable")] = None
    """Link state of the virtual function. Only for `ib-sriov`."""
    ipam: Annotated[NetworkIpam | None, Doc(default="no IP addresses")] = None
    """IP address management of the network."""


class Multus(ChartComponent):
    """Multus, which attaches pods to secondary networks."""

    networks: Annotated[list[SecondaryNetwork], Field(max_length=64)] = []
    """Secondary networks."""
    startup_taint: Annotated[bool, Doc(targets=("eks", "existing"))] = True
    """Taint new nodes until their secondary networks are ready. Installs the Node Readiness Controller."""


class Whereabouts(ChartComponent):
    """Whereabouts, which assigns IP addresses on secondary networks."""


class NetworkOperator(ChartComponent):
    """NVIDIA Network Operator, which manages RDMA, SR-IOV, Multus and nv-ipam for NVIDIA (Mellanox) network cards."""

    ofed_driver: bool = False
    """Install the DOCA-OFED driver in containers. Keep `false` if the node image contains it."""


class EfaDevicePlugin(ChartComponent):
    """AWS EFA device plugin, which registers the resource `vpc.amazonaws.com/efa`."""
