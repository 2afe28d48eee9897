"""Findings on the network of eks: each both ways."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mlcluster.findings import Finding
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.rules.network import addresses, nodes_reach_aws, private_api, public_endpoint
from mlcluster.spec.cluster import ClusterSpec
from tests.eks_contexts import OWN_VPC, eks_spec
from tests.specs import LOCAL, SYSTEM, Data, checked, cluster

pytestmark = pytest.mark.unit

LIMITED = {"publicCidrs": ["203.0.113.0/24"]}
TO_START = ["s3", "ecr", "sts", "ec2", "eks", "eksAuth"]
BIG: Data = {"name": "big", "instanceType": "m7i.2xlarge", "maxSize": 1000}


def given(*pools: Data, **target: Any) -> tuple[Plan, ClusterSpec]:
    """Return a spec of eks that nothing has checked, and its plan."""
    spec = eks_spec(*(pools or (SYSTEM,)), **target)
    return build(spec), spec


def places(found: Iterator[Finding]) -> list[tuple[str, str]]:
    """Return ID and place of each finding."""
    return [(one.id, ".".join(map(str, one.place))) for one in found]


def test_other_targets_have_no_vpc() -> None:
    spec = checked(cluster(SYSTEM, target=LOCAL))
    plan = build(spec)
    for rule in (public_endpoint, addresses, nodes_reach_aws, private_api):
        assert list(rule(plan, spec)) == []


@pytest.mark.parametrize(
    ("endpoint", "place"),
    [
        ({}, "target.endpoint"),
        ({"publicCidrs": ["0.0.0.0/0"]}, "target.endpoint.publicCidrs"),
        ({"publicCidrs": ["203.0.113.0/24", "0.0.0.0/0"]}, "target.endpoint.publicCidrs"),
    ],
)
def test_an_endpoint_for_everybody(endpoint: Data, place: str) -> None:
    (finding,) = public_endpoint(*given(endpoint=endpoint))
    assert finding.blocks
    assert places(iter([finding])) == [("NET002", place)]


@pytest.mark.parametrize("endpoint", [LIMITED, {"public": False}])
def test_an_endpoint_for_some_or_none(endpoint: Data) -> None:
    assert list(public_endpoint(*given(endpoint=endpoint))) == []


def test_a_private_api_endpoint_is_reported() -> None:
    assert places(private_api(*given(endpoint={"public": False}))) == [("NET005", "target.endpoint.public")]
    assert list(private_api(*given(endpoint=LIMITED))) == []


def test_too_many_nodes_come_with_the_whole_arithmetic() -> None:
    plan, spec = given({"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 300})
    pods = plan.pools[0].allocatable["pods"]
    each = -(-pods // 16) + 1
    (finding,) = addresses(plan, spec)
    assert finding.blocks
    assert finding.place == ("target", "network", "cidr")
    assert finding.message.startswith("zone us-west-2a, us-west-2b, us-west-2c: ")
    for part in (
        f"cpu 300 nodes x {each} ({pods} pods fill {each - 1}, 1 warm) + 2 nodes during an update x 2",
        f"= {(300 * each + 4) * 16}",
        f"pods need {(300 * each + 4) * 16} addresses",
        "10.0.0.0/18 has 12288 and 4096",
        "control plane 16",
        "reserved by AWS 5",
    ):
        assert part in finding.message
    assert "nodePools[].zones" in finding.hint


def test_a_wider_range_is_proposed_if_it_is_sufficient() -> None:
    pool = {"name": "cpu", "instanceType": "m7i.2xlarge", "maxSize": 20}
    (finding,) = addresses(*given(pool, network={"cidr": "10.4.0.0/20"}))
    assert finding.hint.startswith("Set `cidr: 10.")
    wider = finding.hint.removeprefix("Set `cidr: ").removesuffix("`.")
    assert list(addresses(*given(pool, network={"cidr": wider}))) == []


def test_only_full_zones_are_reported() -> None:
    (finding,) = addresses(*given(SYSTEM, {**BIG, "zones": ["us-west-2b"]}))
    assert finding.message.startswith("zone us-west-2b: ")


def test_fitting_and_unknown_ranges_have_no_finding() -> None:
    assert list(addresses(*given(SYSTEM))) == []
    assert list(addresses(*given(BIG, network=OWN_VPC))) == []


def test_a_range_that_cannot_be_cut_is_left_to_the_checks() -> None:
    plan, _ = given(BIG)
    assert list(addresses(plan, eks_spec(BIG, network={"cidr": "10.0.0.0/26"}))) == []


def without_charts(plan: Plan, spec: ClusterSpec) -> tuple[Plan, ClusterSpec]:
    """Return the same without components, whose images come from outside."""
    return replace(plan, releases=()), spec


def test_with_nat_everything_is_reached() -> None:
    assert list(nodes_reach_aws(*given(network={"nat": "one", "endpoints": []}))) == []


def test_without_nat_the_endpoints_that_nodes_need() -> None:
    isolated = {"nat": "none", "endpoints": ["s3", "sts", "logs"]}
    (finding,) = nodes_reach_aws(*without_charts(*given(network=isolated, autoscaler="none")))
    assert finding.blocks
    assert finding.message.endswith("none for ecr, ec2, eks, eksAuth")
    assert "endpoints: [s3, sts, logs, ecr, ec2, eks, eksAuth]" in finding.hint
    whole = {"nat": "none", "endpoints": TO_START}
    assert list(nodes_reach_aws(*without_charts(*given(network=whole, autoscaler="none")))) == []


@pytest.mark.parametrize(("autoscaler", "endpoint"), [("clusterAutoscaler", "autoscaling"), ("karpenter", "sqs")])
def test_the_autoscaler_needs_another_address(autoscaler: str, endpoint: str) -> None:
    isolated = {"nat": "none", "endpoints": TO_START}
    found = list(nodes_reach_aws(*without_charts(*given(network=isolated, autoscaler=autoscaler))))
    assert found[0].message.endswith(f"none for {endpoint}")
    more = {"nat": "none", "endpoints": [*TO_START, endpoint]}
    left = list(nodes_reach_aws(*without_charts(*given(network=more, autoscaler=autoscaler))))
    assert places(iter(left)) == ([("NET004", "target.autoscaler")] if autoscaler == "karpenter" else [])


def test_shared_volumes_need_efs() -> None:
    rest = {"teams": [{"name": "research"}], "storage": {"volumes": [{"name": "data", "kind": "efs"}]}}
    isolated = {"nat": "none", "endpoints": TO_START}
    (finding,) = nodes_reach_aws(*without_charts(*given(network=isolated, autoscaler="none", rest=rest)))
    assert finding.message.endswith("none for efs")


def test_images_of_components_come_from_outside() -> None:
    isolated = {"nat": "none", "endpoints": TO_START}
    plan, spec = given(network=isolated, autoscaler="none")
    (finding,) = nodes_reach_aws(plan, spec)
    assert finding.place == ("target", "network", "nat")
    hosts = {(release.repository or release.chart).split("/")[2] for release in plan.releases}
    assert hosts
    assert all(host in finding.message for host in hosts)


@pytest.mark.parametrize(
    ("endpoint", "nat", "expected"),
    [
        ({"private": False, **LIMITED}, "one", [("NET004", "target.endpoint.private")]),
        ({"private": False}, "one", []),
        ({"private": False}, "none", [("NET004", "target.endpoint.private")]),
        (LIMITED, "one", []),
    ],
)
def test_nodes_reach_the_api(endpoint: Data, nat: str, expected: list[tuple[str, str]]) -> None:
    wanted = {"nat": nat, "endpoints": TO_START}
    found = nodes_reach_aws(*without_charts(*given(network=wanted, endpoint=endpoint, autoscaler="none")))
    assert places(found) == expected


def test_an_existing_vpc_is_not_judged() -> None:
    assert list(nodes_reach_aws(*given(network=OWN_VPC))) == []
