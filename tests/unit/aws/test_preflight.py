"""The preflight as a whole: checks run independently and send only read requests. The responses are constructed."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster.aws.errors import CredentialsError
from mlcluster.aws.preflight import CHECKS, PERMISSIONS, Report, Status, check
from mlcluster.findings import REGISTRY
from mlcluster.spec.cluster import ClusterSpec
from tests.fakes.aws_fine import NOW, facts_of, fine, made, plan_of, spec_of
from tests.fakes.aws_responses import ACCOUNT, Answer, Answers, Refused, no_network
from tests.specs import LOCAL, SYSTEM, Data, cluster, planned_unchecked

pytestmark = pytest.mark.unit

KEY_ARN = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/k"
EVERYTHING: tuple[Data, ...] = (
    SYSTEM,
    {"name": "block", "instanceType": "p5.48xlarge", "maxSize": 2, "zones": ["us-west-2b"],
     "capacity": {"type": "capacityBlock", "reservationId": "cr-0a"}, "network": {"efa": True}},
    {"name": "cheap", "instanceType": "g6.xlarge", "maxSize": 4,
     "capacity": {"type": "spot", "also": ["g5.xlarge", "g4dn.xlarge"]}},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


def run(answers: Answers) -> Report:
    return check(answers.account(), spec_of(), plan_of(), NOW)


def test_a_fine_account_has_no_findings() -> None:
    report = run(fine())
    assert report.findings == ()
    assert {result.status for result in report.results} == {Status.FINE, Status.NOT_NEEDED}
    assert [result.check for result in report.results] == [one.name for one in CHECKS]
    assert (report.account_id, report.source) == (ACCOUNT, "profile platform (sso)")


def test_every_result_has_evidence() -> None:
    assert all(result.evidence for result in run(fine()).results)


@pytest.mark.parametrize(
    ("service", "operation", "names", "permission"),
    [
        ("eks", "DescribeClusterVersions", {"Kubernetes version"}, "eks:DescribeClusterVersions"),
        ("ec2", "DescribeAvailabilityZones", {"zones"}, "ec2:DescribeAvailabilityZones"),
        ("service-quotas", "GetServiceQuota", {"vCPU quotas"}, "servicequotas:GetServiceQuota"),
        ("iam", "GetRole", {"service roles"}, "iam:GetRole"),
        ("eks", "DescribeCluster", {"cluster name", "creator"}, "eks:DescribeCluster"),
    ],
)
def test_a_missing_permission_is_unknown_and_other_checks_run(
    service: str, operation: str, names: set[str], permission: str
) -> None:
    report = run(fine().on(service, operation, Refused("AccessDeniedException")))
    unknown = {result.check: result for result in report.results if result.status is Status.UNKNOWN}
    assert names <= set(unknown)
    for result in unknown.values():
        (finding,) = result.findings
        assert (finding.id, finding.blocks) == ("AWS011", False)
        assert permission in finding.message
        assert permission in finding.hint
    assert {finding.id for finding in report.findings} == {"AWS011"}


def test_an_error_of_one_service_is_unknown_with_its_reason() -> None:
    report = run(fine().on("ec2", "DescribeInstanceTypes", Refused("InternalError", "try later", status=500)))
    (finding,) = report.findings
    assert finding.id == "AWS011"
    assert "EFA: unknown" in finding.message
    assert "InternalError: try later" in finding.message


def test_expired_credentials_stop_the_preflight() -> None:
    with pytest.raises(CredentialsError, match="have expired"):
        run(fine().on("ec2", "DescribeAvailabilityZones", Refused("ExpiredToken")))


def test_an_unexpected_exception_propagates() -> None:
    without_type: Answer = {"InstanceTypeOfferings": [{"Location": "us-west-2a"}]}
    with pytest.raises(KeyError, match="InstanceType"):
        run(fine().on("ec2", "DescribeInstanceTypeOfferings", without_type))


def test_findings_carry_the_reason_of_allow() -> None:
    allow = [{"id": "AWS002", "reason": "our own build of EKS"}]
    answers = fine().on("eks", "DescribeClusterVersions", {"clusterVersions": []})
    report = check(answers.account(), spec_of(allow=allow), plan_of(), NOW)
    (finding,) = report.findings
    assert (finding.id, finding.allowed, finding.blocks) == ("AWS002", "our own build of EKS", False)


def test_other_targets_raise_an_error() -> None:
    plan = planned_unchecked(SYSTEM, target=LOCAL)
    local = ClusterSpec.model_validate(cluster(SYSTEM, target=LOCAL))
    with pytest.raises(TypeError, match="local target"):
        check(fine().account(), local, plan, NOW)


def _everything() -> tuple[Answers, Report]:
    """Return facts for which every check sends its requests and finds a problem."""
    target = {
        "secretsKey": KEY_ARN,
        "access": {"admins": [f"arn:aws:iam::{ACCOUNT}:role/a", f"arn:aws:iam::{ACCOUNT}:user/b"]},
        "network": {"vpcId": "vpc-0a", "privateSubnets": {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"}},
    }
    resources = (
        made("aws:ec2/eip:Eip", "nat"),
        made("aws:eks/addon:Addon", "vpc-cni", addonName="vpc-cni", addonVersion="v1"),
        made(
            "aws:eks/nodeGroup:NodeGroup",
            "system",
            pool="system",
            amiType="AL2023_x86_64_STANDARD",
            releaseVersion="1.34.1-20260728",
        ),
    )
    gone = Refused("NoSuchEntity", status=404)
    usage = {"MetricNamespace": "AWS/Usage", "MetricName": "ResourceCount", "MetricDimensions": {"Class": "P"}}
    answers = (
        fine()
        .on("iam", "GetRole", gone)
        .on("iam", "GetUser", gone)
        .on("kms", "DescribeKey", Refused("NotFoundException"))
        .on("service-quotas", "GetServiceQuota", Refused("NoSuchResourceException"))
        .on("service-quotas", "GetAWSDefaultServiceQuota", {"Quota": {"Value": 0.0, "UsageMetric": usage}})
        .on("cloudwatch", "GetMetricStatistics", {"Datapoints": [{"Timestamp": NOW, "Maximum": 8.0}]})
        .on("ec2", "DescribeSubnets", {"Subnets": []})
        .on("ec2", "DescribeCapacityReservations", Refused("InvalidCapacityReservationId.NotFound"))
        .on("ec2", "GetSpotPlacementScores", {"SpotPlacementScores": [{"Region": "us-west-2", "Score": 1}]})
        .on("ec2", "DescribeInstanceTypes", {"InstanceTypes": []})
        .on("ssm", "GetParameter", Refused("ParameterNotFound"))
    )
    spec = spec_of(*EVERYTHING, target=target)
    return answers, check(answers.account(), spec, plan_of(*EVERYTHING, target=target, resources=resources), NOW)


def test_checks_send_only_declared_read_requests() -> None:
    answers, report = _everything()
    assert set(answers.asked) <= set(PERMISSIONS)
    assert set(PERMISSIONS) - set(answers.asked) == {"sts:GetCallerIdentity"}  # asked when the account is opened
    assert all(re.match(r"^[a-z0-9]+:(Describe|Get|List)[A-Z]", action) for action in PERMISSIONS)
    assert {Status.NOT_NEEDED, Status.UNKNOWN}.isdisjoint(result.status for result in report.results)


def test_each_check_sends_only_its_declared_requests() -> None:
    for one in CHECKS:
        answers = fine()
        one.run(facts_of(answers))
        assert set(answers.asked) <= set(one.asks), one.name


def test_an_account_with_every_problem() -> None:
    _, report = _everything()
    ids = {finding.id for finding in report.findings}
    assert ids == {"AWS004", "AWS005", "AWS006", "AWS007", "AWS008", "AWS009", "AWS010"}
    assert all(finding.hint for finding in report.findings)
    assert ids <= set(REGISTRY)


def test_the_documented_policy_matches_the_requests(project_root: Path) -> None:
    text = (project_root / "docs" / "preflight.md").read_text("utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    (statement,) = json.loads(block)["Statement"]
    assert sorted(statement["Action"]) == sorted(PERMISSIONS)
    assert (statement["Effect"], statement["Resource"]) == ("Allow", "*")
    assert all(f"### {one.name}" in text for one in CHECKS)


def test_report_lists_findings_in_check_order() -> None:
    _, report = _everything()
    assert report.findings == tuple(finding for result in report.results for finding in result.findings)
    assert replace(report, results=()).findings == ()
