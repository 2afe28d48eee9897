"""Karpenter: its objects against its own CRDs, its rights, its queue, its release."""

import json
from typing import Any

import pytest

from mlcluster.plan.eks.headroom import headroom_objects
from mlcluster.plan.eks.karpenter import (
    CRD_RELEASE_ID,
    RELEASE_ID,
    karpenter_objects,
    karpenter_pods,
    karpenter_releases,
    karpenter_resources,
)
from mlcluster.plan.eks.karpenter_access import karpenter_statements
from mlcluster.plan.eks.karpenter_events import queue_arn
from mlcluster.plan.eks.node_groups import node_group_resources
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.values import Ref, printable, references, resolved
from tests.eks_contexts import OWN_VPC, by_id, eks_context
from tests.fakes.sdk_types import problems
from tests.specs import SYSTEM, TRAIN, Data
from tests.upstream import errors_of, needs_reference

pytestmark = pytest.mark.unit

FIXED: Data = {**SYSTEM, "minSize": 2, "maxSize": 2}
CPU: Data = {"name": "cpu", "instanceType": "m7i.4xlarge", "maxSize": 10}
EFA: Data = {**TRAIN, "network": {"efa": True, "placementGroup": "cluster"}}
STATIC: Data = {**TRAIN, "name": "static", "minSize": 8}
BLOCK: Data = {**EFA, "name": "block", "capacity": {"type": "capacityBlock", "reservationId": "cr-0abc"}}
RESERVED: Data = {**TRAIN, "name": "reserved", "capacity": {"type": "reservation", "reservationId": "cr-0def"}}
SPOT: Data = {
    "name": "spot",
    "instanceType": "g5.12xlarge",
    "maxSize": 4,
    "capacity": {"type": "spot", "also": ["g5.24xlarge"]},
    "taints": [{"key": "cheap", "effect": "NoSchedule"}, {"key": "team", "value": "a", "effect": "NoExecute"}],
    "startupTaints": [{"key": "example.com/checking", "effect": "NoSchedule"}],
    "labels": {"ml-purpose": "inference"},
    "rootVolume": {"size": "1500G", "iops": 6000, "throughputMib": 500},
}
BOTTLEROCKET: Data = {**SPOT, "name": "rocket", "ami": {"family": "bottlerocket"}, "capacity": {}}
GRAVITON: Data = {"name": "graviton", "instanceType": "m7g.4xlarge", "maxSize": 4}
MIG: Data = {
    "name": "mig",
    "instanceType": "p4d.24xlarge",
    "minSize": 2,
    "maxSize": 2,
    "gpu": {"mig": "all-1g.5gb"},
    "ami": {"family": "bottlerocket"},
}
EVERY = (FIXED, CPU, EFA, STATIC, BLOCK, RESERVED, SPOT, BOTTLEROCKET, GRAVITON, MIG)


def lookup(ref: Ref) -> str:
    """Return outputs in the format of AWS."""
    kind = ref.resource.partition("/")[0]
    answers = {
        "clusterSecurityGroupId": "sg-0c1",
        "arn": f"arn:aws:x:us-west-2:111122223333:{ref.resource}",
        "url": "https://sqs.us-west-2.amazonaws.com/111122223333/atlas-karpenter",
        "name": ref.resource.partition("/")[2],
        "id": {"Subnet": "subnet-0a1", "SecurityGroup": "sg-0e1"}.get(kind, "vpc-0a1"),
    }
    return answers[ref.output]


def made(*pools: Data, **target: Any) -> dict[str, Manifest]:
    """Return the objects by id, with every reference known."""
    here = eks_context(*(pools or EVERY), autoscaler="karpenter", **target)
    return {entry.id: resolved(entry.manifest, lookup) for entry in karpenter_objects(here)}


def pool_spec(pool: Data) -> Manifest:
    spec: Manifest = made(FIXED, pool)[f"NodePool/{pool['name']}"]["spec"]
    return spec


def class_spec(pool: Data, **target: Any) -> Manifest:
    spec: Manifest = made(FIXED, pool, **target)[f"EC2NodeClass/{pool['name']}"]["spec"]
    return spec


