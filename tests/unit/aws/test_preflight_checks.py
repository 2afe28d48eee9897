"""Each check, with and without a finding: versions, images, zones, keys and roles. The responses are constructed."""

from typing import Any

import pytest

from mlcluster.aws.preflight.existing import principals, secrets_key, service_roles
from mlcluster.aws.preflight.fabric import efa
from mlcluster.aws.preflight.identity import account, cluster_name, creator
from mlcluster.aws.preflight.places import instance_types, zones
from mlcluster.aws.preflight.spot import spot_scores
from mlcluster.aws.preflight.versions import addons, image_parameter, images, kubernetes_version
from tests.fakes.aws_fine import EFA, EKS, NOW, OURS, ZONES, facts_of, fine, made, network_of, zone
from tests.fakes.aws_responses import ACCOUNT, CALLER, Answer, Parameters, Refused, no_network, pages
from tests.specs import SYSTEM, Data, planned_unchecked

pytestmark = pytest.mark.unit

KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/0a"
AL2023, NODE, DATE = "eks/optimized-ami/1.34/amazon-linux-2023", "amazon-eks-node-al2023", "1.34-v20260728"
SPOT: Data = {
    "name": "cheap",
    "instanceType": "g6.xlarge",
    "maxSize": 4,
    "capacity": {"type": "spot", "also": ["g5.xlarge", "g4dn.xlarge"]},
}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


class TestAccount:
    def test_expected_account(self) -> None:
        outcome = account(facts_of(fine()))
        assert outcome.findings == ()
        assert f"account {ACCOUNT} in us-west-2" in outcome.evidence

    def test_other_account(self) -> None:
        (finding,) = account(facts_of(fine(), target={"accountId": "444455556666"})).findings
        assert (finding.id, finding.place) == ("AWS001", ("target", "accountId"))
        assert f"belongs to account {ACCOUNT}, the spec requires 444455556666" in finding.message

    def test_without_account_id_any_account_is_accepted(self) -> None:
        outcome = account(facts_of(fine(), target={"accountId": None}))
        assert outcome.findings == ()
        assert "any account is accepted" in outcome.evidence


class TestClusterName:
    def test_unused_name(self) -> None:
        assert cluster_name(facts_of(fine())).evidence == "no EKS cluster is named atlas in us-west-2"

    def test_managed_cluster(self) -> None:
        there = {"cluster": {"name": "atlas", "status": "ACTIVE", "version": "1.34", "tags": OURS}}
        outcome = cluster_name(facts_of(fine().on("eks", "DescribeCluster", there)))
        assert outcome.findings == ()
        assert "carries the tags of mlcluster (status ACTIVE, Kubernetes 1.34)" in outcome.evidence

    @pytest.mark.parametrize("tags", [{}, {**OURS, "mlcluster.dev/cluster": "other"}])
    def test_unmanaged_cluster(self, tags: dict[str, str]) -> None:
        there = {"cluster": {"name": "atlas", "status": "ACTIVE", "tags": tags}}
        (finding,) = cluster_name(facts_of(fine().on("eks", "DescribeCluster", there))).findings
        assert (finding.id, finding.place) == ("AWS001", ("metadata", "name"))


class TestCreator:
    ROLE = f"arn:aws:iam::{ACCOUNT}:role/ci/{CALLER.split('/')[1]}"

    def test_creator_without_an_entry(self) -> None:
        access = {"admins": [f"arn:aws:iam::{ACCOUNT}:role/oncall"]}
        outcome = creator(facts_of(fine(), target={"access": access}))
        assert outcome.findings == ()
        assert "is not among its 1 access entries" in outcome.evidence

    def test_role_with_an_entry_and_any_path(self) -> None:
        (finding,) = creator(facts_of(fine(), target={"access": {"ci": self.ROLE}})).findings
        assert finding.id == "AWS012"
        assert CALLER in finding.message

    def test_role_of_the_same_name_in_another_account(self) -> None:
        access = {"ci": self.ROLE.replace(ACCOUNT, "444455556666")}
        assert creator(facts_of(fine(), target={"access": access})).findings == ()

    def test_existing_cluster(self) -> None:
        there = {"cluster": {"name": "atlas", "status": "ACTIVE", "tags": OURS}}
        answers = fine().on("eks", "DescribeCluster", there)
        assert creator(facts_of(answers, target={"access": {"ci": self.ROLE}})).findings == ()


