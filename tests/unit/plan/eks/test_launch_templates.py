"""Launch templates: every pool option against the inputs that it must give."""

from typing import Any

import pytest

from mlcluster.plan.eks.launch_templates import launch_template
from mlcluster.plan.eks.user_data import user_data
from mlcluster.plan.values import Ref
from tests.eks_contexts import eks_context
from tests.specs import SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit

BLOCK: Data = {"type": "capacityBlock", "reservationId": "cr-0abc"}
ENCRYPTED = {"volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
BASELINE = {"iops": 3000, "throughput": 125}


def template_of(pool: Data) -> Any:
    context = eks_context(pool)
    return launch_template(context, context.pools[0]).inputs


def test_a_plain_pool() -> None:
    context = eks_context(SYSTEM)
    made = launch_template(context, context.pools[0])
    tags = {**context.tags, "mlcluster.dev/pool": "system", "Name": "atlas-system"}
    assert (made.id, made.spec_path, made.needs) == ("LaunchTemplate/system", ("nodePools", 0), ("Cluster/atlas",))
    assert made.inputs == {
        "name": "atlas-system",
        "description": "Nodes of pool system",
        "updateDefaultVersion": True,
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {**ENCRYPTED, **BASELINE, "volumeSize": 100}}],
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
            "instanceMetadataTags": "disabled",
        },
        "monitoring": {"enabled": True},
        "tagSpecifications": [
            {"resourceType": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")
        ],
        "userData": user_data(context, context.pools[0]),
        "vpcSecurityGroupIds": [Ref("Cluster/atlas", "clusterSecurityGroupId")],
        "tags": tags,
    }


@pytest.mark.parametrize(
    ("volume", "ebs"),
    [
        ({"size": "200Gi"}, {"volumeSize": 200}),
        ({"size": "100G"}, {"volumeSize": 94}),
        ({"size": "1Ti", "iops": 16_000}, {"volumeSize": 1024, "iops": 16_000}),
        (
            {"size": "500Gi", "iops": 8000, "throughputMib": 1000},
            {"volumeSize": 500, "iops": 8000, "throughput": 1000},
        ),
    ],
)
def test_the_root_volume(volume: Data, ebs: Data) -> None:
    mappings = template_of({**SYSTEM, "rootVolume": volume})["blockDeviceMappings"]
    assert mappings == [{"deviceName": "/dev/xvda", "ebs": {**ENCRYPTED, **BASELINE, **ebs}}]


def test_bottlerocket_has_a_volume_for_the_system_and_one_for_data() -> None:
    pool = {**SYSTEM, "ami": {"family": "bottlerocket"}, "rootVolume": {"size": "200Gi"}}
    assert template_of(pool)["blockDeviceMappings"] == [
        {"deviceName": "/dev/xvda", "ebs": {**ENCRYPTED, **BASELINE, "volumeSize": 4}},
        {"deviceName": "/dev/xvdb", "ebs": {**ENCRYPTED, **BASELINE, "volumeSize": 200}},
    ]


def test_efa_takes_the_place_of_the_security_groups() -> None:
    made = template_of({**TRAIN, "network": {"efa": True}})
    assert "vpcSecurityGroupIds" not in made
    assert len(made["networkInterfaces"]) == 33


def test_a_placement_group_is_named() -> None:
    made = template_of({**TRAIN, "network": {"placementGroup": "cluster"}})
    assert made["placement"] == {"groupName": Ref("PlacementGroup/train", "name")}


def test_a_reservation_is_targeted() -> None:
    made = template_of({**TRAIN, "capacity": {"type": "reservation", "reservationId": "cr-0abc"}})
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0abc"}}
    assert made["capacityReservationSpecification"] == target
    assert "instanceMarketOptions" not in made
    assert "instanceType" not in made


def test_a_capacity_block_has_its_market_and_its_type_in_the_template() -> None:
    made = template_of({**TRAIN, "capacity": BLOCK})
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0abc"}}
    assert made["capacityReservationSpecification"] == target
    assert made["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert made["instanceType"] == "p5.48xlarge"


def test_a_capacity_block_is_never_in_a_placement_group() -> None:
    assert "placement" not in template_of({**TRAIN, "capacity": BLOCK, "network": {"placementGroup": "cluster"}})


def test_a_launch_template_of_a_node_group_has_no_fields_of_the_group() -> None:
    for pool in (SYSTEM, {**TRAIN, "network": {"efa": True}}, {**TRAIN, "capacity": BLOCK}):
        made = template_of(pool)
        assert not {"imageId", "iamInstanceProfile", "securityGroupNames", "keyName"} & set(made)
        assert not {"hibernationOptions", "instanceInitiatedShutdownBehavior"} & set(made)
        for interface in made.get("networkInterfaces", []):
            assert not {"subnetId", "associatePublicIpAddress"} & set(interface)
