"""Quotas, reservations and subnets for pools at maxSize. The responses are constructed."""

from datetime import timedelta
from typing import Any

import pytest

from mlcluster.aws.preflight.quotas import elastic_ips, needs, vcpus
from mlcluster.aws.preflight.reservations import reservations
from mlcluster.aws.preflight.subnets import subnets
from tests.fakes.aws_fine import EFA, NOW, OURS, facts_of, fine, made, quota
from tests.fakes.aws_responses import Answer, Answers, Parameters, Refused, no_network, pages
from tests.specs import SYSTEM, Data

pytestmark = pytest.mark.unit

STANDARD, P, G_SPOT = "L-1216C47A", "L-417A185B", "L-3819A6DF"
THERE = {"cluster": {"name": "atlas", "status": "ACTIVE", "tags": OURS}}
USAGE: Data = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": {"Class": "P"}}
BLOCK: Data = {
    "name": "block",
    "instanceType": "p5.48xlarge",
    "maxSize": 2,
    "zones": ["us-west-2b"],
    "capacity": {"type": "capacityBlock", "reservationId": "cr-0a"},
}
NETWORK: Data = {
    "network": {
        "vpcId": "vpc-0a",
        "privateSubnets": {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"},
        "publicSubnets": {"us-west-2a": "subnet-0c"},
    }
}
RESERVED: Data = {**BLOCK, "capacity": {"type": "reservation", "reservationId": "cr-0a"}}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


class TestVcpus:
    def by_code(self, **limits: float) -> Any:
        codes = {"standard": STANDARD, "p": P, "spot": G_SPOT}
        known = {codes[name]: limit for name, limit in limits.items()}

        def answer(parameters: Parameters) -> Answer:
            return quota(known[parameters["QuotaCode"]], parameters["QuotaCode"])

        return answer

    def test_pools_of_a_family_add_up_separately_for_spot(self) -> None:
        spot = {"name": "cheap", "instanceType": "g6.xlarge", "maxSize": 4,
                "capacity": {"type": "spot", "also": ["g6.2xlarge", "m7i.large"]}}  # fmt: skip
        found = needs(facts_of(fine(), SYSTEM, {**SYSTEM, "name": "more", "maxSize": 1}, EFA, spot))
        assert [(need.code, need.vcpus, need.first) for need in found] == [
            (STANDARD, 5 * 8, 0),
            (P, 8 * 192, 2),
            (G_SPOT, 4 * 8, 3),
        ]
        assert found[0].parts == ("system 4 x 8", "more 1 x 8")

    def test_a_type_without_a_cataloged_quota_is_reported(self) -> None:
        spot = {"name": "cheap", "instanceType": "hpc7g.4xlarge", "maxSize": 4, "capacity": {"type": "spot"}}
        outcome = vcpus(facts_of(fine(), spot))
        assert outcome.evidence == "not counted: cheap, whose family has no quota in the catalog"

    def test_a_reservation_counts_and_a_capacity_block_does_not(self) -> None:
        assert [need.vcpus for need in needs(facts_of(fine(), RESERVED))] == [384]
        outcome = vcpus(facts_of(fine(), BLOCK))
        assert (outcome.findings, outcome.evidence) == ((), "not counted: capacity blocks (block)")

    @pytest.mark.parametrize(("limit", "ids"), [(1535, ["AWS004"]), (1536, [])])
    def test_a_need_equal_to_the_limit_is_enough(self, limit: int, ids: list[str]) -> None:
        answers = fine().on("service-quotas", "GetServiceQuota", self.by_code(standard=32, p=limit))
        assert [finding.id for finding in vcpus(facts_of(answers)).findings] == ids

    def test_finding_contains_figures_and_command(self) -> None:
        answers = fine().on("service-quotas", "GetServiceQuota", self.by_code(standard=32, p=0))
        (finding,) = vcpus(facts_of(answers)).findings
        assert finding.place == ("nodePools", 1, "maxSize")
        assert "is 0 vCPUs; the pools need 1,536 at maxSize (train 8 x 192)" in finding.message
        assert f"--quota-code {P} --desired-value 1536 --region us-west-2" in finding.hint

    def test_default_quota_without_an_account_quota(self) -> None:
        answers = (
            fine()
            .on("service-quotas", "GetServiceQuota", Refused("NoSuchResourceException"))
            .on("service-quotas", "GetAWSDefaultServiceQuota", quota(5))
        )
        (finding,) = vcpus(facts_of(answers, SYSTEM)).findings
        assert "is 5 vCPUs; the pools need 32" in finding.message

    def used(self, amount: float | None) -> Answers:
        points = [] if amount is None else [
            {"Timestamp": NOW, "Maximum": amount},
            {"Timestamp": NOW - timedelta(minutes=30), "Maximum": 9999.0},
        ]  # fmt: skip
        return (
            fine()
            .on("service-quotas", "GetServiceQuota", quota(40, UsageMetric=USAGE))
            .on("cloudwatch", "GetMetricStatistics", {"Datapoints": points})
        )

    @pytest.mark.parametrize(("amount", "ids"), [(8, []), (9, ["AWS004"]), (None, [])])
    def test_current_usage_counts(self, amount: float | None, ids: list[str]) -> None:
        outcome = vcpus(facts_of(self.used(amount), SYSTEM))
        assert [finding.id for finding in outcome.findings] == ids
        assert f"({int(amount or 0)} in use now)" in outcome.evidence

    def test_usage_includes_the_nodes_of_a_running_cluster(self) -> None:
        assert vcpus(facts_of(self.used(30).on("eks", "DescribeCluster", THERE), SYSTEM)).findings == ()

    def test_missing_cloudwatch_permission_is_reported(self) -> None:
        answers = self.used(30).on("cloudwatch", "GetMetricStatistics", Refused("AccessDenied"))
        outcome = vcpus(facts_of(answers, SYSTEM))
        assert outcome.findings == ()
        assert "current usage unknown, not counted" in outcome.evidence


class TestElasticIps:
    NAT = tuple(made("aws:ec2/eip:Eip", f"nat-{letter}") for letter in "abc")

    def answers(self, others: int, managed: int = 0) -> Answers:
        tags = [{"Key": key, "Value": value} for key, value in OURS.items()]
        listed: list[Data] = [{"PublicIp": "192.0.2.1"}] * others + [{"PublicIp": "192.0.2.2", "Tags": tags}] * managed
        answers = fine().on("service-quotas", "GetServiceQuota", quota(5))
        return answers.on("ec2", "DescribeAddresses", {"Addresses": listed})

    @pytest.mark.parametrize(("others", "managed", "ids"), [(2, 0, []), (3, 0, ["AWS004"]), (2, 3, [])])
    def test_unmanaged_addresses_count(self, others: int, managed: int, ids: list[str]) -> None:
        outcome = elastic_ips(facts_of(self.answers(others, managed), resources=self.NAT))
        assert [finding.id for finding in outcome.findings] == ids
        assert outcome.evidence == f"3 needed for NAT; {others} of 5 used outside this cluster"

    def test_not_needed_by_the_plan(self) -> None:
        assert not elastic_ips(facts_of(fine())).needed


class TestReservations:
    def entry(self, **more: Any) -> Data:
        return {
            "CapacityReservationId": "cr-0a",
            "ReservationType": "capacity-block",
            "InstanceType": "p5.48xlarge",
            "AvailabilityZone": "us-west-2b",
            "TotalInstanceCount": 2,
            "AvailableInstanceCount": 2,
            "State": "scheduled",
            "StartDate": NOW + timedelta(days=1),
            "EndDate": NOW + timedelta(days=3),
            **more,
        }

    def answers(self, *listed: Data) -> Answers:
        given = pages("CapacityReservations", [], list(listed), names="NextToken")
        return fine().on("ec2", "DescribeCapacityReservations", given)

    def test_a_scheduled_block_on_the_second_page(self) -> None:
        outcome = reservations(facts_of(self.answers(self.entry()), BLOCK))
        assert outcome.findings == ()
        assert outcome.evidence == (
            "cr-0a: capacity block of 2 x p5.48xlarge in us-west-2b, scheduled, 2 free, "
            "from 2026-11-03 12:00 UTC, until 2026-11-05 12:00 UTC"
        )

    def test_active_reservation(self) -> None:
        entry = self.entry(ReservationType="default", State="active", EndDate=NOW + timedelta(days=1))
        assert reservations(facts_of(self.answers(entry), RESERVED)).findings == ()

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"State": "payment-failed"}, "cannot be used: it is payment-failed"),
            ({"State": "active", "EndDate": NOW}, "cannot be used: it is active, ended 2026-11-02 12:00 UTC"),
            ({"InstanceType": "p5e.48xlarge"}, "is for p5e.48xlarge, the pool has p5.48xlarge"),
            ({"AvailabilityZone": "us-west-2a"}, "is in us-west-2a, the pool in us-west-2b"),
            ({"TotalInstanceCount": 1}, "has 1 instances, its pools are up to 2 nodes (block 2)"),
            (
                {"ReservationType": "default", "State": "active"},
                "is a capacity reservation, which does not match capacity.type",
            ),
        ],
    )
    def test_unusable(self, more: dict[str, Any], expected: str) -> None:
        (finding,) = reservations(facts_of(self.answers(self.entry(**more)), BLOCK)).findings
        assert (finding.id, finding.place) == ("AWS005", ("nodePools", 0, "capacity", "reservationId"))
        assert f"cr-0a {expected}" in finding.message

    def test_a_reservation_must_have_started(self) -> None:
        entry = self.entry(ReservationType="default", State="scheduled")
        (finding,) = reservations(facts_of(self.answers(entry), RESERVED)).findings
        assert "cannot be used: it is scheduled" in finding.message

    @pytest.mark.parametrize("given", [{}, None])
    def test_missing(self, given: Data | None) -> None:
        refused = Refused("InvalidCapacityReservationId.NotFound")
        answers = self.answers() if given is not None else fine().on("ec2", "DescribeCapacityReservations", refused)
        (finding,) = reservations(facts_of(answers, BLOCK)).findings
        assert "cr-0a does not exist (account 111122223333 in us-west-2)" in finding.message

    def test_two_pools_share_one_reservation(self) -> None:
        pools = (BLOCK, {**BLOCK, "name": "other", "maxSize": 1})
        found = reservations(facts_of(self.answers(self.entry()), *pools)).findings
        assert [finding.place[1] for finding in found] == [0, 1]
        assert "up to 3 nodes (block 2 + other 1)" in found[0].message

    @pytest.mark.parametrize(
        ("starts", "ends", "expected"),
        [
            ("2026-11-03T12:00Z", "2026-11-05T12:00:00Z", []),
            ("2026-11-03T11:30Z", "2026-11-05T12:00Z", ["begins 2026-11-03 12:00 UTC, but capacity.startsAt is"]),
            ("2026-11-03T12:00Z", "2026-11-06T12:00Z", ["ends 2026-11-05 12:00 UTC, but capacity.endsAt is"]),
        ],
    )
    def test_window_of_the_spec(self, starts: str, ends: str, expected: list[str]) -> None:
        pool = {**BLOCK, "capacity": {**BLOCK["capacity"], "startsAt": starts, "endsAt": ends}}
        found = reservations(facts_of(self.answers(self.entry()), pool)).findings
        assert len(found) == len(expected)
        assert all(part in finding.message for part, finding in zip(expected, found, strict=True))

    def test_none_in_the_spec(self) -> None:
        assert not reservations(facts_of(fine())).needed