class TestKubernetesVersion:
    def versions(self, **states: str) -> list[Data]:
        return [{"clusterVersion": f"1.{minor[1:]}", "versionStatus": state} for minor, state in states.items()]

    def test_in_standard_support_on_the_second_page(self) -> None:
        first, second = self.versions(v35="STANDARD_SUPPORT"), self.versions(v34="STANDARD_SUPPORT")
        answers = fine().on("eks", "DescribeClusterVersions", pages("clusterVersions", first, second))
        outcome = kubernetes_version(facts_of(answers))
        assert (outcome.findings, outcome.evidence) == ((), "1.34 is in standard support")

    @pytest.mark.parametrize("listed", [{}, {"v34": "UNSUPPORTED"}])
    def test_not_offered(self, listed: dict[str, str]) -> None:
        found = self.versions(v33="EXTENDED_SUPPORT", v35="STANDARD_SUPPORT", **listed)
        (finding,) = kubernetes_version(
            facts_of(fine().on("eks", "DescribeClusterVersions", {"clusterVersions": found}))
        ).findings
        assert (finding.id, finding.place) == ("AWS002", ("target", "kubernetesVersion"))
        assert "EKS offers 1.33 and 1.35 in us-west-2, not 1.34" in finding.message

    @pytest.mark.parametrize(("policy", "ids"), [("standard", ["AWS002"]), ("extended", [])])
    def test_in_extended_support(self, policy: str, ids: list[str]) -> None:
        found = {"clusterVersions": [{"clusterVersion": "1.34", "status": "extended-support"}]}
        facts = facts_of(fine().on("eks", "DescribeClusterVersions", found), target={"upgradePolicy": policy})
        assert [finding.id for finding in kubernetes_version(facts).findings] == ids

    def test_extended_support_with_an_existing_cluster(self) -> None:
        found = {"clusterVersions": [{"clusterVersion": "1.34", "versionStatus": "EXTENDED_SUPPORT"}]}
        there = {"cluster": {"name": "atlas", "status": "ACTIVE", "tags": OURS}}
        answers = fine().on("eks", "DescribeClusterVersions", found).on("eks", "DescribeCluster", there)
        assert kubernetes_version(facts_of(answers)).findings == ()


class TestAddons:
    CNI = made("aws:eks/addon:Addon", "vpc-cni", addonName="vpc-cni", addonVersion="v1.20.0-eksbuild.1")

    def offered(self, *versions: str) -> list[Data]:
        return [{"addonName": "vpc-cni", "addonVersions": [{"addonVersion": version} for version in versions]}]

    def test_offered_on_the_second_page(self) -> None:
        given = pages("addons", [], self.offered("v1.20.1-eksbuild.1", "v1.20.0-eksbuild.1"))
        answers = fine().on("eks", "DescribeAddonVersions", given)
        assert addons(facts_of(answers, resources=(self.CNI,))).findings == ()
        assert answers.calls[0][1]["kubernetesVersion"] == "1.34"

    @pytest.mark.parametrize(("versions", "expected"), [(["v1.21.0"], "EKS offers v1.21.0"), ([], "offers no version")])
    def test_not_offered(self, versions: list[str], expected: str) -> None:
        answers = fine().on("eks", "DescribeAddonVersions", {"addons": self.offered(*versions)})
        (finding,) = addons(facts_of(answers, resources=(self.CNI,))).findings
        assert finding.id == "AWS008"
        assert "vpc-cni v1.20.0-eksbuild.1 is not offered for Kubernetes 1.34" in finding.message
        assert expected in finding.message

    def test_not_needed_by_the_plan(self) -> None:
        assert not addons(facts_of(fine())).needed


