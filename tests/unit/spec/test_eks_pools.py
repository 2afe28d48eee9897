"""Pools that EKS cannot make, each problem at its place."""

from typing import Any

import pytest

from mlcluster.spec.checks.eks_autoscaling import autoscaling_problems
from mlcluster.spec.checks.eks_pools import eks_pool_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from tests.eks_contexts import eks_context, eks_spec
from tests.specs import EXISTING, LOCAL, SHARED, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit

POOL: Loc = ("nodePools", 0)
BLOCK: Data = {"type": "capacityBlock", "reservationId": "cr-0abc"}
ONE_ZONE: Data = {"zones": ["us-west-2b"]}
SPOT: Data = {"type": "spot", "also": ["m7a.2xlarge"]}
ROCKET: Data = {"ami": {"family": "bottlerocket"}}
FIXED: Data = {**SYSTEM, "name": "fixed", "minSize": 4}


def problems(*pools: Data, **target: Any) -> dict[Loc, str]:
    """Return place -> message and hint; every problem has a hint."""
    spec = eks_spec(*pools, **target)
    found = [*eks_pool_problems(spec), *autoscaling_problems(spec)]
    assert all(problem.message and problem.hint for problem in found)
    assert len({problem.loc for problem in found}) == len(found)
    return {problem.loc: f"{problem.message}; {problem.hint}" for problem in found}


GOOD: list[Data] = [
    SYSTEM,
    TRAIN,
    {**TRAIN, "network": {"efa": True}},
    {**TRAIN, "network": {"efa": True, "placementGroup": "cluster"}, **ONE_ZONE},
    {**TRAIN, "network": {"efa": True}, "capacity": {"type": "spot"}},
    {**TRAIN, "capacity": {**BLOCK, "startsAt": "2026-12-01T11:30Z", "endsAt": "2026-12-03T11:30Z"}, **ONE_ZONE},
    {**TRAIN, "capacity": {"type": "reservation", "reservationId": "cr-0abc"}, "minSize": 2, **ONE_ZONE},
    {**SYSTEM, "capacity": SPOT, "zones": ["us-west-2a", "us-west-2c"]},
    {**SYSTEM, "startupTaints": [{"key": "startup-taint.cluster-autoscaler.kubernetes.io/x", "effect": "NoSchedule"}]},
    {**SYSTEM, "rootVolume": {"size": "64Ti", "iops": 80_000, "throughputMib": 2000}},
    {**SYSTEM, "rootVolume": {"size": "20Gi", "iops": 10_000, "throughputMib": 2000}},
    {**SYSTEM, "ami": {"release": "1.34.3-20260818"}, "hugepages2Mi": 1024},
    {**SYSTEM, "update": {"maxUnavailable": 4}, "repair": False, "warm": {"nodes": 4}},
    {**SYSTEM, "warmPool": {"minSize": 4, "state": "running"}},
    {**SYSTEM, "warmPool": {}, **ROCKET},
    {**SHARED, **ROCKET},
    {**TRAIN, "gpu": {"timeSlicing": {"replicas": 4}}, **ROCKET},
    {**SYSTEM, "instanceType": "g5g.2xlarge", **ROCKET},
]


@pytest.mark.parametrize("pool", GOOD)
def test_good_pools_have_no_problem(pool: Data) -> None:
    assert problems(pool, kubernetesVersion="1.34") == {}


