"""Rules on the network of an `eks` cluster: access, addresses, and connections that nodes need."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from mlcluster.findings import Finding, finding
from mlcluster.plan.eks.addresses import PREFIX_SIZE, WARM_PREFIXES, Demand, PoolDemand, demands
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.suggestions import listed
from mlcluster.spec.vpc_layout import SHORTEST_VPC, layout, prefix_blocks

_ENDPOINT = ("target", "endpoint")
_NETWORK = ("target", "network")
_EVERYBODY = frozenset({"0.0.0.0/0"})
_TO_START = ("s3", "ecr", "sts", "ec2", "eks", "eksAuth")
"""AWS services that nodes and daemon sets call (EKS user guide, "Private cluster requirements"); eksAuth: the CNI."""


def public_endpoint(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET002: the Kubernetes API is open to the internet."""
    context = _context(plan, spec)
    if context is None or not context.target.endpoint.public:
        return
    cidrs = context.target.endpoint.public_cidrs
    if not cidrs or _EVERYBODY & set(cidrs):
        reason = "has no publicCidrs" if not cidrs else "allows 0.0.0.0/0"
        yield finding(
            "NET002",
            (*_ENDPOINT, "publicCidrs") if cidrs else _ENDPOINT,
            f"the public endpoint {reason}: any client on the internet can try to log in",
            "Set `endpoint: {publicCidrs: [203.0.113.0/24]}` with your range, or `{public: false}`.",
        )


def addresses(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET003: pools at maximum size, all in one zone, need more addresses than its subnet has.

    The subnets of an existing VPC are not known offline; `preflight` reads them (AWS006).
    """
    context = _context(plan, spec)
    if context is None or context.target.network.vpc_id:
        return
    cut = layout(context.target.network.cidr, context.zones)
    if cut is None:
        return
    short = [demand for demand in demands(context) if not demand.fits(cut.private[demand.zone])]
    same: dict[tuple[PoolDemand, ...], list[Demand]] = {}
    for demand in short:
        same.setdefault(demand.pools, []).append(demand)
    for alike in same.values():
        zones = listed(demand.zone for demand in alike)
        message = f"zone {zones}: {_arithmetic(alike[0], cut.private[alike[0].zone])}"
        yield finding("NET003", (*_NETWORK, "cidr"), message, _larger(context))


def nodes_reach_aws(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET004: in a new VPC, a node cannot reach the Kubernetes API, AWS or an image registry."""
    context = _context(plan, spec)
    if context is None:
        return
    endpoint = context.target.endpoint
    if not endpoint.private and endpoint.public_cidrs and not _EVERYBODY & set(endpoint.public_cidrs):
        yield finding(
            "NET004",
            (*_ENDPOINT, "private"),
            "the private endpoint is disabled, so nodes use the public one, and publicCidrs does not include them",
            "Set `private: true`.",
        )
    if context.target.network.vpc_id or context.target.network.nat != "none":
        return
    yield from _without_nat(context)
    charts = (release.repository or release.chart for release in plan.releases if release.realisation == "helm")
    hosts = sorted({urlsplit(chart).hostname or chart for chart in charts})
    if hosts:
        message = f"without NAT, nodes cannot pull the images of components (charts from {listed(hosts)})"
        yield finding(
            "NET004", (*_NETWORK, "nat"), message, "Set `nat: one`, or configure a registry mirror on the nodes."
        )


def private_api(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET005: only machines inside the VPC reach the Kubernetes API; mlcluster must run on one."""
    context = _context(plan, spec)
    if context is not None and not context.target.endpoint.public:
        message = "only machines inside the VPC reach the Kubernetes API; `up` must run on one"
        yield finding(
            "NET005", (*_ENDPOINT, "public"), message, "Run `up` there or through a VPN, or set `public: true`."
        )


def _without_nat(context: EksContext) -> Iterator[Finding]:
    network, wanted = context.target.network, list(_TO_START)
    if context.target.autoscaler != "none":
        wanted.append({"karpenter": "sqs", "clusterAutoscaler": "autoscaling"}[context.target.autoscaler])
    if any(volume.kind == "efs" for volume in context.spec.storage.volumes):
        wanted.append("efs")
    missing = [name for name in wanted if name not in network.endpoints]
    if missing:
        message = f"without NAT, nodes reach AWS only through VPC endpoints; the spec has none for {listed(missing)}"
        hint = f"Set `nat: one`, or `endpoints: [{', '.join(dict.fromkeys([*network.endpoints, *wanted]))}]`."
        yield finding("NET004", (*_NETWORK, "endpoints"), message, hint)
    if not context.target.endpoint.private:
        message = "without NAT and without the private endpoint, nodes cannot reach the Kubernetes API"
        yield finding("NET004", (*_ENDPOINT, "private"), message, "Set `private: true`.")
    if context.target.autoscaler == "karpenter":
        message = "Karpenter calls IAM, SSM and the AWS Price List, for which the spec has no endpoints"
        yield finding(
            "NET004", ("target", "autoscaler"), message, "Set `nat: one`, or `autoscaler: clusterAutoscaler`."
        )


def _arithmetic(demand: Demand, subnet: IPv4Network) -> str:
    room = sum(block.num_addresses for block in prefix_blocks(subnet))
    pools = "; ".join(_of_pool(pool) for pool in demand.pools)
    interfaces = sum(pool.singles for pool in demand.pools)
    return (
        f"at maximum size, pods need {demand.prefixes * PREFIX_SIZE} addresses in /28 blocks and interfaces need "
        f"{demand.singles}; {subnet} has {room} and {subnet.num_addresses - room}. "
        f"Blocks: {pools}. Interfaces: nodes {interfaces}, control plane {demand.control_plane}, load balancers "
        f"{demand.load_balancers}, endpoints {demand.endpoints}, file systems {demand.file_systems}, reserved by AWS "
        f"{demand.reserved}"
    )


def _of_pool(pool: PoolDemand) -> str:
    update = f" + {pool.surge} nodes during an update x {pool.surge_prefixes}" if pool.surge else ""
    filled = pool.prefixes_per_node - WARM_PREFIXES
    return (
        f"{pool.pool} {pool.nodes} nodes x {pool.prefixes_per_node} ({pool.pods} pods fill {filled}, "
        f"{WARM_PREFIXES} warm){update} = {pool.prefixes * PREFIX_SIZE}"
    )


def _larger(context: EksContext) -> str:
    """Return the hint: the smallest VPC range that is large enough, or the alternatives if there is none."""
    given = IPv4Network(context.target.network.cidr)
    for prefix in range(given.prefixlen - 1, SHORTEST_VPC - 1, -1):
        wider = given.supernet(new_prefix=prefix)
        cut = layout(str(wider), context.zones)
        if cut is not None and all(demand.fits(cut.private[demand.zone]) for demand in demands(context)):
            return f"Set `cidr: {wider}`."
    return (
        f"Give pools different zones (nodePools[].zones), lower their maxSize, or use an existing VPC with several "
        f"ranges: one range has at most a /{SHORTEST_VPC}."
    )


def _context(plan: Plan, spec: ClusterSpec) -> EksContext | None:
    return EksContext(spec, spec.target, plan.pools) if spec.target.kind == "eks" else None