class TestImages:
    @pytest.mark.parametrize(
        ("ami_type", "release", "path"),
        [
            ("AL2023_x86_64_STANDARD", "1.34.1-20260728", f"{AL2023}/x86_64/standard/{NODE}-x86_64-standard-{DATE}"),
            ("AL2023_ARM_64_NVIDIA", "1.34.1-20260728", f"{AL2023}/arm64/nvidia/{NODE}-arm64-nvidia-{DATE}"),
            ("BOTTLEROCKET_x86_64_NVIDIA", "1.49.0-0a1b2c", "bottlerocket/aws-k8s-1.34-nvidia/x86_64/1.49.0-0a1b2c"),
            ("BOTTLEROCKET_ARM_64", "v1.49.0", "bottlerocket/aws-k8s-1.34/arm64/1.49.0"),
        ],
    )
    def test_ssm_parameter_of_a_release(self, ami_type: str, release: str, path: str) -> None:
        assert image_parameter(ami_type, "1.34", release) == f"/aws/service/{path}/image_id"

    def group(self, name: str = "system", release: str = "1.34.1-20260728") -> Any:
        image = {"amiType": "AL2023_x86_64_STANDARD", "releaseVersion": release}
        return made("aws:eks/nodeGroup:NodeGroup", name, pool=name, **image)

    def test_published(self) -> None:
        outcome = images(facts_of(fine(), SYSTEM, resources=(self.group(),)))
        assert outcome.findings == ()
        assert outcome.evidence == "AL2023_x86_64_STANDARD 1.34.1-20260728: ami-0123456789abcdef0"

    def test_unpublished_image_is_requested_once_and_reported_per_pool(self) -> None:
        answers = fine().on("ssm", "GetParameter", Refused("ParameterNotFound"))
        pools = (SYSTEM, {**SYSTEM, "name": "more"})
        found = images(facts_of(answers, *pools, resources=(self.group(), self.group("more")))).findings
        assert [(finding.id, finding.place) for finding in found] == [
            ("AWS008", ("nodePools", 0, "ami")),
            ("AWS008", ("nodePools", 1, "ami")),
        ]
        assert answers.asked == ["ssm:GetParameter"]

    def test_configured_release_of_a_pool_without_node_group(self) -> None:
        answers = fine()
        pool = {**EFA, "ami": {"release": "1.34.1-20260801"}}
        images(facts_of(answers, pool))
        assert "x86_64-nvidia-1.34-v20260801" in answers.calls[0][1]["Name"]


class TestZones:
    @pytest.mark.parametrize(
        ("listed", "expected"),
        [
            ([zone("us-west-2a"), zone("us-west-2c")], "this account has no zone us-west-2b"),
            ([zone("us-west-2a"), zone("us-west-2b", State="impaired"), zone("us-west-2c")], "us-west-2b is impaired"),
            (
                [zone("us-west-2a"), zone("us-west-2b", ZoneId="use1-az3"), zone("us-west-2c")],
                "EKS accepts no subnet in zone us-west-2b (use1-az3)",
            ),
            (
                [zone("us-west-2a"), zone("us-west-2b", ZoneType="local-zone"), zone("us-west-2c")],
                "is a local-zone, not an availability zone",
            ),
        ],
    )
    def test_unusable(self, listed: list[Data], expected: str) -> None:
        facts = facts_of(fine().on("ec2", "DescribeAvailabilityZones", {"AvailabilityZones": listed}))
        (finding,) = zones(facts).findings
        assert (finding.id, finding.place) == ("AWS003", ("target", "zones"))
        assert expected in finding.message
        assert "us-west-2a and us-west-2c" in finding.hint

    def test_all_exist(self) -> None:
        outcome = zones(facts_of(fine()))
        assert outcome.findings == ()
        assert outcome.evidence == "us-west-2a available, us-west-2b available and us-west-2c available"

    def test_zone_that_only_a_pool_uses(self) -> None:
        facts = facts_of(fine(), {**SYSTEM, "zones": ["us-west-2d"]})
        (finding,) = zones(facts).findings
        assert finding.place == ("nodePools", 0, "zones")


class TestInstanceTypes:
    def offered(self, **zones_of: tuple[str, ...]) -> list[Data]:
        names = {name.replace("_", "."): found for name, found in zones_of.items()}
        return [{"InstanceType": name, "Location": at} for name, found in names.items() for at in found]

    def test_offered_on_the_second_page(self) -> None:
        first, second = self.offered(m7i_2xlarge=ZONES), self.offered(p5_48xlarge=("us-west-2b",))
        given = pages("InstanceTypeOfferings", first, second, names="NextToken")
        answers = fine().on("ec2", "DescribeInstanceTypeOfferings", given)
        assert instance_types(facts_of(answers)).findings == ()
        assert answers.calls[0][1]["Filters"] == [{"Name": "instance-type", "Values": ["m7i.2xlarge", "p5.48xlarge"]}]

    def test_not_offered_in_the_zone_of_the_pool(self) -> None:
        found = self.offered(m7i_2xlarge=ZONES, p5_48xlarge=("us-west-2a",))
        answers = fine().on("ec2", "DescribeInstanceTypeOfferings", {"InstanceTypeOfferings": found})
        (finding,) = instance_types(facts_of(answers)).findings
        assert (finding.id, finding.place) == ("AWS003", ("nodePools", 1, "instanceType"))
        assert finding.message == "p5.48xlarge is not offered in us-west-2b"
        assert finding.hint == "Choose a zone that offers it: us-west-2a."

    @pytest.mark.parametrize(("there", "places"), [((), [("nodePools", 0, "capacity", "also", 0)]), (ZONES[:1], [])])
    def test_alternative_type_is_an_error_if_no_zone_offers_it(self, there: tuple[str, ...], places: list[Any]) -> None:
        found = self.offered(g6_xlarge=ZONES, g5_xlarge=there, g4dn_xlarge=ZONES)
        answers = fine().on("ec2", "DescribeInstanceTypeOfferings", {"InstanceTypeOfferings": found})
        assert [finding.place for finding in instance_types(facts_of(answers, SPOT)).findings] == places