class TestSubnets:
    def entry(self, letter: str, zone: str, free: int = 8000, **more: Any) -> Data:
        return {
            "SubnetId": f"subnet-0{letter}",
            "VpcId": "vpc-0a",
            "AvailabilityZone": f"us-west-2{zone}",
            "AvailableIpAddressCount": free,
            "CidrBlock": "10.0.0.0/19",
            "State": "available",
            **more,
        }

    def answers(self, **b: Any) -> Answers:
        entries = [self.entry("a", "a"), {**self.entry("b", "b"), **b}, self.entry("c", "a", 4)]
        return fine().on("ec2", "DescribeSubnets", pages("Subnets", entries[:1], entries[1:], names="NextToken"))

    def test_large_enough_subnets_on_two_pages(self) -> None:
        outcome = subnets(facts_of(self.answers(), SYSTEM, target=NETWORK))
        assert outcome.findings == ()
        assert "subnet-0b us-west-2b 10.0.0.0/19 8,000 free" in outcome.evidence

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"VpcId": "vpc-0b"}, "subnet subnet-0b is in vpc-0b, not in vpc-0a"),
            ({"AvailabilityZone": "us-west-2c"}, "subnet subnet-0b is in zone us-west-2c, not in us-west-2b"),
            ({"State": "pending"}, "subnet subnet-0b is pending"),
            ({"SubnetId": "subnet-0f"}, "subnet subnet-0b does not exist"),
            ({"AvailableIpAddressCount": 100}, "subnet subnet-0b has 100 free addresses; the pools need"),
        ],
    )
    def test_unusable(self, more: dict[str, Any], expected: str) -> None:
        (finding,) = subnets(facts_of(self.answers(**more), SYSTEM, target=NETWORK)).findings
        assert finding.id == "AWS006"
        assert finding.place == ("target", "network", "privateSubnets", "us-west-2b")
        assert expected in finding.message

    @pytest.mark.parametrize(("block", "ids"), [("10.0.0.0/19", []), ("10.0.0.0/25", ["AWS006"])])
    def test_subnet_size_counts_for_a_running_cluster(self, block: str, ids: list[str]) -> None:
        answers = self.answers(AvailableIpAddressCount=3, CidrBlock=block).on("eks", "DescribeCluster", THERE)
        assert [finding.id for finding in subnets(facts_of(answers, SYSTEM, target=NETWORK)).findings] == ids

    def test_not_needed_for_a_new_vpc(self) -> None:
        assert not subnets(facts_of(fine())).needed
