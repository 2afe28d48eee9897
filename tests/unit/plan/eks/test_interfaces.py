"""Interfaces of EFA nodes: their positions and security groups."""

import pytest

from mlcluster.catalog.instances import instance_names, instance_type
from mlcluster.plan.eks.interfaces import (
    Interface,
    efa_interfaces,
    efa_security_group,
    efa_security_group_resources,
    launch_interfaces,
)
from mlcluster.plan.values import Ref
from tests.eks_contexts import OWN_VPC, by_id, eks_context
from tests.specs import SYSTEM, TRAIN

pytestmark = pytest.mark.unit

GPU_TYPES_WITH_EFA = sorted(
    name
    for name in instance_names()
    if instance_type(name).efa
    and instance_type(name).accelerator_manufacturer == "nvidia"
    and instance_type(name).accelerator_count
)
WITH_EFA = {**TRAIN, "network": {"efa": True}}


@pytest.mark.parametrize("name", GPU_TYPES_WITH_EFA)
def test_every_gpu_type_has_one_efa_interface_per_card_beside_the_primary(name: str) -> None:
    primary, *efa = efa_interfaces(name)
    assert primary == Interface(0, 0, "interface")
    assert len(efa) == instance_type(name).efa
    assert {interface.kind for interface in efa} == {"efa-only"}
    assert len({interface.card for interface in efa}) == len(efa)
    assert len({(interface.card, interface.device) for interface in (primary, *efa)}) == len(efa) + 1


@pytest.mark.parametrize(
    ("name", "cards"),
    [
        ("g5.8xlarge", [0]),
        ("g6e.48xlarge", [0, 1, 2, 3]),
        ("p4d.24xlarge", [0, 1, 2, 3]),
        ("p5.48xlarge", list(range(32))),
        ("p5.4xlarge", [0]),
        ("p5en.48xlarge", list(range(16))),
        ("p6-b200.48xlarge", list(range(8))),
        ("p6-b300.48xlarge", list(range(1, 17))),
    ],
)
def test_cards_with_efa(name: str, cards: list[int]) -> None:
    assert [interface.card for interface in efa_interfaces(name)[1:]] == cards


def test_the_interfaces_of_an_unknown_type_are_not_guessed() -> None:
    with pytest.raises(KeyError):
        efa_interfaces("p9.48xlarge")


def test_interfaces_carry_both_groups_and_no_subnet() -> None:
    context = eks_context(WITH_EFA)
    made = launch_interfaces(context, "p6-b200.48xlarge")
    groups = [Ref("Cluster/atlas", "clusterSecurityGroupId"), Ref("SecurityGroup/atlas-efa", "id")]
    assert len(made) == 9
    for interface in made:
        assert interface["securityGroups"] == groups
        assert interface["deleteOnTermination"] == "true"
        assert set(interface) == {
            "networkCardIndex",
            "deviceIndex",
            "interfaceType",
            "deleteOnTermination",
            "securityGroups",
        }
    assert (made[0]["interfaceType"], made[1]["interfaceType"]) == ("interface", "efa-only")


def test_the_group_lets_everything_through_from_and_to_itself() -> None:
    context = eks_context(SYSTEM, WITH_EFA)
    made = by_id(efa_security_group_resources(context))
    group = made["SecurityGroup/atlas-efa"]
    assert (group.inputs["name"], group.inputs["vpcId"]) == ("atlas-efa", Ref("Vpc/atlas", "id"))
    assert group.spec_path == ("nodePools", 1, "network", "efa")
    assert f"kubernetes.io/cluster/{context.name}" not in group.inputs["tags"]
    assert set(made) == {
        "SecurityGroup/atlas-efa",
        "SecurityGroupIngressRule/atlas-efa",
        "SecurityGroupEgressRule/atlas-efa",
    }
    for kind in ("Ingress", "Egress"):
        rule = made[f"SecurityGroup{kind}Rule/atlas-efa"]
        itself = efa_security_group(context)
        assert (rule.inputs["securityGroupId"], rule.inputs["referencedSecurityGroupId"]) == (itself, itself)
        assert rule.inputs["ipProtocol"] == "-1"
        assert rule.needs == ("SecurityGroup/atlas-efa",)


def test_the_group_is_in_an_existing_vpc() -> None:
    group = efa_security_group_resources(eks_context(WITH_EFA, network=OWN_VPC))[0]
    assert group.inputs["vpcId"] == "vpc-0a1"


def test_without_efa_there_is_no_group() -> None:
    assert efa_security_group_resources(eks_context(SYSTEM, TRAIN)) == []