def requirement(pool: Data, key: str) -> list[str]:
    (found,) = (one for one in pool_spec(pool)["template"]["spec"]["requirements"] if one["key"] == key)
    assert found["operator"] == "In"
    values: list[str] = found["values"]
    return values


@needs_reference
def test_every_object_is_valid_against_the_crds() -> None:
    found = made()
    assert len(found) == 2 * (len(EVERY) - 1)
    for identifier, manifest in found.items():
        assert errors_of(manifest) == [], identifier


@needs_reference
@pytest.mark.parametrize(
    ("identifier", "path", "value"),
    [
        ("NodePool/spot", ("spec", "template", "spec", "taints", 0, "value"), ""),
        ("NodePool/spot", ("spec", "template", "spec", "expireafter"), "Never"),
        ("NodePool/spot", ("spec", "disruption", "budgets", 0, "nodes"), "some"),
        ("EC2NodeClass/train", ("spec", "networkInterfaces", 0, "interfaceType"), "efa"),
        ("EC2NodeClass/train", ("spec", "blockDeviceMappings", 0, "ebs", "volumeSize"), 100),
        ("EC2NodeClass/train", ("spec", "securityGroupSelectorTerms", 0, "id"), "atlas"),
    ],
)
def test_the_schemas_reject_an_invalid_object(identifier: str, path: tuple[str | int, ...], value: object) -> None:
    manifest = json.loads(json.dumps(made()[identifier]))
    inside = manifest
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = value
    assert errors_of(manifest)


def test_objects_follow_the_cel_rules_of_the_crds() -> None:
    for identifier, manifest in made().items():
        spec = manifest["spec"]
        if manifest["kind"] == "NodePool":
            assert "replicas" not in spec or set(spec["limits"]) == {"nodes"}, identifier
            continue
        assert ("role" in spec) != ("instanceProfile" in spec)
        assert all("volumeSize" in device["ebs"] for device in spec["blockDeviceMappings"])
        assert not [key for key in spec["tags"] if key.startswith(("kubernetes.io/cluster", "karpenter"))]
        interfaces = spec.get("networkInterfaces", [])
        places = [(one["networkCardIndex"], one["deviceIndex"]) for one in interfaces]
        assert len(set(places)) == len(places)


def test_only_pools_that_karpenter_provisions_have_objects() -> None:
    assert set(made(FIXED, CPU)) == {"EC2NodeClass/cpu", "NodePool/cpu"}


def test_a_pool_never_has_more_nodes_than_its_quota_counts() -> None:
    assert pool_spec(TRAIN)["limits"] == {"nodes": "8", "cpu": "1536", "nvidia.com/gpu": "64"}
    assert pool_spec(CPU)["limits"] == {"nodes": "10", "cpu": "160"}
    assert pool_spec(SPOT)["limits"]["cpu"] == "384"
    sliced = {**TRAIN, "gpu": {"timeSlicing": {"replicas": 4}}}
    assert pool_spec(sliced)["limits"]["nvidia.com/gpu"] == "256"