BAD: list[tuple[Data, Loc, str]] = [
    # zones
    ({**SYSTEM, "zones": ["us-west-2d"]}, ("zones", 0), "the cluster has no subnet in us-west-2d"),
    ({**SYSTEM, "zones": ["us-west-2a", "us-west-2a"]}, ("zones", 1), "duplicate zone us-west-2a"),
    ({**TRAIN, "network": {"efa": True}, "zones": ["us-west-2a", "us-west-2b"]}, ("zones",), "EFA needs a single zone"),
    (
        {**TRAIN, "network": {"placementGroup": "cluster"}, "zones": ["us-west-2a", "us-west-2b"]},
        ("zones",),
        "a placement group needs a single zone, got 2",
    ),
    (
        {**TRAIN, "capacity": BLOCK, "zones": ["us-west-2a", "us-west-2b"]},
        ("zones",),
        "reserved capacity needs a single zone",
    ),
    # labels and taints
    ({**SYSTEM, "labels": {"eks.amazonaws.com/x": "y"}}, ("labels", "eks.amazonaws.com/x"), "reserved for EKS"),
    (
        {**TRAIN, "labels": {"k8s.amazonaws.com/accelerator": "y"}},
        ("labels", "k8s.amazonaws.com/accelerator"),
        "reserved",
    ),
    (
        {**SYSTEM, "taints": [{"key": "karpenter.sh/x", "effect": "NoSchedule"}]},
        ("taints", 0, "key"),
        "keys with the domain karpenter.sh are reserved",
    ),
    (
        {**SYSTEM, "startupTaints": [{"key": "a b", "effect": "NoSchedule"}]},
        ("startupTaints", 0, "key"),
        "expected a name of",
    ),
    (
        {**TRAIN, "startupTaints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        ("startupTaints", 0, "key"),
        "is the accelerator taint",
    ),
    (
        {
            **SYSTEM,
            "taints": [{"key": "x", "effect": "NoSchedule"}],
            "startupTaints": [{"key": "x", "effect": "NoSchedule"}],
        },
        ("startupTaints", 0),
        "duplicate taint x:NoSchedule; it is also taints[0]",
    ),
    (
        {**SYSTEM, "startupTaints": [{"key": "x", "effect": "NoExecute"}] * 2},
        ("startupTaints", 1),
        "duplicate taint x:NoExecute; it is also startupTaints[0]",
    ),
    # image and volume
    ({**SYSTEM, "ami": {"family": "al2"}}, ("ami", "family"), "Amazon Linux 2 image on 2025-11-26"),
    (
        {**SYSTEM, "ami": {"release": "1.33.1-20260818"}},
        ("ami", "release"),
        "expected a release of the AL2023 image for",
    ),
    ({**SYSTEM, "instanceType": "g7.2xlarge"}, ("instanceType",), "needs NVIDIA driver 595"),
    (
        {**SYSTEM, "rootVolume": {"size": "10Gi"}},
        ("rootVolume", "size"),
        "expected 20 to 65,536 GiB, got 10 GiB (10Gi)",
    ),
    ({**SYSTEM, "rootVolume": {"size": "65Ti"}}, ("rootVolume", "size"), "got 66,560 GiB (65Ti)"),
    ({**SYSTEM, "rootVolume": {"size": "20Gi", "iops": 10_001}}, ("rootVolume", "iops"), "10,000 for 20 GiB"),
    ({**SYSTEM, "rootVolume": {"throughputMib": 751}}, ("rootVolume", "throughputMib"), "750 for 3,000 IOPS"),
    ({**SYSTEM, "hugepages2Mi": 20_000}, ("hugepages2Mi",), "40,000 MiB of huge pages exceed"),
    # EFA
    (
        {**SYSTEM, "instanceType": "c6in.32xlarge", "network": {"efa": True}},
        ("network", "efa"),
        "EFA needs an instance type with GPUs",
    ),
    # sharing on Bottlerocket
    (
        {**SHARED, **ROCKET, "gpu": {"mig": "all-4g.20gb"}},
        ("gpu", "mig"),
        "does not support MIG layout all-4g.20gb on a100",
    ),
    (
        {**SHARED, **ROCKET, "instanceType": "p6-b300.48xlarge", "gpu": {"mig": "all-1g.34gb"}},
        ("gpu", "mig"),
        "does not support MIG layout all-1g.34gb on b300",
    ),
    # update
    (
        {**SYSTEM, "update": {"maxUnavailable": 1, "maxUnavailablePercent": 10}},
        ("update", "maxUnavailablePercent"),
        "mutually exclusive",
    ),
    ({**SYSTEM, "update": {"maxUnavailable": 5}}, ("update", "maxUnavailable"), "expected at most 4 (maxSize), got 5"),
    # capacity
    ({**TRAIN, "capacity": BLOCK}, (), "zones is missing; capacity type capacityBlock"),
    (
        {**TRAIN, "capacity": {"type": "reservation", "reservationId": "cr-0a"}},
        (),
        "zones is missing; capacity type reservation",
    ),
    ({**TRAIN, "capacity": BLOCK, "minSize": 1, **ONE_ZONE}, ("minSize",), "no nodes before its start"),
    (
        {**TRAIN, "capacity": BLOCK, "network": {"placementGroup": "cluster"}, **ONE_ZONE},
        ("network", "placementGroup"),
        "not supported with Capacity Blocks",
    ),
    (
        {
            **TRAIN,
            "capacity": {**BLOCK, "startsAt": "2026-12-03T11:30Z", "endsAt": "2026-12-03T11:30:00Z"},
            **ONE_ZONE,
        },
        ("capacity", "endsAt"),
        "the end is not after the start",
    ),
    (
        {**TRAIN, "capacity": {**BLOCK, "startsAt": "2026-02-30T11:30Z"}, **ONE_ZONE},
        ("capacity", "startsAt"),
        "2026-02-30T11:30Z is not a valid date and time",
    ),
    (
        {**SYSTEM, "capacity": {"startsAt": "2026-12-01T11:30Z"}},
        ("capacity", "startsAt"),
        "startsAt needs capacity type capacityBlock, got onDemand",
    ),
    ({**SYSTEM, "capacity": {"also": ["m7a.2xlarge"]}}, ("capacity", "also"), "need capacity type spot, got onDemand"),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["m7i.2xlarge"]}},
        ("capacity", "also", 0),
        "duplicate instance type m7i.2xlarge",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["m7a.2xlarge", "m7a.2xlarge"]}},
        ("capacity", "also", 1),
        "duplicate instance type m7a.2xlarge",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["m7i.3xlarge"]}},
        ("capacity", "also", 0),
        "unknown size 3xlarge of instance family m7i",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["m7g.2xlarge"]}},
        ("capacity", "also", 0),
        "differs from m7i.2xlarge: expected amd64, got arm64",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["g6.2xlarge"]}},
        ("capacity", "also", 0),
        "the GPU model of g6.2xlarge differs from m7i.2xlarge: expected none, got l4",
    ),
    (
        {**SYSTEM, "instanceType": "g6.8xlarge", "capacity": {"type": "spot", "also": ["g6.12xlarge"]}},
        ("capacity", "also", 0),
        "differs from g6.8xlarge: expected 1, got 4",
    ),
    (
        {**SHARED, "gpu": {}, "capacity": {"type": "spot", "also": ["p4de.24xlarge"]}},
        ("capacity", "also", 0),
        "the GPU memory of p4de.24xlarge differs from p4d.24xlarge",
    ),
    (
        {
            **TRAIN,
            "instanceType": "p5e.48xlarge",
            "network": {"efa": True},
            "capacity": {"type": "spot", "also": ["p5en.48xlarge"]},
        },
        ("capacity", "also", 0),
        "differs from p5e.48xlarge: expected 32, got 16",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["m7i.xlarge"]}},
        ("capacity", "also", 0),
        "m7i.xlarge offers less cpu than m7i.2xlarge: expected at least 7,910 milli-CPU, got 3,920",
    ),
    (
        {**SYSTEM, "capacity": {"type": "spot", "also": ["c7i.2xlarge"]}},
        ("capacity", "also", 0),
        "c7i.2xlarge offers less memory than m7i.2xlarge",
    ),
    (
        {**SYSTEM, "instanceType": "m6id.2xlarge", "capacity": {"type": "spot", "also": ["m7i.2xlarge"]}},
        ("capacity", "also", 0),
        "m7i.2xlarge offers less ephemeral-storage than m6id.2xlarge",
    ),
    # nodes that wait
    ({**SYSTEM, "warm": {"nodes": 5}}, ("warm", "nodes"), "expected at most 4 (maxSize), got 5"),
    (
        {**SYSTEM, "capacity": SPOT, "warmPool": {}},
        ("warmPool",),
        "does not support warm pools with capacity type spot",
    ),
    (
        {**TRAIN, "capacity": BLOCK, "warmPool": {}, **ONE_ZONE},
        ("warmPool",),
        "does not support warm pools with capacity type capacityBlock",
    ),
    ({**SYSTEM, "warmPool": {"minSize": 5}}, ("warmPool", "minSize"), "expected at most 4 (maxSize), got 5"),
    (
        {**SYSTEM, "warmPool": {"minSize": 3, "maxPrepared": 2}},
        ("warmPool", "minSize"),
        "expected at most 2 (maxPrepared), got 3",
    ),
    (
        {**SYSTEM, "minSize": 3, "warmPool": {"maxPrepared": 2}},
        ("warmPool", "maxPrepared"),
        "expected at least 3 (minSize), got 2",
    ),
    (
        {**SYSTEM, **ROCKET, "warmPool": {"reuseOnScaleIn": True}},
        ("warmPool", "reuseOnScaleIn"),
        "Bottlerocket nodes cannot return",
    ),
    (
        {**SYSTEM, "warmPool": {"state": "hibernated"}},
        ("warmPool", "state"),
        "hibernation needs a launch template setting",
    ),
    # fast networks
    (
        {**TRAIN, "network": {"rdma": {"rdma/hca": 8}}},
        ("network", "rdma", "rdma/hca"),
        "no component on EKS provides rdma/hca",
    ),
    (
        {**SYSTEM, "instanceType": "t3.2xlarge", "network": {"placementGroup": "cluster"}, **ONE_ZONE},
        ("network", "placementGroup"),
        "cluster placement groups do not support t3.2xlarge",
    ),
]


