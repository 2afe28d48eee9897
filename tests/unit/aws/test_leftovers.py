"""The search for leftover resources in constructed responses, which contain leftovers and foreign resources."""

import datetime as dt
import json
from functools import cache
from typing import Any

import pytest

from mlcluster.aws.errors import CredentialsError
from mlcluster.aws.leftovers import Leftovers, leftovers_data, scan
from mlcluster.aws.leftovers.scan import KINDS, OWNERSHIP
from mlcluster.aws.session import Account
from tests.fakes.aws_responses import ACCOUNT, REGION, Answers, Parameters, Refused, no_network, pages

pytestmark = pytest.mark.unit

OURS = {"Key": "mlcluster.dev/cluster", "Value": "atlas"}
THEIRS = {"Key": "mlcluster.dev/cluster", "Value": "atlas-dev"}
OWNED = {"Key": "kubernetes.io/cluster/atlas", "Value": "owned"}
SHARED = {"Key": "kubernetes.io/cluster/atlas", "Value": "shared"}
DISCOVERY = {"Key": "karpenter.sh/discovery", "Value": "atlas"}
TAIL = f" --region {REGION} --profile platform"
LB = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/k8s-web/1"
FOREIGN_LB = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/foreign/1"
TG = f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:targetgroup/k8s-web/1"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a"
PENDING_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0b"
BUCKET = "arn:aws:s3:::atlas-data"
TAGGED_LOGS = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/atlas/own:*"
QUEUE = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/atlas"
THEIR_QUEUE = f"{QUEUE}-dev"


def iam(path: str) -> str:
    return f"arn:aws:iam::{ACCOUNT}:{path}"


def rule_arn(name: str) -> str:
    return f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{name}"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)


def empty() -> Answers:
    """Return an account without leftover resources."""
    answers = Answers()
    for operation, key in {
        "DescribeVpcs": "Vpcs",
        "DescribeInstances": "Reservations",
        "DescribeVolumes": "Volumes",
        "DescribeSnapshots": "Snapshots",
        "DescribeVpcEndpoints": "VpcEndpoints",
        "DescribeNatGateways": "NatGateways",
        "DescribeAddresses": "Addresses",
        "DescribeNetworkInterfaces": "NetworkInterfaces",
        "DescribeLaunchTemplates": "LaunchTemplates",
        "DescribePlacementGroups": "PlacementGroups",
        "DescribeSecurityGroups": "SecurityGroups",
        "DescribeSubnets": "Subnets",
        "DescribeRouteTables": "RouteTables",
        "DescribeNetworkAcls": "NetworkAcls",
        "DescribeInternetGateways": "InternetGateways",
    }.items():
        answers.on("ec2", operation, {key: []})
    answers.on("eks", "DescribeCluster", Refused("ResourceNotFoundException", status=404))
    answers.on("autoscaling", "DescribeAutoScalingGroups", {"AutoScalingGroups": []})
    answers.on("elbv2", "DescribeLoadBalancers", {"LoadBalancers": []})
    answers.on("elbv2", "DescribeTargetGroups", {"TargetGroups": []})
    answers.on("elb", "DescribeLoadBalancers", {"LoadBalancerDescriptions": []})
    answers.on("efs", "DescribeFileSystems", {"FileSystems": []})
    answers.on("fsx", "DescribeFileSystems", {"FileSystems": []})
    answers.on("fsx", "DescribeBackups", {"Backups": []})
    answers.on("iam", "ListInstanceProfiles", {"InstanceProfiles": []})
    answers.on("iam", "ListRoles", {"Roles": []})
    answers.on("iam", "ListPolicies", {"Policies": []})
    answers.on("events", "ListRules", {"Rules": []})
    answers.on("sqs", "ListQueues", {"QueueUrls": []})
    answers.on("logs", "DescribeLogGroups", {"logGroups": []})
    return answers.on("resourcegroupstaggingapi", "GetResources", {"ResourceTagMappingList": []})


def planted() -> Answers:
    """Return an account with a leftover of every kind, each beside a foreign resource."""
    answers = empty()
    _plant_network(answers)
    _plant_compute(answers)
    _plant_control_plane(answers)
    _plant_disks(answers)
    _plant_identity(answers)
    _plant_services(answers)
    return answers


def in_vpc(identifier: str, value: str, *tags: dict[str, str], vpc: str = "vpc-ours", **more: Any) -> dict[str, Any]:
    return {identifier: value, "VpcId": vpc, "Tags": list(tags), **more}


