"""Managed node groups: every pool option against the inputs that it must give, for every accelerator type."""

from typing import Any

import pytest

from mlcluster.catalog.instances import instance_names, instance_type
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.node_groups import auto_scaling_group, node_group_resources
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref, resolved
from tests.eks_contexts import by_id, eks_context
from tests.fakes.sdk_types import problems
from tests.specs import SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit

GPU_TYPES = sorted(
    name
    for name in instance_names()
    if instance_type(name).accelerator_manufacturer == "nvidia" and instance_type(name).accelerator_count
)
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
EFA: Data = {"network": {"efa": True}}
BLOCK: Data = {"type": "capacityBlock", "reservationId": "cr-0abc", "startsAt": "2026-12-01T11:30Z"}
EVERYTHING: tuple[Data, ...] = (
    {**SYSTEM, "minSize": 2, "warmPool": {"minSize": 1}, "update": {"maxUnavailablePercent": 25}},
    {**TRAIN, "network": {"efa": True, "placementGroup": "cluster"}},
    {**TRAIN, "name": "block", "capacity": BLOCK, "zones": ["us-west-2b"]},
    {**TRAIN, "name": "odcr", "capacity": {"type": "reservation", "reservationId": "cr-0abd"}},
    {
        **SYSTEM,
        "name": "rocket",
        "ami": {"family": "bottlerocket"},
        "rootVolume": {"size": "200Gi", "iops": 4000, "throughputMib": 500},
        "warmPool": {"state": "running"},
    },
    {**SYSTEM, "name": "spot", "capacity": {"type": "spot", "also": ["m7a.2xlarge"]}},
    {**SYSTEM, "name": "tainted", "startupTaints": [{"key": "example.com/starting", "effect": "NoExecute"}]},
)


def made_of(*pools: Data, **target: Any) -> dict[str, PlanResource]:
    return by_id(node_group_resources(eks_context(*pools, **target)))


def group_of(pool: Data, **target: Any) -> Any:
    return made_of(pool, **target)[f"NodeGroup/{pool['name']}"].inputs


def test_a_plain_pool() -> None:
    context = eks_context({**SYSTEM, "minSize": 2}, kubernetesVersion="1.34")
    made = by_id(node_group_resources(context))["NodeGroup/system"]
    assert (made.spec_path, made.ignore) == (("nodePools", 0), ("scalingConfig.desiredSize",))
    assert made.inputs == {
        "clusterName": "atlas",
        "nodeGroupName": "atlas-system",
        "nodeRoleArn": Ref("Role/atlas-nodes", "arn"),
        "subnetIds": [Ref(f"Subnet/private-{zone}", "id") for zone in context.zones],
        "amiType": "AL2023_x86_64_STANDARD",
        "version": "1.34",
        "releaseVersion": made.inputs["releaseVersion"],
        "capacityType": "ON_DEMAND",
        "instanceTypes": ["m7i.2xlarge"],
        "scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 2},
        "labels": {"mlcluster.dev/pool": "system"},
        "taints": [],
        "launchTemplate": {
            "id": Ref("LaunchTemplate/system", "id"),
            "version": Ref("LaunchTemplate/system", "latestVersion"),
        },
        "updateConfig": {"maxUnavailable": 1, "updateStrategy": "DEFAULT"},
        "nodeRepairConfig": {"enabled": True},
        "tags": {**context.tags, "mlcluster.dev/pool": "system", "Name": "atlas-system"},
    }
    assert made.inputs["releaseVersion"].startswith("1.34.")


def test_a_node_group_waits_for_the_resources_that_make_its_nodes_ready() -> None:
    needs = made_of(SYSTEM)["NodeGroup/system"].needs
    assert {"Cluster/atlas", "Addon/vpc-cni", "Addon/kube-proxy", "Addon/eks-pod-identity-agent"} <= set(needs)
    assert any(need.startswith("RolePolicyAttachment/atlas-nodes") for need in needs)
    assert {"Route/private-us-west-2a", "LaunchTemplate/system"} <= set(needs)


@pytest.mark.parametrize("name", GPU_TYPES)
def test_every_gpu_type(name: str) -> None:
    facts = instance_type(name)
    efa = bool(facts.efa)
    pool = {"name": "gpus", "instanceType": name, "maxSize": 2, "network": {"efa": efa}}
    made = made_of(pool)
    group, template = made["NodeGroup/gpus"].inputs, made["LaunchTemplate/gpus"].inputs
    assert group["amiType"] == ("AL2023_ARM_64_NVIDIA" if facts.arch == "arm64" else "AL2023_x86_64_NVIDIA")
    assert group["taints"] == [TAINT]
    assert group["labels"]["k8s.amazonaws.com/accelerator"].startswith("nvidia-")
    assert ("RAID0" in template["userData"].text) is bool(facts.local_nvme_gb)
    assert len(group["subnetIds"]) == (1 if efa else 3)
    places = [(one["networkCardIndex"], one["deviceIndex"]) for one in template.get("networkInterfaces", [])]
    assert len(set(places)) == len(places) == (facts.efa + 1 if efa else 0)
    assert group["labels"].get("mlcluster.dev/efa") == ("true" if efa else None)
    assert ("SecurityGroup/atlas-efa" in made) is efa