@pytest.mark.parametrize(("pool", "place", "text"), BAD)
def test_each_problem_at_its_place(pool: Data, place: Loc, text: str) -> None:
    found = problems(pool, kubernetesVersion="1.34")
    assert list(found) == [(*POOL, *place)]
    assert text in found[(*POOL, *place)]


def test_a_node_groups_name_is_not_cut() -> None:
    pool = {**SYSTEM, "name": "a" * 40}
    fits = eks_spec(pool, rest={"metadata": {"name": "b" * 22}})
    too_long = eks_spec(pool, rest={"metadata": {"name": "b" * 23}})
    assert list(eks_pool_problems(fits)) == []
    (found,) = eks_pool_problems(too_long)
    assert found.loc == ("nodePools", 0, "name")
    assert "has 64 characters; EKS allows at most 63" in found.message
    assert "to 39 characters" in found.hint


def test_without_an_autoscaler_a_block_needs_its_start() -> None:
    pool = {**TRAIN, "capacity": BLOCK, **ONE_ZONE}
    assert "startsAt is missing" in problems(pool, autoscaler="none")["nodePools", 0, "capacity"]
    started = {**pool, "capacity": {**BLOCK, "startsAt": "2026-12-01T11:30Z"}}
    assert problems(started, autoscaler="none") == {}