@pytest.mark.parametrize(
    ("pool", "kinds"),
    [(CPU, ["on-demand"]), (SPOT, ["spot"]), (RESERVED, ["reserved"]), (BLOCK, ["reserved"])],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_nodes_have_the_capacity_type_of_the_spec(pool: Data, kinds: list[str]) -> None:
    assert requirement(pool, "karpenter.sh/capacity-type") == kinds
    reservation = pool.get("capacity", {}).get("reservationId")
    terms = class_spec(pool).get("capacityReservationSelectorTerms")
    assert terms == ([{"id": reservation}] if reservation else None)


@pytest.mark.parametrize(("kind", "kinds"), [("onDemand", ["reserved", "on-demand"]), ("spot", ["reserved", "spot"])])
def test_a_reservation_is_used_first(kind: str, kinds: list[str]) -> None:
    """The spec's checks refuse it today; were it allowed, this is the order that Karpenter takes."""
    pool = {**TRAIN, "capacity": {"type": kind, "reservationId": "cr-0abc"}}
    assert requirement(pool, "karpenter.sh/capacity-type") == kinds


def test_node_requirements_follow_the_pool() -> None:
    assert requirement(SPOT, "node.kubernetes.io/instance-type") == ["g5.12xlarge", "g5.24xlarge"]
    assert requirement(GRAVITON, "kubernetes.io/arch") == ["arm64"]
    assert requirement(CPU, "topology.kubernetes.io/zone") == ["us-west-2a", "us-west-2b", "us-west-2c"]
    assert requirement(EFA, "topology.kubernetes.io/zone") == ["us-west-2a"]


def test_nodes_have_the_labels_and_taints_of_the_pool() -> None:
    template = pool_spec(SPOT)["template"]
    assert template["metadata"]["labels"] == {
        "mlcluster.dev/pool": "spot",
        "k8s.amazonaws.com/accelerator": "nvidia-a10g",
        "ml-purpose": "inference",
    }
    assert template["spec"]["taints"] == [
        {"key": "cheap", "effect": "NoSchedule"},
        {"key": "team", "value": "a", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    ]
    assert template["spec"]["startupTaints"] == [{"key": "example.com/checking", "effect": "NoSchedule"}]


def budgets(pool: Data) -> dict[str, str]:
    return {reason: one["nodes"] for one in pool_spec(pool)["disruption"]["budgets"] for reason in one["reasons"]}


def test_training_is_left_alone() -> None:
    disruption = pool_spec(TRAIN)["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == ("WhenEmpty", "10m")
    assert budgets(TRAIN) == {"Drifted": "0", "Underutilized": "0"}
    assert pool_spec(TRAIN)["template"]["spec"]["expireAfter"] == "Never"
    assert pool_spec(BLOCK)["disruption"]["consolidateAfter"] == "24h"


def test_cpu_nodes_are_packed_and_replaced_one_by_one() -> None:
    assert pool_spec(CPU)["disruption"]["consolidationPolicy"] == "WhenEmptyOrUnderutilized"
    assert budgets(CPU) == {"Drifted": "1", "Underutilized": "10%"}


@pytest.mark.parametrize(("update", "nodes"), [({"maxUnavailable": 3}, "3"), ({"maxUnavailablePercent": 25}, "25%")])
def test_the_spec_limits_the_nodes_that_a_change_replaces(update: Data, nodes: str) -> None:
    assert budgets({**CPU, "update": update})["Drifted"] == nodes
    assert budgets({**TRAIN, "update": update})["Drifted"] == nodes


def test_a_pool_of_fixed_size_with_accelerators_is_static() -> None:
    spec = pool_spec(STATIC)
    assert (spec["replicas"], spec["limits"]) == (8, {"nodes": "8"})
    assert "replicas" not in pool_spec(TRAIN)


@pytest.mark.parametrize(("pools", "on"), [((FIXED, TRAIN), False), ((FIXED, STATIC), True)])
def test_the_gate_of_static_pools_is_open_where_there_is_one(pools: tuple[Data, ...], on: bool) -> None:
    gates = karpenter_releases(eks_context(*pools, autoscaler="karpenter"))[1].values["settings"]["featureGates"]
    assert gates["staticCapacity"] is on
    assert gates["reservedCapacity"] is True


@pytest.mark.parametrize(("pool", "alias"), [(CPU, "al2023@v"), (BOTTLEROCKET, "bottlerocket@v")])
def test_the_image_is_pinned(pool: Data, alias: str) -> None:
    ((_, found),) = class_spec(pool)["amiSelectorTerms"][0].items()
    assert found.startswith(alias)
    assert "latest" not in found
    assert len(found) <= 30


@pytest.mark.parametrize(
    ("family", "release", "alias"),
    [
        ("al2023", "1.34.2-20260818", "al2023@v20260818"),
        ("al2023", "20260818", "al2023@v20260818"),
        ("al2023", "v20260818", "al2023@v20260818"),
        ("bottlerocket", "1.65.0-0be31b34", "bottlerocket@v1.65.0"),
        ("bottlerocket", "v1.65.0", "bottlerocket@v1.65.0"),
    ],
)
def test_the_specs_own_release(family: str, release: str, alias: str) -> None:
    pool = {**CPU, "ami": {"family": family, "release": release}}
    assert class_spec(pool)["amiSelectorTerms"] == [{"alias": alias}]


def test_the_volumes() -> None:
    (root,) = class_spec(SPOT)["blockDeviceMappings"]
    assert root == {
        "deviceName": "/dev/xvda",
        "ebs": {
            "volumeType": "gp3",
            "encrypted": True,
            "deleteOnTermination": True,
            "volumeSize": "1397Gi",
            "iops": 6000,
            "throughput": 500,
        },
    }
    system, data = class_spec(BOTTLEROCKET)["blockDeviceMappings"]
    assert (system["ebs"]["volumeSize"], data["ebs"]["volumeSize"]) == ("4Gi", "1397Gi")
    assert class_spec(TRAIN)["instanceStorePolicy"] == "RAID0"
    assert "instanceStorePolicy" not in class_spec(CPU)


def test_every_interface_by_the_card_layout() -> None:
    primary, *efa = class_spec(EFA)["networkInterfaces"]
    assert primary == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    assert [one["networkCardIndex"] for one in efa] == list(range(32))
    assert {one["interfaceType"] for one in efa} == {"efa-only"}
    assert class_spec(EFA)["securityGroupSelectorTerms"] == [{"id": "sg-0c1"}, {"id": "sg-0e1"}]
    assert "networkInterfaces" not in class_spec(TRAIN)
    assert class_spec(TRAIN)["securityGroupSelectorTerms"] == [{"id": "sg-0c1"}]


def test_placement_is_awss_where_a_block_is_bought() -> None:
    assert class_spec(EFA)["placementGroupSelector"] == {"name": "train"}
    assert "placementGroupSelector" not in class_spec(BLOCK)


def test_pods_do_not_reach_the_nodes_role() -> None:
    assert class_spec(CPU)["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }


def test_the_kubelet_takes_as_many_pods_as_the_plan_counts() -> None:
    (_, pool) = eks_context(FIXED, CPU, autoscaler="karpenter").pools
    assert class_spec(CPU)["kubelet"] == {"maxPods": pool.allocatable["pods"]}


def test_bottlerockets_instance_store_is_karpenters() -> None:
    told = class_spec(BOTTLEROCKET)["userData"]
    assert "[settings.kubernetes]" in told
    assert "instance-store" not in told
    assert class_spec(BOTTLEROCKET)["instanceStorePolicy"] == "RAID0"


def test_an_existing_vpcs_subnets_are_named() -> None:
    zones = ["us-west-2a", "us-west-2b"]
    assert class_spec(CPU, network=OWN_VPC, zones=zones)["subnetSelectorTerms"] == [
        {"id": "subnet-0a"},
        {"id": "subnet-0b"},
    ]


def test_objects_are_deleted_before_the_controller_of_their_finalizers() -> None:
    needs = {entry.id: entry.needs for entry in karpenter_objects(eks_context(FIXED, CPU, autoscaler="karpenter"))}
    assert needs == {"EC2NodeClass/cpu": (RELEASE_ID,), "NodePool/cpu": ("EC2NodeClass/cpu",)}
    crd, controller = karpenter_releases(eks_context(FIXED, CPU, autoscaler="karpenter"))
    assert (crd.id, crd.needs, controller.needs) == (CRD_RELEASE_ID, (), (CRD_RELEASE_ID,))


def test_the_release() -> None:
    here = eks_context(*EVERY, autoscaler="karpenter", network={"nat": "none"})
    values = karpenter_releases(here)[1].values
    resources = by_id(karpenter_resources(here))
    assert values["settings"]["clusterName"] == "atlas"
    assert values["settings"]["interruptionQueue"] == resources["Queue/atlas-karpenter"].inputs["name"]
    assert values["settings"]["isolatedVPC"] is True
    association = resources["PodIdentityAssociation/atlas-karpenter"].inputs
    assert association["serviceAccount"] == values["serviceAccount"]["name"]
    assert association["namespace"] == karpenter_releases(here)[1].namespace


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (5, 2)])
def test_no_controller_waits_for_a_node_that_never_comes(nodes: int, replicas: int) -> None:
    here = eks_context({**SYSTEM, "minSize": nodes, "maxSize": nodes}, TRAIN, autoscaler="karpenter")
    assert karpenter_releases(here)[1].values["replicas"] == replicas
    (pod,) = karpenter_pods(here)
    assert (pod.replicas, pod.apart) == (replicas, True), "the chart never puts two of them on one node"


@pytest.mark.parametrize(("repairs", "on"), [((True, True), True), ((True, False), False)])
def test_no_node_is_repaired_where_one_pool_is_to_be_left(repairs: tuple[bool, bool], on: bool) -> None:
    pools = [{**pool, "repair": repair} for pool, repair in zip((CPU, TRAIN), repairs, strict=True)]
    values = karpenter_releases(eks_context(FIXED, *pools, autoscaler="karpenter"))[1].values
    assert values["settings"]["featureGates"]["nodeRepair"] is on


def test_the_controller_runs_on_managed_nodes() -> None:
    taint = {"key": "system", "effect": "NoSchedule"}
    here = eks_context({**FIXED, "taints": [taint]}, TRAIN, autoscaler="karpenter")
    (pod,) = karpenter_pods(here)
    assert [one.key for one in pod.tolerations] == ["CriticalAddonsOnly", "system"]
    assert karpenter_releases(here)[1].values["tolerations"] == toleration_manifests(pod.tolerations)
    assert pod.requests == {"cpu": 1000, "memory": 1024, "pods": 1}


def test_inputs_exist_in_the_sdk_and_taggable_resources_have_the_tags() -> None:
    here = eks_context(*EVERY, autoscaler="karpenter")
    untagged = set()
    for entry in karpenter_resources(here):
        assert problems(resolved(entry.inputs, lookup), entry.type) == [], entry.id
        if "tags" in entry.inputs:
            assert here.tags.items() <= entry.inputs["tags"].items()
        else:
            untagged.add(entry.type.rpartition(":")[2])
    assert untagged == {"RolePolicyAttachment", "RolePolicy", "QueuePolicy", "EventTarget"}


def test_resources_follow_the_resources_that_they_reference() -> None:
    for entry in karpenter_resources(eks_context(*EVERY, autoscaler="karpenter")):
        assert {ref.resource for ref in references(entry.inputs)} <= set(entry.needs)


def test_every_event_reaches_the_queue_and_nothing_else_does() -> None:
    resources = by_id(karpenter_resources(eks_context(FIXED, CPU, autoscaler="karpenter")))
    rules = {identifier for identifier in resources if identifier.startswith("EventRule/")}
    details = {printable(resources[rule].inputs["eventPattern"])["$json"]["detail-type"][0] for rule in rules}
    assert details == {
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "EC2 Capacity Reservation Instance Interruption Warning",
        "AWS Health Event",
    }
    targets = [entry.inputs for identifier, entry in resources.items() if identifier.startswith("EventTarget/")]
    assert {target["rule"].resource for target in targets} == rules
    assert {target["arn"] for target in targets} == {Ref("Queue/atlas-karpenter", "arn")}
    sent, refused = resources["QueuePolicy/atlas-karpenter"].inputs["policy"].document["Statement"]
    assert {ref.resource for ref in sent["Condition"]["ArnEquals"]["aws:SourceArn"]} == rules
    assert (refused["Effect"], refused["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def statements(*pools: Data) -> dict[str, Data]:
    here = eks_context(*pools, autoscaler="karpenter", accountId="111122223333")
    return {one["Sid"]: printable(one) for one in karpenter_statements(here, queue_arn(here))}


def test_nodes_launch_in_the_planned_subnets_with_the_planned_groups() -> None:
    assert statements(FIXED, CPU)["LaunchWith"]["Resource"] == [
        "arn:aws:ec2:us-west-2::image/*",
        "arn:aws:ec2:us-west-2::snapshot/*",
        "arn:aws:ec2:us-west-2:*:subnet/${Subnet/private-us-west-2a.id}",
        "arn:aws:ec2:us-west-2:*:subnet/${Subnet/private-us-west-2b.id}",
        "arn:aws:ec2:us-west-2:*:subnet/${Subnet/private-us-west-2c.id}",
        "arn:aws:ec2:us-west-2:*:security-group/${Cluster/atlas.clusterSecurityGroupId}",
    ]
    more = statements(FIXED, EFA, BLOCK)["LaunchWith"]["Resource"]
    assert more[-3:] == [
        "arn:aws:ec2:us-west-2:*:security-group/${SecurityGroup/atlas-efa.id}",
        "arn:aws:ec2:us-west-2:*:capacity-reservation/cr-0abc",
        "arn:aws:ec2:us-west-2:*:placement-group/atlas-*",
    ]


LOOKS = {"Look", "Prices", "Profiles"}


def test_every_write_permission_is_limited_to_the_cluster() -> None:
    found = statements(*EVERY)
    assert {sid for sid, one in found.items() if one["Resource"] == "*"} == LOOKS
    for sid in ("Launch", "LaunchFromTemplate", "TagLaunched", "NameInstances", "End"):
        owner = found[sid]["Condition"]["StringEquals"]
        assert any(key.endswith("Tag/kubernetes.io/cluster/atlas") and owner[key] == "owned" for key in owner), sid
    assert found["NodeRole"]["Resource"] == "${Role/atlas-karpenter-nodes.arn}"
    assert found["Endpoint"]["Resource"] == "arn:aws:eks:us-west-2:111122223333:cluster/atlas"


def test_it_makes_no_roles_and_no_profiles() -> None:
    actions = [action for one in statements(*EVERY).values() for action in one["Action"]]
    identity = {action for action in actions if action.startswith("iam:")}
    assert identity == {"iam:PassRole", "iam:GetInstanceProfile", "iam:ListInstanceProfiles"}
    assert not [action for action in actions if "*" in action]


def test_its_policy_fits_into_a_role() -> None:
    """IAM takes 10,240 characters of inline policies for a role, spaces not counted."""
    longest = eks_context(*EVERY, autoscaler="karpenter", rest={"metadata": {"name": "a" * 40}})
    (policy,) = (entry for entry in karpenter_resources(longest) if entry.type == "aws:iam/rolePolicy:RolePolicy")
    text = json.dumps(resolved(policy.inputs["policy"].document, lookup), separators=(",", ":"))
    assert len(text) < 10_240


def test_names_are_within_awss_limits() -> None:
    longest = eks_context(*EVERY, autoscaler="karpenter", rest={"metadata": {"name": "a" * 40}})
    limits = {"Role": 64, "InstanceProfile": 128, "EventRule": 64, "Queue": 80, "EventTarget": 64}
    for entry in karpenter_resources(longest):
        kind, _, name = entry.id.partition("/")
        assert len(name) <= limits.get(kind, 255), entry.id


def test_nodes_join_by_an_entry_of_their_own() -> None:
    resources = by_id(karpenter_resources(eks_context(FIXED, CPU, autoscaler="karpenter")))
    entry = resources["AccessEntry/atlas-karpenter-nodes"]
    assert entry.inputs["type"] == "EC2_LINUX"
    assert entry.inputs["principalArn"] == Ref("Role/atlas-karpenter-nodes", "arn")
    assert "Cluster/atlas" in entry.needs
    assert resources["InstanceProfile/atlas-karpenter-nodes"].inputs["role"].resource == "Role/atlas-karpenter-nodes"
    assert class_spec(CPU)["instanceProfile"] == "atlas-karpenter-nodes"


def test_the_groups_of_efa_and_of_placement_are_made_once() -> None:
    fixed_efa = {**CPU, "instanceType": "m7i.48xlarge", "minSize": 2, "maxSize": 2, "network": {"efa": True}}
    for pools in ((FIXED, EFA), (fixed_efa, EFA)):
        here = eks_context(*pools, autoscaler="karpenter")
        both = by_id([*node_group_resources(here), *karpenter_resources(here)])
        assert {"SecurityGroup/atlas-efa", "PlacementGroup/train"} <= set(both)


def test_headroom_runs_on_nodes_of_karpenter_too() -> None:
    warm = {**TRAIN, "warm": {"nodes": 1}}
    found = [entry.id for entry in headroom_objects(eks_context(FIXED, warm, autoscaler="karpenter"))]
    assert "Deployment/mlcluster-system/headroom-train" in found


@pytest.mark.parametrize("autoscaler", ["clusterAutoscaler", "none"])
def test_nothing_where_something_else_scales(autoscaler: str) -> None:
    here = eks_context(*EVERY, autoscaler=autoscaler)
    assert karpenter_resources(here) == []
    assert karpenter_releases(here) == []
    assert karpenter_objects(here) == []
    assert karpenter_pods(here) == ()