def _plant_network(answers: Answers) -> None:
    foreign = "vpc-theirs"
    answers.on(
        "ec2",
        "DescribeVpcs",
        {
            "Vpcs": [
                {"VpcId": "vpc-ours", "Tags": [OURS, {"Key": "Name", "Value": "atlas"}]},
                {"VpcId": foreign, "Tags": [THEIRS]},
                {"VpcId": "vpc-common", "Tags": [SHARED, DISCOVERY]},
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeSubnets",
        {
            "Subnets": [
                in_vpc("SubnetId", "subnet-00000001", OURS, AvailabilityZone="us-west-2a"),
                in_vpc("SubnetId", "subnet-theirs", SHARED, DISCOVERY, vpc=foreign),
                in_vpc("SubnetId", "subnet-other-cluster", THEIRS),
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeRouteTables",
        {
            "RouteTables": [
                in_vpc("RouteTableId", "rtb-1", Associations=[{"SubnetId": "subnet-00000001", "Main": False}]),
                in_vpc("RouteTableId", "rtb-main", Associations=[{"Main": True}]),
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeNetworkAcls",
        {
            "NetworkAcls": [
                in_vpc("NetworkAclId", "acl-1", IsDefault=False),
                in_vpc("NetworkAclId", "acl-default", IsDefault=True),
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeInternetGateways",
        {"InternetGateways": [{"InternetGatewayId": "igw-1", "Attachments": [{"VpcId": "vpc-ours"}], "Tags": [OURS]}]},
    )
    answers.on(
        "ec2",
        "DescribeNatGateways",
        {
            "NatGateways": [
                in_vpc("NatGatewayId", "nat-1", OURS, State="available"),
                in_vpc("NatGatewayId", "nat-gone", OURS, State="deleted"),
                in_vpc("NatGatewayId", "nat-theirs", vpc=foreign, State="available"),
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeAddresses",
        {
            "Addresses": [
                {
                    "AllocationId": "eipalloc-1",
                    "PublicIp": "203.0.113.7",
                    "Tags": [OURS],
                    "NetworkInterfaceId": "eni-n",
                },
                {"AllocationId": "eipalloc-theirs", "PublicIp": "203.0.113.8", "Tags": [THEIRS]},
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeVpcEndpoints",
        {
            "VpcEndpoints": [
                in_vpc("VpcEndpointId", "vpce-1", VpcEndpointType="Gateway", ServiceName="com.amazonaws.s3"),
                in_vpc(
                    "VpcEndpointId", "vpce-2", VpcEndpointType="Interface", SubnetIds=["subnet-00000001", "subnet-2"]
                ),
            ]
        },
    )
    _plant_interfaces(answers)
    _plant_security_groups(answers, foreign)


def _plant_interfaces(answers: Answers) -> None:
    def interface(value: str, **more: Any) -> dict[str, Any]:
        return {"NetworkInterfaceId": value, "VpcId": "vpc-ours", "SubnetId": "subnet-00000001", **more}

    answers.on(
        "ec2",
        "DescribeNetworkInterfaces",
        {
            "NetworkInterfaces": [
                interface("eni-leaked-1", Groups=[{"GroupId": "sg-1"}], Description="aws-K8S-i-0a"),
                interface(
                    "eni-held",
                    Attachment={"AttachmentId": "eni-attach-1", "InstanceId": "i-run", "DeleteOnTermination": False},
                ),
                interface("eni-goes", Attachment={"InstanceId": "i-run", "DeleteOnTermination": True}),
                interface("eni-nat", RequesterManaged=True, Description="Interface for NAT Gateway nat-1"),
                {"NetworkInterfaceId": "eni-eks", "VpcId": "vpc-common", "Description": "Amazon EKS atlas"},
                {"NetworkInterfaceId": "eni-eks-theirs", "VpcId": "vpc-common", "Description": "Amazon EKS atlas-dev"},
                {
                    "NetworkInterfaceId": "eni-cni",
                    "VpcId": "vpc-common",
                    "TagSet": [{"Key": "cluster.k8s.amazonaws.com/name", "Value": "atlas"}],
                },
            ]
        },
    )


def _plant_security_groups(answers: Answers, foreign: str) -> None:
    def allows(group: str) -> list[dict[str, Any]]:
        return [{"IpProtocol": "tcp", "UserIdGroupPairs": [{"GroupId": group}]}]

    answers.on(
        "ec2",
        "DescribeSecurityGroups",
        {
            "SecurityGroups": [
                in_vpc("GroupId", "sg-1", OWNED, GroupName="eks-cluster-sg-atlas", IpPermissions=allows("sg-2")),
                in_vpc("GroupId", "sg-2", OURS, GroupName="atlas-efa", IpPermissions=allows("sg-2")),
                in_vpc("GroupId", "sg-default", GroupName="default"),
                in_vpc("GroupId", "sg-theirs", vpc=foreign, GroupName="web", IpPermissions=allows("sg-1")),
            ]
        },
    )
    rules = [
        {
            "SecurityGroupRuleId": "sgr-1",
            "GroupId": "sg-1",
            "IsEgress": False,
            "ReferencedGroupInfo": {"GroupId": "sg-2"},
        },
        {"SecurityGroupRuleId": "sgr-2", "GroupId": "sg-1", "IsEgress": False, "CidrIpv4": "10.0.0.0/8"},
        {
            "SecurityGroupRuleId": "sgr-3",
            "GroupId": "sg-1",
            "IsEgress": True,
            "ReferencedGroupInfo": {"GroupId": "sg-2"},
        },
        {
            "SecurityGroupRuleId": "sgr-4",
            "GroupId": "sg-1",
            "IsEgress": True,
            "ReferencedGroupInfo": {"GroupId": "sg-1"},
        },
    ]
    answers.on("ec2", "DescribeSecurityGroupRules", {"SecurityGroupRules": rules})


def _plant_compute(answers: Answers) -> None:
    group = {
        "MinSize": 0,
        "MaxSize": 1,
        "DesiredCapacity": 0,
        "DefaultCooldown": 300,
        "AvailabilityZones": ["us-west-2a"],
        "HealthCheckType": "EC2",
        "CreatedTime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    }
    answers.on(
        "autoscaling",
        "DescribeAutoScalingGroups",
        {
            "AutoScalingGroups": [
                {
                    **group,
                    "AutoScalingGroupName": "eks-train",
                    "AutoScalingGroupARN": "arn:aws:autoscaling:::1",
                    "Tags": [{"Key": "eks:cluster-name", "Value": "atlas"}],
                },
                {
                    **group,
                    "AutoScalingGroupName": "eks-other",
                    "AutoScalingGroupARN": "arn:aws:autoscaling:::2",
                    "Tags": [{"Key": "eks:cluster-name", "Value": "atlas-dev"}],
                },
            ]
        },
    )

    def machine(value: str, state: str = "running", **more: Any) -> dict[str, Any]:
        return {
            "InstanceId": value,
            "InstanceType": "p5.48xlarge",
            "State": {"Name": state},
            "Placement": {"AvailabilityZone": "us-west-2a"},
            "Tags": [OWNED],
            **more,
        }

    def instances(parameters: Parameters) -> dict[str, Any]:
        by_tag = parameters["Filters"][0]["Name"] == "tag-key"
        mine = [machine("i-run"), machine("i-stop", "stopped"), machine("i-spot", InstanceLifecycle="spot")]
        gone = [machine("i-gone", "terminated"), machine("i-theirs", Tags=[THEIRS, OWNED])]
        nameless = [machine("i-vpc", InstanceType="m7i.2xlarge", Tags=[], VpcId="vpc-ours")]
        found = [*mine, *gone] if by_tag else [*mine, *nameless]
        return {"Reservations": [{"ReservationId": "r-1", "Instances": found}]}

    answers.on("ec2", "DescribeInstances", instances)
    answers.on(
        "ec2",
        "DescribeLaunchTemplates",
        {
            "LaunchTemplates": [
                {"LaunchTemplateId": "lt-1", "LaunchTemplateName": "atlas-train", "Tags": [OURS]},
                {"LaunchTemplateId": "lt-theirs", "LaunchTemplateName": "atlas-dev", "Tags": [THEIRS]},
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribePlacementGroups",
        {"PlacementGroups": [{"GroupId": "pg-1", "GroupName": "atlas-train", "State": "available", "Tags": [OURS]}]},
    )
    _plant_balancers(answers)


def _plant_balancers(answers: Answers) -> None:
    def balancer(arn: str, vpc: str) -> dict[str, Any]:
        zones = [{"ZoneName": "us-west-2a"}]
        name = arn.split("/")[2]
        return {
            "LoadBalancerArn": arn,
            "LoadBalancerName": name,
            "VpcId": vpc,
            "Type": "network",
            "AvailabilityZones": zones,
        }

    answers.on(
        "elbv2",
        "DescribeLoadBalancers",
        {"LoadBalancers": [balancer(LB, "vpc-common"), balancer(FOREIGN_LB, "vpc-theirs")]},
    )
    answers.on(
        "elbv2",
        "DescribeTargetGroups",
        {"TargetGroups": [{"TargetGroupArn": TG, "TargetGroupName": "k8s-web", "LoadBalancerArns": [LB]}]},
    )

    def tags(parameters: Parameters) -> dict[str, Any]:
        known = {LB: [{"Key": "elbv2.k8s.aws/cluster", "Value": "atlas"}], TG: [OWNED], FOREIGN_LB: [SHARED]}
        found = [{"ResourceArn": arn, "Tags": known[arn]} for arn in parameters["ResourceArns"]]
        return {"TagDescriptions": found}

    answers.on("elbv2", "DescribeTags", tags)
    classic = {"VPCId": "vpc-common", "AvailabilityZones": ["us-west-2a"]}
    names = {"a1": [OWNED], "b2": [{"Key": "kubernetes.io/cluster/other", "Value": "owned"}]}
    answers.on(
        "elb",
        "DescribeLoadBalancers",
        {"LoadBalancerDescriptions": [{**classic, "LoadBalancerName": name} for name in names]},
    )
    answers.on(
        "elb",
        "DescribeTags",
        {"TagDescriptions": [{"LoadBalancerName": name, "Tags": found} for name, found in names.items()]},
    )


def _plant_control_plane(answers: Answers) -> None:
    cluster = {
        "name": "atlas",
        "arn": f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/atlas",
        "status": "ACTIVE",
        "deletionProtection": True,
        "tags": {OURS["Key"]: OURS["Value"]},
    }
    answers.on("eks", "DescribeCluster", {"cluster": cluster})
    answers.on("eks", "ListNodegroups", {"nodegroups": ["train"]})
    answers.on("eks", "ListAddons", {"addons": ["coredns"]})


def _plant_disks(answers: Answers) -> None:
    def disk(value: str, *tags: dict[str, str], **more: Any) -> dict[str, Any]:
        zone = {"AvailabilityZone": "us-west-2b"}
        return {"VolumeId": value, "Size": 100, "VolumeType": "gp3", "Tags": list(tags), **zone, **more}

    attached = {"InstanceId": "i-run", "DeleteOnTermination": False}
    answers.on(
        "ec2",
        "DescribeVolumes",
        {
            "Volumes": [
                disk("vol-claim", OURS, {"Key": "Name", "Value": "notebook"}, Iops=4000, Throughput=225),
                disk("vol-held", OWNED, Attachments=[attached], VolumeType="io2"),
                disk("vol-root", OWNED, Attachments=[{**attached, "DeleteOnTermination": True}]),
                disk("vol-theirs", {"Key": "ebs.csi.aws.com/cluster", "Value": "true"}),
            ]
        },
    )
    answers.on(
        "ec2",
        "DescribeSnapshots",
        {"Snapshots": [{"SnapshotId": "snap-1", "Tags": [OURS]}, {"SnapshotId": "snap-theirs", "Tags": [THEIRS]}]},
    )

    def efs(value: str, tag: dict[str, str]) -> dict[str, Any]:
        return {
            "OwnerId": ACCOUNT,
            "CreationToken": value,
            "FileSystemId": value,
            "FileSystemArn": f"arn:aws:elasticfilesystem:{REGION}:{ACCOUNT}:file-system/{value}",
            "CreationTime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            "LifeCycleState": "available",
            "NumberOfMountTargets": 1,
            "SizeInBytes": {"Value": 73 * 2**30, "ValueInStandard": 73 * 2**30, "ValueInIA": 0},
            "PerformanceMode": "generalPurpose",
            "ThroughputMode": "elastic",
            "Tags": [tag],
        }

    answers.on("efs", "DescribeFileSystems", {"FileSystems": [efs("fs-efs", OURS), efs("fs-theirs", THEIRS)]})
    target = {
        "MountTargetId": "fsmt-00000001",
        "FileSystemId": "fs-efs",
        "SubnetId": "subnet-00000001",
        "LifeCycleState": "available",
        "AvailabilityZoneName": "us-west-2a",
    }
    answers.on("efs", "DescribeMountTargets", {"MountTargets": [target]})
    lustre = {
        "FileSystemId": "fs-lustre-00001",
        "FileSystemType": "LUSTRE",
        "StorageType": "SSD",
        "StorageCapacity": 1200,
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125},
        "NetworkInterfaceIds": ["eni-leaked-1"],
        "Tags": [OURS],
    }
    answers.on(
        "fsx", "DescribeFileSystems", {"FileSystems": [lustre, {"FileSystemId": "fs-foreign-1", "Tags": [THEIRS]}]}
    )
    backup = {
        "BackupId": "backup-00001",
        "Lifecycle": "AVAILABLE",
        "Type": "USER_INITIATED",
        "CreationTime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "FileSystem": {},
        "Tags": [OURS],
    }
    answers.on("fsx", "DescribeBackups", {"Backups": [backup]})


def _plant_identity(answers: Answers) -> None:
    def role(name: str) -> dict[str, Any]:
        made = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        return {
            "Path": "/",
            "RoleName": name,
            "RoleId": "AROAROAROAROAROA",
            "Arn": iam(f"role/{name}"),
            "CreateDate": made,
        }

    def profile(name: str) -> dict[str, Any]:
        made = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        return {
            "Path": "/",
            "InstanceProfileName": name,
            "InstanceProfileId": "AIPAAIPAAIPAAIPA",
            "Arn": iam(f"instance-profile/{name}"),
            "CreateDate": made,
            "Roles": [role("atlas-nodes")],
        }

    def tags(parameters: Parameters) -> dict[str, Any]:
        name = next(iter(value for key, value in parameters.items() if key != "Marker"))
        return {"Tags": [THEIRS if "atlas-dev" in name else OURS]}

    answers.on("iam", "ListInstanceProfiles", {"InstanceProfiles": [profile("atlas_1234"), profile("foreign")]})
    answers.on("iam", "ListInstanceProfileTags", tags)
    answers.on("iam", "ListRoles", {"Roles": [role("atlas-nodes"), role("atlas-dev-nodes"), role("foreign")]})
    answers.on("iam", "ListRoleTags", tags)
    answers.on("iam", "ListInstanceProfilesForRole", {"InstanceProfiles": [profile("atlas_1234")]})
    attached = [{"PolicyName": "EKSWorker", "PolicyArn": "arn:aws:iam::aws:policy/EKSWorker"}]
    answers.on("iam", "ListAttachedRolePolicies", {"AttachedPolicies": attached})
    answers.on("iam", "ListRolePolicies", {"PolicyNames": ["own"]})
    answers.on(
        "iam", "ListPolicies", {"Policies": [{"PolicyName": "atlas-karpenter", "Arn": iam("policy/atlas-karpenter")}]}
    )
    answers.on("iam", "ListPolicyTags", tags)


def _plant_services(answers: Answers) -> None:
    answers.on("sqs", "ListQueues", {"QueueUrls": [QUEUE, THEIR_QUEUE]})
    answers.on(
        "sqs",
        "ListQueueTags",
        lambda asked: {"Tags": {OURS["Key"]: "atlas" if asked["QueueUrl"] == QUEUE else "atlas-dev"}},
    )
    rules = ["atlas-spot", "atlas-dev-spot"]
    answers.on("events", "ListRules", {"Rules": [{"Name": name, "Arn": rule_arn(name)} for name in rules]})
    answers.on(
        "events",
        "ListTagsForResource",
        lambda asked: {"Tags": [THEIRS if "dev" in asked["ResourceARN"] else OURS]},
    )
    answers.on("events", "ListTargetsByRule", {"Targets": [{"Id": "queue", "Arn": "arn:aws:sqs:::atlas"}]})

    def groups(asked: Parameters) -> dict[str, Any]:
        names = ["/aws/eks/atlas/cluster", "/aws/eks/atlas-dev/cluster"]
        found = [name for name in names if name.startswith(asked["logGroupNamePrefix"])]
        return {"logGroups": [{"logGroupName": name, "storedBytes": 5} for name in found]}

    answers.on("logs", "DescribeLogGroups", groups)

    def tagged(asked: Parameters) -> dict[str, Any]:
        every = [BUCKET, TAGGED_LOGS, f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/i-gone", KEY]
        arns = [KEY, PENDING_KEY] if asked.get("ResourceTypeFilters") == ["kms:key"] else every
        return {"ResourceTagMappingList": [{"ResourceARN": arn, "Tags": [OURS]} for arn in arns]}

    answers.on("resourcegroupstaggingapi", "GetResources", tagged)

    def key(asked: Parameters) -> dict[str, Any]:
        pending = asked["KeyId"] == PENDING_KEY
        date = {"DeletionDate": dt.datetime(2026, 12, 1, tzinfo=dt.UTC)} if pending else {}
        return {"KeyMetadata": {"KeyId": asked["KeyId"][-2:], "Arn": asked["KeyId"], **date}}

    answers.on("kms", "DescribeKey", key)


SHARED_ANSWERS = Answers()


@cache
def shared_account() -> Account:
    """Return one account for all tests, because creating the clients of a dozen services takes two seconds."""
    return SHARED_ANSWERS.account()


def searched(answers: Answers, *kept: str, vpc: str | None = "vpc-ours") -> Leftovers:
    SHARED_ANSWERS._given, SHARED_ANSWERS.calls = answers._given, answers.calls
    return scan(shared_account(), "atlas", vpc, kept)


@cache
def found_planted() -> Leftovers:
    """Return the result of one search, which several tests read."""
    return searched(planted())


EXPECTED = {
    ("EKS node group", "atlas/train"): "aws eks delete-nodegroup --cluster-name atlas --nodegroup-name train#"
    " && aws eks wait nodegroup-deleted --cluster-name atlas --nodegroup-name train#",
    ("Auto Scaling group", "eks-train"): "aws autoscaling delete-auto-scaling-group"
    " --auto-scaling-group-name eks-train --force-delete#",
    **{
        ("instance", one): f"aws ec2 terminate-instances --instance-ids {one}#"
        f" && aws ec2 wait instance-terminated --instance-ids {one}#"
        for one in ("i-run", "i-stop", "i-spot", "i-vpc")
    },
    ("load balancer", LB): f"aws elbv2 delete-load-balancer --load-balancer-arn {LB}#"
    f" && aws elbv2 wait load-balancers-deleted --load-balancer-arns {LB}#",
    ("classic load balancer", "a1"): "aws elb delete-load-balancer --load-balancer-name a1#",
    ("target group", TG): f"aws elbv2 delete-target-group --target-group-arn {TG}#",
    ("EKS add-on", "atlas/coredns"): "aws eks delete-addon --cluster-name atlas --addon-name coredns#"
    " && aws eks wait addon-deleted --cluster-name atlas --addon-name coredns#",
    ("EKS cluster", "atlas"): "aws eks update-cluster-config --name atlas --no-deletion-protection#"
    " && aws eks wait cluster-active --name atlas# && aws eks delete-cluster --name atlas#"
    " && aws eks wait cluster-deleted --name atlas#",
    ("EFS mount target", "fsmt-00000001"): "aws efs delete-mount-target --mount-target-id fsmt-00000001#",
    ("EFS file system", "fs-efs"): "aws efs delete-file-system --file-system-id fs-efs#",
    ("FSx file system", "fs-lustre-00001"): "aws fsx delete-file-system --file-system-id fs-lustre-00001#",
    ("FSx backup", "backup-00001"): "aws fsx delete-backup --backup-id backup-00001#",
    ("volume", "vol-claim"): "aws ec2 delete-volume --volume-id vol-claim#",
    ("volume", "vol-held"): "aws ec2 delete-volume --volume-id vol-held#",
    ("snapshot", "snap-1"): "aws ec2 delete-snapshot --snapshot-id snap-1#",
    ("VPC endpoint", "vpce-1"): "aws ec2 delete-vpc-endpoints --vpc-endpoint-ids vpce-1#",
    ("VPC endpoint", "vpce-2"): "aws ec2 delete-vpc-endpoints --vpc-endpoint-ids vpce-2#",
    ("NAT gateway", "nat-1"): "aws ec2 delete-nat-gateway --nat-gateway-id nat-1#"
    " && aws ec2 wait nat-gateway-deleted --nat-gateway-ids nat-1#",
    ("Elastic IP", "eipalloc-1"): "aws ec2 release-address --allocation-id eipalloc-1#",
    ("network interface", "eni-leaked-1"): "aws ec2 delete-network-interface --network-interface-id eni-leaked-1#",
    ("network interface", "eni-held"): "aws ec2 detach-network-interface --attachment-id eni-attach-1 --force#"
    " && aws ec2 wait network-interface-available --network-interface-ids eni-held#"
    " && aws ec2 delete-network-interface --network-interface-id eni-held#",
    ("network interface", "eni-nat"): "",
    ("network interface", "eni-eks"): "aws ec2 delete-network-interface --network-interface-id eni-eks#",
    ("network interface", "eni-cni"): "aws ec2 delete-network-interface --network-interface-id eni-cni#",
    ("launch template", "lt-1"): "aws ec2 delete-launch-template --launch-template-id lt-1#",
    ("placement group", "pg-1"): "aws ec2 delete-placement-group --group-name atlas-train#",
    ("security group rules", "sg-1 ingress"): "aws ec2 revoke-security-group-ingress --group-id sg-1"
    " --security-group-rule-ids sgr-1#",
    ("security group rules", "sg-1 egress"): "aws ec2 revoke-security-group-egress --group-id sg-1"
    " --security-group-rule-ids sgr-3#",
    ("security group", "sg-1"): "aws ec2 delete-security-group --group-id sg-1#",
    ("security group", "sg-2"): "aws ec2 delete-security-group --group-id sg-2#",
    ("subnet", "subnet-00000001"): "aws ec2 delete-subnet --subnet-id subnet-00000001#",
    ("route table", "rtb-1"): "aws ec2 delete-route-table --route-table-id rtb-1#",
    ("network ACL", "acl-1"): "aws ec2 delete-network-acl --network-acl-id acl-1#",
    ("internet gateway", "igw-1"): "aws ec2 detach-internet-gateway --internet-gateway-id igw-1 --vpc-id vpc-ours#"
    " && aws ec2 delete-internet-gateway --internet-gateway-id igw-1#",
    ("VPC", "vpc-ours"): "aws ec2 delete-vpc --vpc-id vpc-ours#",
    ("instance profile", "atlas_1234"): "aws iam remove-role-from-instance-profile"
    " --instance-profile-name atlas_1234 --role-name atlas-nodes#"
    " && aws iam delete-instance-profile --instance-profile-name atlas_1234#",
    ("IAM role", "atlas-nodes"): "aws iam detach-role-policy --role-name atlas-nodes"
    " --policy-arn arn:aws:iam::aws:policy/EKSWorker#"
    " && aws iam delete-role-policy --role-name atlas-nodes --policy-name own#"
    " && aws iam delete-role --role-name atlas-nodes#",
    (
        "IAM policy",
        iam("policy/atlas-karpenter"),
    ): f"aws iam delete-policy --policy-arn {iam('policy/atlas-karpenter')}#",
    ("EventBridge rule", "atlas-spot"): "aws events remove-targets --rule atlas-spot --ids queue#"
    " && aws events delete-rule --name atlas-spot#",
    ("SQS queue", QUEUE): f"aws sqs delete-queue --queue-url {QUEUE}#",
    ("log group", "/aws/eks/atlas/cluster"): "aws logs delete-log-group --log-group-name /aws/eks/atlas/cluster#",
    ("KMS key", "0a"): "aws kms schedule-key-deletion --key-id 0a --pending-window-in-days 7#",
    ("s3", BUCKET): "",
    ("log group", "/atlas/own"): "aws logs delete-log-group --log-group-name /atlas/own#",
}
"""Every leftover of the account, in deletion order; # stands for region and profile."""


def test_scan_finds_every_leftover_with_its_command_and_nothing_foreign() -> None:
    found = found_planted()
    assert {(one.kind, one.id): one.command for one in found.left} == {
        key: command.replace("#", TAIL) for key, command in EXPECTED.items()
    }
    assert not found.unknown


def test_leftovers_are_in_deletion_order() -> None:
    assert [(one.kind, one.id) for one in found_planted().left] == list(EXPECTED)


def test_the_account_contains_every_kind() -> None:
    kinds = {kind for kind, _ in EXPECTED}
    assert {kind for kind, _ in KINDS} - kinds == {"anything else"}


def test_every_command_is_valid() -> None:
    """The commands use operations and parameters of the service models."""
    for command in filter(None, EXPECTED.values()):
        for part in command.replace("#", "").split(" && "):
            _, service, verb, *words = part.split()
            client = shared_account().client(service)
            if verb == "wait":
                assert words[0].replace("-", "_") in client.waiter_names, part
                continue
            model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[verb.replace("-", "_")])
            given = {word.removeprefix("--").removeprefix("no-") for word in words if word.startswith("--")}
            assert given <= {_dashed(name) for name in model.input_shape.members}, part
            assert {_dashed(name) for name in model.input_shape.required_members} <= given, part


def _dashed(name: str) -> str:
    from botocore import xform_name

    return str(xform_name(name, "-"))


@pytest.mark.parametrize(
    ("identifier", "why"),
    [
        ("i-run", "tag kubernetes.io/cluster/atlas"),
        ("i-vpc", "in vpc-ours"),
        ("eks-train", "tag eks:cluster-name"),
        (LB, "tag elbv2.k8s.aws/cluster"),
        ("eni-cni", "tag cluster.k8s.amazonaws.com/name"),
        ("eni-eks", "name"),
        ("lt-1", "tag mlcluster.dev/cluster"),
        ("/aws/eks/atlas/cluster", "name"),
    ],
)
def test_reason_of_each_leftover(identifier: str, why: str) -> None:
    assert {one.id: one.why for one in found_planted().left}[identifier] == why


@pytest.mark.parametrize(
    ("identifier", "blocked_by"),
    [
        ("vol-held", ("i-run",)),
        ("fs-efs", ("fsmt-00000001",)),
        (TG, (LB,)),
        ("eni-nat", ("Interface for NAT Gateway nat-1",)),
        ("eni-held", ("i-run",)),
        ("eipalloc-1", ("eni-n",)),
        ("sg-1", ("eni-leaked-1", "rules of sg-theirs")),
        ("subnet-00000001", ("eni-leaked-1", "eni-held", "eni-goes", "eni-nat")),
        ("rtb-1", ("subnet-00000001",)),
        ("atlas-nodes", ("atlas_1234",)),
        ("atlas", ("atlas/train",)),
    ],
)
def test_blockers_of_each_leftover(identifier: str, blocked_by: tuple[str, ...]) -> None:
    assert {one.id: one.blocked_by for one in found_planted().left}[identifier] == blocked_by


@pytest.mark.parametrize(
    ("identifier", "hourly"),
    [
        ("i-stop", 0.0),
        ("i-spot", None),
        ("vol-claim", (100 * 0.08 + 1000 * 0.005 + 100 * 0.04) / 730),
        ("vol-held", None),
        ("snap-1", None),
        ("nat-1", 0.045),
        ("eipalloc-1", 0.005),
        (LB, 0.0225),
        ("a1", 0.025),
        ("vpce-1", 0.0),
        ("vpce-2", 0.02),
        ("fs-efs", 0.03),
        ("fs-lustre-00001", 1200 * 0.145 / 730),
        ("atlas", 0.1),
        ("0a", 1 / 730),
        ("sg-1", 0.0),
        (BUCKET, None),
    ],
)
def test_price_of_each_leftover(identifier: str, hourly: float | None) -> None:
    assert {one.id: one.hourly_usd for one in found_planted().left}[identifier] == (
        None if hourly is None else pytest.approx(hourly)
    )


def test_instance_price_comes_from_the_catalog() -> None:
    from mlcluster.catalog.instances import instance_type

    costs = {one.id: one.hourly_usd for one in found_planted().left}
    assert costs["i-run"] == instance_type("p5.48xlarge").usd_per_hour


def test_nothing_left() -> None:
    found = searched(empty())
    assert (found.left, found.kept, found.unknown) == ((), (), ())
    assert found.nothing_left


def test_kept_resources_are_listed_separately_with_their_dependents() -> None:
    found = searched(
        planted(), "fs-lustre-00001", "vpc-ours", f"arn:aws:elasticfilesystem:{REGION}:{ACCOUNT}:file-system/fs-efs"
    )
    assert {one.id for one in found.kept} == {"fs-lustre-00001", "fs-efs", "vpc-ours", "eni-leaked-1", "0b"}
    assert not {one.id for one in found.kept} & {one.id for one in found.left}
    pending = next(one for one in found.kept if one.id == "0b")
    assert (pending.command, pending.why, pending.hourly_usd) == ("", "AWS deletes it on 2026-12-01", 0.0)


def test_in_an_existing_vpc_only_tagged_resources_count() -> None:
    answers = planted()
    answers.on("ec2", "DescribeVpcs", {"Vpcs": [{"VpcId": "vpc-ours", "Tags": [SHARED, DISCOVERY]}]})
    found = {one.id for one in searched(answers).left}
    assert not {"vpc-ours", "i-vpc", "rtb-1", "acl-1", "vpce-1", "eni-leaked-1"} & found
    assert {"subnet-00000001", "igw-1", "nat-1", "sg-1", "sg-2"} <= found


def test_resources_tagged_by_controllers_of_a_namesake_do_not_count() -> None:
    answers = planted()
    answers.on("eks", "DescribeCluster", {"cluster": {"name": "atlas", "status": "ACTIVE", "tags": {}}})
    found = {one.id for one in searched(answers).left}
    strangers = {"atlas", "atlas/train", "eks-train", "i-run", LB, "a1", "eni-eks", "eni-cni", "/aws/eks/atlas/cluster"}
    assert not strangers & found
    assert {"vol-claim", "lt-1", "vpc-ours"} <= found


def test_scan_without_a_vpc_id() -> None:
    assert searched(planted(), vpc=None).left == found_planted().left


DENIED = Refused("AccessDenied", status=403)


@pytest.mark.parametrize(
    ("service", "operation", "kind", "permission"),
    [
        ("ec2", "DescribeVolumes", "volume", "ec2:DescribeVolumes"),
        ("elbv2", "DescribeTags", "load balancer", "elasticloadbalancing:DescribeTags"),
        ("elb", "DescribeLoadBalancers", "classic load balancer", "elasticloadbalancing:DescribeLoadBalancers"),
        ("efs", "DescribeFileSystems", "EFS file system", "elasticfilesystem:DescribeFileSystems"),
        ("resourcegroupstaggingapi", "GetResources", "anything else", "tag:GetResources"),
        ("iam", "ListRoleTags", "IAM role", "iam:ListRoleTags"),
        ("sqs", "ListQueues", "SQS queue", "sqs:ListQueues"),
        ("eks", "DescribeCluster", OWNERSHIP, "eks:DescribeCluster"),
    ],
)
def test_a_kind_without_list_permission_is_unknown(service: str, operation: str, kind: str, permission: str) -> None:
    answers = planted().on(service, operation, DENIED)
    found = searched(answers)
    assert permission in {one.permission for one in found.unknown if one.kind == kind}
    assert not found.nothing_left
    assert not searched(empty().on("ec2", "DescribeVolumes", DENIED)).nothing_left


def test_results_before_a_rejected_request_are_kept() -> None:
    answers = planted().on("efs", "DescribeMountTargets", Refused("ThrottlingException", status=400))
    found = searched(answers)
    (one,) = found.unknown
    assert (one.kind, one.permission) == ("EFS file system", "")
    assert "ThrottlingException" in one.reason
    assert {"fs-lustre-00001", "vpc-ours"} <= {thing.id for thing in found.left}


def test_without_any_permission_every_kind_is_unknown() -> None:
    answers = empty()
    for service, operation in list(answers._given):
        answers.on(service, operation, DENIED)
    found = searched(answers)
    assert {one.kind for one in found.unknown} == {OWNERSHIP, *(kind for kind, _ in KINDS)}


def test_expired_credentials_stop_the_search() -> None:
    with pytest.raises(CredentialsError):
        searched(planted().on("ec2", "DescribeVolumes", Refused("ExpiredToken")))


def test_every_page_is_read() -> None:
    snapshots = [[{"SnapshotId": f"snap-{number}", "Tags": [OURS]}] for number in range(3)]
    profiles = planted().on("ec2", "DescribeSnapshots", pages("Snapshots", *snapshots, names="NextToken"))
    found = searched(profiles)
    assert [one.id for one in found.left if one.kind == "snapshot"] == ["snap-0", "snap-1", "snap-2"]


def test_tags_of_load_balancers_are_requested_in_batches_of_twenty() -> None:
    arns = [f"{LB}{number}" for number in range(45)]
    balancers = [{"LoadBalancerArn": arn, "LoadBalancerName": arn[-4:]} for arn in arns]
    answers = empty().on("elbv2", "DescribeLoadBalancers", {"LoadBalancers": balancers})
    answers.on(
        "elbv2",
        "DescribeTags",
        lambda asked: {"TagDescriptions": [{"ResourceArn": arn, "Tags": [OWNED]} for arn in asked["ResourceArns"]]},
    )
    assert len(searched(answers).left) == 45
    tags = "elasticloadbalancing:DescribeTags"
    sizes = [len(asked["ResourceArns"]) for action, asked in answers.calls if action == tags]
    assert sizes == [20, 20, 5]


def test_scan_sends_only_read_requests() -> None:
    answers = planted()
    searched(answers)
    assert len(answers.asked) > len(KINDS)
    assert all(action.partition(":")[2].startswith(("Describe", "Get", "List")) for action in answers.asked)


def test_commands_without_a_profile() -> None:
    answers = empty().on("ec2", "DescribeSnapshots", {"Snapshots": [{"SnapshotId": "snap-1", "Tags": [OURS]}]})
    (one,) = scan(answers.account(profile=None), "atlas").left
    assert one.command == f"aws ec2 delete-snapshot --snapshot-id snap-1 --region {REGION}"


def test_document_of_a_search() -> None:
    data = leftovers_data(searched(planted(), "fs-lustre-00001"))
    assert json.loads(json.dumps(data)) == data
    assert (data["apiVersion"], data["kind"], data["nothingLeft"]) == ("mlcluster/v1alpha1", "LeftoverList", False)
    assert [one["id"] for one in data["kept"]] == ["fs-lustre-00001", "eni-leaked-1", "0b"]
    assert data["cost"]["leftWithoutPrice"] == sum(one["hourlyUsd"] is None for one in data["left"])
    assert data["cost"]["keptHourlyUsd"] == pytest.approx(1200 * 0.145 / 730, abs=1e-4)
    assert data["cost"]["exact"] is False
    assert data["left"][0] == {
        "kind": "EKS node group",
        "id": "atlas/train",
        "name": "train",
        "arn": "",
        "zone": "",
        "hourlyUsd": 0.0,
        "command": EXPECTED["EKS node group", "atlas/train"].replace("#", TAIL),
        "why": "of cluster atlas",
        "blockedBy": [],
    }