def test_headroom_needs_an_autoscaler() -> None:
    found = problems({**SYSTEM, "warm": {"nodes": 1}}, autoscaler="none")
    assert "warm needs an autoscaler" in found["nodePools", 0, "warm"]


@pytest.mark.parametrize("autoscaler", ["karpenter", "clusterAutoscaler", "none"])
def test_karpenter_manages_gpu_pools_and_pools_that_scale(autoscaler: str) -> None:
    context = eks_context(FIXED, SYSTEM, TRAIN, {**SHARED, "minSize": 2}, autoscaler=autoscaler)
    by_karpenter = ["system", "train", "shared"] if autoscaler == "karpenter" else []
    assert [pool.name for pool in context.provisioned] == by_karpenter
    assert [pool.name for pool in context.spec.resolved_pools if pool.managed_by_karpenter] == by_karpenter
    assert [pool.name for pool in context.managed] == [
        pool.name for pool in context.pools if pool.name not in by_karpenter
    ]


@pytest.mark.parametrize("instance_type", ["inf2.xlarge", "trn1.32xlarge", "g4ad.4xlarge"])
def test_accelerators_of_another_vendor_are_no_gpus_for_karpenter(instance_type: str) -> None:
    """The plan makes a pool of fixed size without GPUs a node group, so no check may report that Karpenter manages it.

    Another check rejects these instance types.
    """
    fixed = {**FIXED, "instanceType": instance_type, "update": {"maxUnavailable": 2}, "warmPool": {}}
    assert problems(fixed, TRAIN, autoscaler="karpenter") == {}
    assert [pool.name for pool in eks_context(fixed, TRAIN, autoscaler="karpenter").managed] == ["fixed"]
    growing = problems(FIXED, {**fixed, "name": "growing", "minSize": 0}, autoscaler="karpenter")
    assert set(growing) == {("nodePools", 1, "update"), ("nodePools", 1, "warmPool")}


@pytest.mark.parametrize(
    ("instant", "exists"),
    [
        ("2028-02-29T23:59:59Z", True),
        ("2026-12-31T00:00Z", True),
        ("2027-02-29T11:30Z", False),
        ("2026-13-01T11:30Z", False),
        ("2026-00-01T11:30Z", False),
        ("2026-12-00T11:30Z", False),
        ("0000-12-01T11:30Z", False),
        ("2026-12-01T24:00Z", False),
        ("2026-12-01T11:60Z", False),
        ("2026-12-01T11:30:60Z", False),
    ],
)
def test_a_block_starts_on_a_day_that_there_is(instant: str, exists: bool) -> None:
    found = problems({**TRAIN, "capacity": {**BLOCK, "startsAt": instant}, **ONE_ZONE})
    assert list(found) == ([] if exists else [(*POOL, "capacity", "startsAt")])