class TestSecretsKey:
    def described(self, **more: str) -> Data:
        return {"KeyMetadata": {"KeyId": "0a", "Arn": KEY, "KeyState": "Enabled", **more}}

    def test_enabled(self) -> None:
        outcome = secrets_key(facts_of(fine().on("kms", "DescribeKey", self.described()), target={"secretsKey": KEY}))
        assert (outcome.findings, outcome.evidence) == ((), "0a: Enabled, SYMMETRIC_DEFAULT, ENCRYPT_DECRYPT")

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            ({"KeyState": "PendingDeletion"}, "the key is PendingDeletion"),
            ({"KeyState": "Disabled"}, "the key is Disabled"),
            ({"KeySpec": "RSA_2048"}, "EKS requires a symmetric key"),
            ({"KeyUsage": "SIGN_VERIFY"}, "EKS requires a symmetric key"),
        ],
    )
    def test_key_that_cannot_encrypt(self, more: dict[str, str], expected: str) -> None:
        answers = fine().on("kms", "DescribeKey", self.described(**more))
        (finding,) = secrets_key(facts_of(answers, target={"secretsKey": KEY})).findings
        assert (finding.id, finding.place) == ("AWS007", ("target", "secretsKey"))
        assert expected in finding.message

    def test_missing(self) -> None:
        answers = fine().on("kms", "DescribeKey", Refused("NotFoundException"))
        (finding,) = secrets_key(facts_of(answers, target={"secretsKey": KEY})).findings
        assert "does not exist" in finding.message

    def test_key_of_another_region_is_not_requested(self) -> None:
        answers = fine()
        (finding,) = secrets_key(
            facts_of(answers, target={"secretsKey": KEY.replace("us-west-2", "us-east-1")})
        ).findings
        assert "the key is in us-east-1, the cluster in us-west-2" in finding.message
        assert answers.asked == []


class TestPrincipals:
    ADMIN = f"arn:aws:iam::{ACCOUNT}:role/admins"
    USER = f"arn:aws:iam::{ACCOUNT}:user/alice"

    def user(self, arn: str) -> Data:
        return {"User": {"Path": "/", "UserName": "alice", "UserId": "AIDA000000000000", "Arn": arn, "CreateDate": NOW}}

    def test_principals_of_other_accounts_are_not_checked(self) -> None:
        access = {"admins": [self.ADMIN, "arn:aws:iam::444455556666:role/x"], "viewers": [self.USER], "ci": self.ADMIN}
        answers = fine().on("iam", "GetUser", self.user(self.USER))
        outcome = principals(facts_of(answers, target={"access": access}))
        assert outcome.findings == ()
        assert outcome.evidence == "2 of 2 exist; 1 in other accounts not checked"

    def test_missing_role_of_a_team(self) -> None:
        teams = [{"name": "research", "members": {"edit": {"awsRoles": [self.ADMIN]}}}]
        answers = fine().on("iam", "GetRole", Refused("NoSuchEntity", status=404))
        (finding,) = principals(facts_of(answers, teams=teams)).findings
        assert finding.id == "AWS007"
        assert finding.place == ("teams", 0, "members", "edit", "awsRoles", 0)

    def test_role_under_another_path(self) -> None:
        arn = f"arn:aws:iam::{ACCOUNT}:role/team/admins"
        (finding,) = principals(facts_of(fine(), target={"access": {"admins": [arn]}})).findings
        assert finding.hint == f"Write `{self.ADMIN}`."

    def test_none_in_the_spec(self) -> None:
        assert not principals(facts_of(fine())).needed