@pytest.mark.parametrize(
    ("pool", "kind"),
    [
        (SYSTEM, "AL2023_x86_64_STANDARD"),
        ({**SYSTEM, "instanceType": "m7g.2xlarge"}, "AL2023_ARM_64_STANDARD"),
        ({**SYSTEM, "ami": {"family": "bottlerocket"}}, "BOTTLEROCKET_x86_64"),
        ({**SYSTEM, "instanceType": "m7g.2xlarge", "ami": {"family": "bottlerocket"}}, "BOTTLEROCKET_ARM_64"),
        ({**TRAIN, "ami": {"family": "bottlerocket"}}, "BOTTLEROCKET_x86_64_NVIDIA"),
        ({**SYSTEM, "instanceType": "g5g.2xlarge", "ami": {"family": "bottlerocket"}}, "BOTTLEROCKET_ARM_64_NVIDIA"),
    ],
)
def test_the_image_follows_family_architecture_and_accelerator(pool: Data, kind: str) -> None:
    made = group_of(pool)
    assert made["amiType"] == kind
    assert made["releaseVersion"]


def test_the_pool_may_pin_its_own_release() -> None:
    pool = {**SYSTEM, "ami": {"release": "1.34.2-20260101"}}
    assert group_of(pool)["releaseVersion"] == "1.34.2-20260101"


def test_taints_are_spelt_as_eks_has_them_and_startup_taints_come_last() -> None:
    pool = {
        **TRAIN,
        "taints": [{"key": "dedicated", "value": "ml", "effect": "PreferNoSchedule"}],
        "startupTaints": [{"key": "example.com/starting", "effect": "NoExecute"}],
    }
    assert group_of(pool)["taints"] == [
        {"key": "dedicated", "value": "ml", "effect": "PREFER_NO_SCHEDULE"},
        TAINT,
        {"key": "example.com/starting", "effect": "NO_EXECUTE"},
    ]


@pytest.mark.parametrize(
    ("pool", "zones"),
    [
        (SYSTEM, ["us-west-2a", "us-west-2b", "us-west-2c"]),
        ({**SYSTEM, "zones": ["us-west-2c", "us-west-2a"]}, ["us-west-2c", "us-west-2a"]),
        ({**TRAIN, **EFA}, ["us-west-2a"]),
        ({**TRAIN, **EFA, "zones": ["us-west-2b"]}, ["us-west-2b"]),
        ({**TRAIN, "network": {"placementGroup": "cluster"}}, ["us-west-2a"]),
        ({**TRAIN, "capacity": BLOCK, "zones": ["us-west-2c"]}, ["us-west-2c"]),
    ],
)
def test_subnets_of_the_pools_zones(pool: Data, zones: list[str]) -> None:
    assert group_of(pool)["subnetIds"] == [Ref(f"Subnet/private-{zone}", "id") for zone in zones]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}),
        ({"update": {"maxUnavailable": 3}}, {"maxUnavailable": 3, "updateStrategy": "DEFAULT"}),
        ({"update": {"maxUnavailablePercent": 20}}, {"maxUnavailablePercentage": 20, "updateStrategy": "DEFAULT"}),
        ({"capacity": BLOCK}, {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}),
        (
            {"capacity": {"type": "reservation", "reservationId": "cr-0abc"}},
            {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
        ),
    ],
)
def test_updates(fields: Data, expected: Data) -> None:
    assert group_of({**TRAIN, **fields})["updateConfig"] == expected


def test_node_repair_can_be_switched_off() -> None:
    assert group_of({**SYSTEM, "repair": False})["nodeRepairConfig"] == {"enabled": False}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"warmPool": {}},
            {"minSize": 0, "maxGroupPreparedCapacity": 4, "poolState": "STOPPED", "reuseOnScaleIn": True},
        ),
        (
            {"warmPool": {"minSize": 1, "maxPrepared": 3, "state": "running", "reuseOnScaleIn": False}},
            {"minSize": 1, "maxGroupPreparedCapacity": 3, "poolState": "RUNNING", "reuseOnScaleIn": False},
        ),
        (
            {"warmPool": {}, "ami": {"family": "bottlerocket"}},
            {"minSize": 0, "maxGroupPreparedCapacity": 4, "poolState": "STOPPED", "reuseOnScaleIn": False},
        ),
    ],
)
def test_warm_pools_are_part_of_the_node_group(fields: Data, expected: Data) -> None:
    assert group_of({**SYSTEM, **fields})["warmPoolConfig"] == expected


def test_without_a_warm_pool_there_is_none() -> None:
    assert "warmPoolConfig" not in group_of(SYSTEM)


def test_with_karpenter_only_fixed_pools_without_gpus_are_node_groups() -> None:
    made = made_of({**SYSTEM, "minSize": 4}, {**SYSTEM, "name": "burst"}, {**TRAIN, **EFA}, autoscaler="karpenter")
    assert set(made) == {"LaunchTemplate/system", "NodeGroup/system"}


def test_every_resource_is_planned_once_and_after_its_needs() -> None:
    made = made_of(*EVERYTHING, autoscaler="none")
    seen: set[str] = set()
    for entry in made.values():
        assert not (set(entry.needs) & set(made)) - seen, entry.id
        seen.add(entry.id)
    assert {"PlacementGroup/train", "Schedule/block-start", "SecurityGroup/atlas-efa"} <= set(made)


def test_every_input_is_an_argument_of_its_type() -> None:
    made = made_of(*EVERYTHING, autoscaler="none")
    assert len({entry.type for entry in made.values()}) == 7
    for entry in made.values():
        assert problems(resolved(entry.inputs, str), entry.type) == [], entry.id


def test_every_taggable_resource_is_tagged() -> None:
    context: EksContext = eks_context(*EVERYTHING, autoscaler="none")
    for entry in node_group_resources(context):
        if not entry.id.startswith("Schedule/"):
            assert context.tags.items() <= entry.inputs["tags"].items(), entry.id


def test_the_auto_scaling_group_is_an_output_of_the_node_group() -> None:
    pool = eks_context(SYSTEM).pools[0]
    assert auto_scaling_group(pool) == Ref("NodeGroup/system", "resources[0].autoscalingGroups[0].name")