def test_karpenter_runs_on_nodes_that_it_does_not_make() -> None:
    assert problems(FIXED, SYSTEM, TRAIN, autoscaler="karpenter") == {}
    found = problems(SYSTEM, {**TRAIN, "minSize": 8}, autoscaler="karpenter")
    assert list(found) == [("target", "autoscaler")]
    assert "Add a pool of fixed size without GPUs" in found["target", "autoscaler"]


@pytest.mark.parametrize(
    ("fields", "place", "text"),
    [
        ({"minSize": 2}, ("minSize",), "`minSize: 0` and `warm: {nodes: 2}`, or `minSize: 4` for a fixed size"),
        ({"update": {"maxUnavailable": 1}}, ("update",), "Karpenter manages the nodes"),
        ({"warmPool": {}}, ("warmPool",), "does not support warm pools"),
    ],
)
def test_options_that_karpenter_does_not_support_are_rejected(fields: Data, place: Loc, text: str) -> None:
    pool = {**SYSTEM, **fields}
    found = problems(pool, FIXED, autoscaler="karpenter")
    assert list(found) == [(*POOL, *place)]
    assert text in found[(*POOL, *place)]
    assert problems(pool, FIXED, autoscaler="clusterAutoscaler") == {}


@pytest.mark.parametrize("target", [LOCAL, EXISTING])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("zones", ["us-west-2a"]),
        ("startupTaints", [{"key": "x", "effect": "NoSchedule"}]),
        ("ami", {"family": "bottlerocket"}),
        ("rootVolume", {"size": "200Gi"}),
        ("hugepages2Mi", 512),
        ("update", {"maxUnavailable": 2}),
        ("repair", False),
        ("warm", {"nodes": 1}),
        ("warmPool", {}),
    ],
)
def test_options_of_eks_are_rejected_on_other_targets(key: str, value: Any, target: Data) -> None:
    spec = ClusterSpec.model_validate(cluster({**SYSTEM, key: value}, target=target))
    (found,) = eks_pool_problems(spec)
    assert (found.loc, found.key) == ((*POOL, key), True)
    assert found.message == f"{key} is not supported on target {target['kind']}, only on eks"


def test_every_pool_is_checked() -> None:
    found = problems(SYSTEM, {**TRAIN, "capacity": BLOCK}, {**SHARED, "ami": {"family": "al2"}})
    assert set(found) == {("nodePools", 1), ("nodePools", 2, "ami", "family")}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"hugepages2Mi": 512}, ("hugepages2Mi",)),
        ({"network": {"efa": True}}, ("network", "efa")),
        ({"gpu": {"timeSlicing": {"replicas": 4}}}, ("gpu", "timeSlicing")),
        ({"gpu": {"mps": {"replicas": 2}}}, ("gpu", "mps")),
        ({"gpu": {"mig": "all-1g.10gb"}, **ROCKET}, ("gpu", "mig")),
    ],
)
def test_resources_unknown_to_karpenter_before_a_node_exists_are_rejected(fields: Data, where: Loc) -> None:
    fixed: Data = {**SYSTEM, "minSize": 4}
    found = problems({**TRAIN, **fields}, fixed, autoscaler="karpenter")
    assert list(found) == [(*POOL, *where)]
    assert "`minSize: 8` for a fixed size" in found[(*POOL, *where)]
    assert problems({**TRAIN, **fields, "minSize": 8}, fixed, autoscaler="karpenter") == {}


def test_mig_on_al2023_needs_the_gpu_operator() -> None:
    assert problems(SHARED) == {}


def test_values_that_do_not_fit_into_tags_of_a_group_are_rejected() -> None:
    long, fits = "example.com/" + "k" * 63, "example.com/k"
    assert problems({**SYSTEM, "labels": {fits: "x", long: "x"}}) == {}
    longer = "a" * 30 + "." + long
    assert list(problems({**SYSTEM, "labels": {longer: "x"}})) == [(*POOL, "labels", longer)]
    many = {f"example.com/k{number}": "x" for number in range(31)}
    assert list(problems({**SYSTEM, "labels": many})) == [(*POOL, "labels")]
    assert problems({**SYSTEM, "minSize": 4, "labels": many}, autoscaler="none") == {}


def test_without_an_autoscaler_every_node_is_there_from_the_start() -> None:
    found = problems({**SYSTEM, "minSize": 2}, autoscaler="none")
    assert list(found) == [(*POOL, "maxSize")]
    assert "quotas assume 4 nodes" in found[(*POOL, "maxSize")]
    block = {"capacity": {**BLOCK, "startsAt": "2026-12-01T11:30Z"}, **ONE_ZONE}
    assert problems({**TRAIN, **block}, autoscaler="none") == {}