class TestServiceRoles:
    @staticmethod
    def missing(parameters: Parameters) -> Answer:
        return Refused("NoSuchEntity", status=404)

    def test_aws_creates_most_service_roles(self) -> None:
        outcome = service_roles(facts_of(fine().on("iam", "GetRole", self.missing)))
        assert outcome.findings == ()
        assert "0 of 3 exist; AWS creates AWSServiceRoleForAmazonEKS, " in outcome.evidence

    def test_karpenter_needs_the_spot_role(self) -> None:
        answers = fine().on("iam", "GetRole", self.missing)
        (finding,) = service_roles(facts_of(answers, SYSTEM, SPOT, target={"autoscaler": "karpenter"})).findings
        assert finding.id == "AWS007"
        assert "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com" in finding.hint

    def test_all_exist(self) -> None:
        outcome = service_roles(facts_of(fine(), SYSTEM, SPOT, target={"autoscaler": "karpenter"}))
        assert (outcome.findings, outcome.evidence) == ((), "4 of 4 exist")


class TestEfa:
    def template(self, *cards: int) -> Any:
        interfaces = [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]
        interfaces += [{"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only"} for card in cards]
        return made("aws:ec2/launchTemplate:LaunchTemplate", "train", pool="train", networkInterfaces=interfaces)

    def answers(self, *networks: Data) -> Any:
        found = [{"InstanceType": "p5.48xlarge", "NetworkInfo": network} for network in networks]
        return fine().on("ec2", "DescribeInstanceTypes", {"InstanceTypes": found})

    def test_network_cards_match_catalog_and_plan(self) -> None:
        outcome = efa(facts_of(self.answers(network_of(32, 32)), EFA, resources=(self.template(*range(32)),)))
        assert outcome.findings == ()
        assert outcome.evidence == "p5.48xlarge: 32 EFA interfaces on 32 network cards"

    @pytest.mark.parametrize(
        ("networks", "cards", "expected"),
        [
            ([network_of(16, 32)], (), "has 16 EFA interfaces in us-west-2, the catalog has 32"),
            ([network_of(0, 1)], (), "has 0 EFA interfaces"),
            ([network_of(32, 32)], (0, 32), "puts EFA on network card 32"),
            ([network_of(32, 32)], (0, 0), "network card 0 of p5.48xlarge supports fewer interfaces"),
            ([], (), "is unknown in us-west-2"),
        ],
    )
    def test_network_cards_differ(self, networks: list[Data], cards: tuple[int, ...], expected: str) -> None:
        facts = facts_of(self.answers(*networks), EFA, resources=(self.template(*cards),))
        (finding,) = efa(facts).findings
        assert (finding.id, finding.place) == ("AWS009", ("nodePools", 0, "network", "efa"))
        assert expected in finding.message

    def test_interfaces_of_ec2nodeclasses_count(self) -> None:
        plan = planned_unchecked(SYSTEM, EFA, target={**EKS, "autoscaler": "karpenter"})
        assert "EC2NodeClass/train" in {entry.id for entry in plan.objects}
        facts = facts_of(self.answers(network_of(32, 31)), SYSTEM, EFA, target={"autoscaler": "karpenter"})
        (finding,) = efa(facts).findings
        assert "puts EFA on network card 31; p5.48xlarge has 31" in finding.message

    def test_no_pool_with_efa(self) -> None:
        assert not efa(facts_of(fine(), SYSTEM)).needed


class TestSpot:
    @pytest.mark.parametrize(("score", "ids"), [(3, ["AWS010"]), (4, [])])
    def test_score_of_the_region(self, score: int, ids: list[str]) -> None:
        scores = {"SpotPlacementScores": [{"Region": "us-west-2", "Score": score}]}
        answers = fine().on("ec2", "GetSpotPlacementScores", scores)
        outcome = spot_scores(facts_of(answers, SPOT))
        assert [finding.id for finding in outcome.findings] == ids
        assert outcome.evidence == f"cheap: {score} of 10 for 4 nodes of 3 types"
        assert answers.calls[0][1]["SingleAvailabilityZone"] is False

    def test_score_of_the_pools_zone_on_the_second_page(self) -> None:
        others, own = (
            [{"Region": "us-west-2", "AvailabilityZoneId": f"usw2-az{n}", "Score": s}] for n, s in ((1, 9), (2, 2))
        )
        given = pages("SpotPlacementScores", others, own, names="NextToken")
        answers = fine().on("ec2", "GetSpotPlacementScores", given)
        (finding,) = spot_scores(facts_of(answers, {**SPOT, "zones": ["us-west-2b"]})).findings
        assert "a placement score of 2 of 10" in finding.message

    def test_no_request_for_few_types(self) -> None:
        answers = fine()
        outcome = spot_scores(facts_of(answers, {**SPOT, "capacity": {"type": "spot"}}))
        assert (outcome.findings, outcome.needed, answers.asked) == ((), False, [])
