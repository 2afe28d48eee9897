"""The arithmetic of addresses: subnets of a range, demand of pools, and capacity."""

import itertools
from ipaddress import IPv4Network

import pytest

from mlcluster.plan.eks.addresses import demands, prefixes_per_node
from mlcluster.spec.vpc_layout import layout, prefix_blocks
from tests.eks_contexts import eks_context

pytestmark = pytest.mark.unit

ZONES = tuple("abcdef")
CUTS = [
    ("10.0.0.0/16", 2, 18, 24),
    ("10.0.0.0/16", 3, 18, 24),
    ("10.0.0.0/16", 4, 19, 24),
    ("10.0.0.0/16", 6, 19, 24),
    ("10.8.0.0/20", 3, 22, 24),
    ("10.8.0.0/21", 3, 23, 25),
    ("10.8.0.0/24", 3, 26, 28),
]


@pytest.mark.parametrize(("cidr", "zones", "private", "public"), CUTS)
def test_private_subnets_are_as_large_as_fits_beside_the_public_ones(
    cidr: str, zones: int, private: int, public: int
) -> None:
    cut = layout(cidr, ZONES[:zones])
    assert cut is not None
    assert {subnet.prefixlen for subnet in cut.private.values()} == {private}
    assert {subnet.prefixlen for subnet in cut.public.values()} == {public}
    assert tuple(cut.private) == tuple(cut.public) == ZONES[:zones]


@pytest.mark.parametrize(("prefix", "zones"), list(itertools.product(range(16, 29), range(2, 7))))
def test_no_two_subnets_overlap_and_all_are_inside(prefix: int, zones: int) -> None:
    whole = IPv4Network(f"10.0.0.0/{prefix}")
    cut = layout(str(whole), ZONES[:zones])
    if cut is None:
        assert prefix > 22  # every /22 and larger can be cut, whatever the zones
        return
    every = [*cut.private.values(), *cut.public.values()]
    assert len(every) == 2 * zones
    assert all(subnet.subnet_of(whole) and subnet.prefixlen <= 28 for subnet in every)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(every, 2))


def test_prefix_blocks_leave_the_first_quarter() -> None:
    subnet = IPv4Network("10.0.0.0/26")
    assert [str(block) for block in prefix_blocks(subnet)] == ["10.0.0.16/28", "10.0.0.32/27"]


@pytest.mark.parametrize(("pods", "prefixes"), [(16, 2), (17, 3), (58, 5), (110, 8), (250, 17)])
def test_a_node_holds_the_prefixes_of_its_pods_and_a_warm_one(pods: int, prefixes: int) -> None:
    assert prefixes_per_node(pods) == prefixes


def test_a_pool_counts_whole_in_every_zone_it_may_be_in() -> None:
    wide = {"name": "wide", "instanceType": "m7i.2xlarge", "maxSize": 10}
    narrow = {"name": "narrow", "instanceType": "m7i.2xlarge", "maxSize": 5, "zones": ["us-west-2b"]}
    first, second, third = demands(eks_context(wide, narrow))
    assert [[pool.pool for pool in zone.pools] for zone in (first, second, third)] == [
        ["wide"],
        ["wide", "narrow"],
        ["wide"],
    ]
    each = prefixes_per_node(first.pools[0].pods)
    assert first.prefixes == third.prefixes == 10 * each + 2 * 2
    assert second.prefixes == 15 * each + 2 * 2 * 2
    assert second.singles - first.singles == 2 * (5 + 2)


def test_efa_pools_are_in_one_zone_and_their_efa_interfaces_have_no_address() -> None:
    efa = {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 4, "network": {"efa": True}}
    plain = {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 4, "zones": ["us-west-2a"]}
    assert [zone.singles for zone in demands(eks_context(efa))] == [
        zone.singles for zone in demands(eks_context(plain))
    ]
    assert [len(zone.pools) for zone in demands(eks_context(efa))] == [1, 0, 0]


def test_karpenter_replaces_nodes_one_by_one_so_nothing_surges() -> None:
    dynamic = {"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 4}
    fixed = {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 2}
    zone = demands(eks_context(fixed, dynamic, autoscaler="karpenter"))[0]
    assert {pool.pool: pool.surge for pool in zone.pools} == {"system": 2, "cpu": 0}


def test_many_nodes_may_be_away_at_once() -> None:
    pool = {"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 40, "update": {"maxUnavailable": 10}}
    assert demands(eks_context(pool))[0].pools[0].surge == 10


def test_every_user_of_the_subnet_is_counted() -> None:
    volumes = [{"name": "data", "kind": "efs"}, {"name": "scratch", "kind": "fsxLustre", "capacityGib": 4800}]
    rest = {"teams": [{"name": "research"}], "storage": {"volumes": volumes}}
    plain = demands(eks_context())[0]
    full = demands(eks_context(rest=rest, network={"endpoints": ["s3", "ecr", "sts"]}))[0]
    assert (plain.endpoints, plain.file_systems) == (0, 0)
    assert (full.endpoints, full.file_systems) == (3, 1 + 1 + 4)
    assert full.singles - plain.singles == 3 + 6
    assert full.addresses == full.prefixes * 16 + full.singles


def test_the_largest_pool_that_fits_and_one_node_more() -> None:
    subnet = IPv4Network("10.0.0.0/18")

    def fits(nodes: int) -> bool:
        pool = {"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": nodes}
        return demands(eks_context(pool))[0].fits(subnet)

    each = prefixes_per_node(
        eks_context({"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 1}).pools[0].allocatable["pods"]
    )
    most = (subnet.num_addresses * 3 // 4 // 16 - 2 * 2) // each
    assert fits(most)
    assert not fits(most + 1)


def test_single_addresses_can_be_the_shortage() -> None:
    demand = demands(eks_context({"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 1}))[0]
    assert demand.singles > 32
    assert not demand.fits(IPv4Network("10.0.0.0/25"))
