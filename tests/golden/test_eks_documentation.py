"""docs/eks.md, docs/eks-first-run.md: offline commands run, the others parse; policies, versions, prices are true."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session
from typer.main import get_command

from mlcluster.aws.cli import OLDEST, OLDEST_V1
from mlcluster.aws.leftovers import prices
from mlcluster.aws.preflight import PERMISSIONS
from mlcluster.cli import app
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.engine.plugin_pins import all_plugins
from mlcluster.kubernetes_provider import VERSION as KUBERNETES_VERSION
from mlcluster.lab.toolchain.fit import PULUMI_RANGE

pytestmark = pytest.mark.golden

PAGES = ("docs/eks.md", "docs/eks-first-run.md")
POLICIES = ("look", "network", "cluster")
MOST_CHARACTERS = 6144
"""Of a managed policy, without white space (IAM user guide, quotas)."""
SERVICES = {
    "elasticfilesystem": ("efs",),
    "elasticloadbalancing": ("elb", "elbv2"),
    "servicequotas": ("service-quotas",),
    "tag": ("resourcegroupstaggingapi",),
}
"""Prefixes of IAM actions whose services botocore calls something else."""
NO_CALLS = {"iam:PassRole"}
"""Permissions that are no operation."""

ASKED = {
    "aws:autoscaling/schedule:Schedule": "autoscaling:PutScheduledUpdateGroupAction autoscaling:DeleteScheduledAction",
    "aws:autoscaling/tag:Tag": "autoscaling:CreateOrUpdateTags autoscaling:DeleteTags",
    "aws:cloudwatch/eventRule:EventRule": "events:PutRule events:DescribeRule events:DeleteRule",
    "aws:cloudwatch/eventTarget:EventTarget": "events:PutTargets events:ListTargetsByRule events:RemoveTargets",
    "aws:cloudwatch/logGroup:LogGroup": "logs:CreateLogGroup logs:PutRetentionPolicy logs:DeleteLogGroup",
    "aws:ec2/eip:Eip": "ec2:AllocateAddress ec2:DisassociateAddress ec2:ReleaseAddress",
    "aws:ec2/internetGateway:InternetGateway": "ec2:CreateInternetGateway ec2:AttachInternetGateway"
    " ec2:DetachInternetGateway ec2:DeleteInternetGateway",
    "aws:ec2/launchTemplate:LaunchTemplate": "ec2:CreateLaunchTemplate ec2:CreateLaunchTemplateVersion"
    " ec2:ModifyLaunchTemplate ec2:DeleteLaunchTemplate",
    "aws:ec2/natGateway:NatGateway": "ec2:CreateNatGateway ec2:DeleteNatGateway",
    "aws:ec2/placementGroup:PlacementGroup": "ec2:CreatePlacementGroup ec2:DeletePlacementGroup",
    "aws:ec2/route:Route": "ec2:CreateRoute ec2:ReplaceRoute ec2:DeleteRoute",
    "aws:ec2/routeTable:RouteTable": "ec2:CreateRouteTable ec2:DeleteRouteTable",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "ec2:AssociateRouteTable ec2:DisassociateRouteTable",
    "aws:ec2/securityGroup:SecurityGroup": "ec2:CreateSecurityGroup ec2:RevokeSecurityGroupEgress"
    " ec2:DeleteSecurityGroup",
    "aws:ec2/subnet:Subnet": "ec2:CreateSubnet ec2:ModifySubnetAttribute ec2:DeleteSubnet",
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": "ec2:CreateSubnetCidrReservation"
    " ec2:GetSubnetCidrReservations ec2:DeleteSubnetCidrReservation",
    "aws:ec2/vpc:Vpc": "ec2:CreateVpc ec2:ModifyVpcAttribute ec2:DeleteVpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "ec2:CreateVpcEndpoint ec2:ModifyVpcEndpoint ec2:DeleteVpcEndpoints"
    " route53:AssociateVPCWithHostedZone",
    "aws:efs/accessPoint:AccessPoint": "elasticfilesystem:CreateAccessPoint elasticfilesystem:DescribeAccessPoints"
    " elasticfilesystem:DeleteAccessPoint",
    "aws:efs/fileSystem:FileSystem": "elasticfilesystem:CreateFileSystem elasticfilesystem:PutLifecycleConfiguration"
    " elasticfilesystem:DescribeLifecycleConfiguration elasticfilesystem:DeleteFileSystem",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "elasticfilesystem:PutFileSystemPolicy"
    " elasticfilesystem:DescribeFileSystemPolicy elasticfilesystem:DeleteFileSystemPolicy",
    "aws:efs/mountTarget:MountTarget": "elasticfilesystem:CreateMountTarget ec2:CreateNetworkInterface"
    " elasticfilesystem:DescribeMountTargetSecurityGroups elasticfilesystem:DeleteMountTarget",
    "aws:eks/accessEntry:AccessEntry": "eks:CreateAccessEntry eks:DescribeAccessEntry eks:AssociateAccessPolicy"
    " eks:DeleteAccessEntry",
    "aws:eks/addon:Addon": "eks:CreateAddon eks:DescribeAddon eks:UpdateAddon eks:DeleteAddon iam:PassRole",
    "aws:eks/nodeGroup:NodeGroup": "eks:CreateNodegroup eks:DescribeNodegroup eks:UpdateNodegroupConfig"
    " eks:UpdateNodegroupVersion eks:DeleteNodegroup iam:PassRole iam:CreateServiceLinkedRole ec2:RunInstances",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "eks:CreatePodIdentityAssociation iam:PassRole"
    " eks:DescribePodIdentityAssociation eks:DeletePodIdentityAssociation",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "fsx:CreateFileSystem fsx:DescribeFileSystems fsx:DeleteFileSystem",
    "aws:iam/instanceProfile:InstanceProfile": "iam:CreateInstanceProfile iam:AddRoleToInstanceProfile"
    " iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile",
    "aws:iam/role:Role": "iam:CreateRole iam:GetRole iam:UpdateAssumeRolePolicy iam:DeleteRole"
    " iam:ListInstanceProfilesForRole iam:ListRolePolicies",
    "aws:iam/rolePolicy:RolePolicy": "iam:PutRolePolicy iam:GetRolePolicy iam:DeleteRolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "iam:AttachRolePolicy iam:ListAttachedRolePolicies"
    " iam:DetachRolePolicy",
    "aws:kms/alias:Alias": "kms:CreateAlias kms:ListAliases kms:DeleteAlias",
    "aws:kms/key:Key": "kms:CreateKey kms:EnableKeyRotation kms:GetKeyPolicy kms:GetKeyRotationStatus"
    " kms:ListResourceTags kms:ScheduleKeyDeletion",
    "aws:sqs/queue:Queue": "sqs:CreateQueue sqs:GetQueueAttributes sqs:DeleteQueue",
    "aws:sqs/queuePolicy:QueuePolicy": "sqs:SetQueueAttributes",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "ec2:AuthorizeSecurityGroupEgress"
    " ec2:RevokeSecurityGroupEgress",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "ec2:AuthorizeSecurityGroupIngress"
    " ec2:RevokeSecurityGroupIngress",
    "eks:index:Cluster": "eks:CreateCluster eks:DescribeCluster eks:UpdateClusterConfig eks:UpdateClusterVersion"
    " eks:DeleteCluster eks:CreateAccessEntry kms:CreateGrant iam:CreateServiceLinkedRole iam:PassRole",
}
"""The least actions to create, read and delete each type of resource (AWS service authorization reference)."""


def blocks(text: str, mark: str) -> Iterator[str]:
    """Yield the commands of a page's blocks with this mark, without comments."""
    for block in re.findall(rf"^```{mark}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            command = line.partition("  #")[0].rstrip()
            if command and not command.startswith("#"):
                yield command


def policy(root: Path, name: str) -> list[dict[str, Any]]:
    """Return the statements of a policy, their actions as lists."""
    found = json.loads((root / "docs" / "eks-iam" / f"{name}.json").read_text("utf-8"))
    return [
        {**entry, "Action": entry["Action"] if isinstance(entry["Action"], list) else [entry["Action"]]}
        for entry in found["Statement"]
    ]


def actions(root: Path, *names: str) -> set[str]:
    return {action for name in names for entry in policy(root, name) for action in entry["Action"]}


def allows(allowed: set[str], action: str) -> bool:
    return action in allowed or any(entry.endswith("*") and action.startswith(entry[:-1]) for entry in allowed)


@pytest.mark.parametrize("page", PAGES)
def test_offline_commands_run(project_root: Path, tmp_path: Path, page: str) -> None:
    found = list(blocks((project_root / page).read_text("utf-8"), "sh"))
    assert len(found) >= 3
    shutil.copytree(project_root / "examples", tmp_path / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", "\n".join(found)], check=False, capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_the_other_commands_are_ones_that_mlcluster_has(project_root: Path, page: str) -> None:
    text = (project_root / page).read_text("utf-8")
    spoken = re.findall(r"`(mlcluster [^`]*)`", text)
    found = [line for line in (*blocks(text, "bash"), *spoken) if line.startswith("mlcluster ")]
    assert len(found) >= 4
    for line in found:
        verb, *arguments = shlex.split(line)[1:]
        if verb == "--version":
            continue
        command = get_command(app).commands[verb]  # type: ignore[attr-defined]  # typer calls its group a command
        command.make_context(verb, list(arguments))


@pytest.mark.parametrize("name", POLICIES)
def test_policies_name_existing_operations(project_root: Path, name: str) -> None:
    text = (project_root / "docs" / "eks-iam" / f"{name}.json").read_text("utf-8")
    assert len(re.sub(r"\s", "", text)) <= MOST_CHARACTERS
    session = Session()
    for action in actions(project_root, name) - NO_CALLS:
        prefix, _, operation = action.partition(":")
        known = {
            one
            for service in SERVICES.get(prefix, (prefix,))
            for one in session.get_service_model(service).operation_names
        }
        assert any(re.fullmatch(operation.replace("*", ".*"), one) for one in known), action


def test_read_permissions_are_those_of_preflight_and_the_leftover_search(project_root: Path) -> None:
    looked = actions(project_root, "look")
    source = project_root / "mlcluster" / "aws" / "leftovers"
    searched = {
        operation
        for file in source.glob("*.py")
        for operation in re.findall(r'"((?:Describe|List|Get)[A-Z]\w+)"', file.read_text("utf-8"))
    }
    assert len(searched) > 30
    assert searched <= {action.partition(":")[2] for action in looked}
    assert set(PERMISSIONS) <= looked
    unasked = {action for action in looked - set(PERMISSIONS) if action.partition(":")[2] not in searched}
    assert unasked == set()
    assert all(re.match(r"(Describe|List|Get)", action.partition(":")[2]) for action in looked)


def test_policies_cover_every_type_of_every_example(project_root: Path) -> None:
    allowed = actions(project_root, *POLICIES)
    specs = sorted((project_root / "examples").glob("eks-*.yaml"))
    assert len(specs) >= 5
    types = {entry.type for path in specs for entry in load_workspace(path).plan.resources}
    assert types <= set(ASKED)
    for token, asked in ASKED.items():
        assert [action for action in asked.split() if not allows(allowed, action)] == [], token


@pytest.mark.parametrize("name", ["network", "cluster"])
def test_only_making_reading_and_tagging_has_no_scope(project_root: Path, name: str) -> None:
    """The policies allow deletions only of resources with the managed tag or name; the page lists the exceptions."""
    wide = {
        action
        for entry in policy(project_root, name)
        if entry["Resource"] == "*" and "Condition" not in entry
        for action in entry["Action"]
    }
    loose = {action for action in wide if re.match(r"(Delete|Put|Revoke|Schedule|Terminate)", action.partition(":")[2])}
    page = (project_root / "docs" / "eks-first-run.md").read_text("utf-8")
    assert [action for action in loose if f"`{action}`" not in page] == []


def test_versions_of_the_first_run(project_root: Path) -> None:
    page = (project_root / "docs" / "eks-first-run.md").read_text("utf-8")
    assert KUBERNETES_VERSION in page
    for pin in all_plugins():
        assert f"`{pin.name}` {pin.version}" in page
    oldest, oldest_v1 = (f"{bound[0]}.{bound[1]}" for bound in (OLDEST, OLDEST_V1))
    assert f"AWS CLI {oldest} or newer (of version 1: {oldest_v1})" in page
    least, below = (f"{bound[0]}.{bound[1]}" for bound in PULUMI_RANGE)
    assert f"Pulumi CLI, {least} up to below {below}" in page


def test_names_of_the_first_run(project_root: Path) -> None:
    page = (project_root / "docs" / "eks-first-run.md").read_text("utf-8")
    plan = (project_root / "tests" / "golden" / "eks-minimal.plan.json").read_text("utf-8")
    (autoscaler,) = [entry for entry in json.loads(plan)["releases"] if entry["name"] == "cluster-autoscaler"]
    assert f"deploy/{autoscaler['values']['fullnameOverride']}`" in page
    named = set(re.findall(r"sprout-[a-z]+", page))
    assert named >= {"sprout-system", "sprout-gpu", "sprout-secrets"}
    assert [name for name in named if name not in plan] == []


def test_prices_of_the_first_run(project_root: Path) -> None:
    page = (project_root / "docs" / "eks-first-run.md").read_text("utf-8")
    plan = json.loads((project_root / "tests" / "golden" / "eks-minimal.plan.json").read_text("utf-8"))
    system, gpu = plan["pools"]
    types = [entry["type"] for entry in plan["resources"]]
    nat = types.count("aws:ec2/natGateway:NatGateway") * (prices.NAT_GATEWAY + prices.PUBLIC_ADDRESS)
    disk = prices.volume({"VolumeType": "gp3", "Size": 100})
    assert disk is not None
    rest = {
        "system pool": system["usdPerHourAtMin"],
        "control plane": prices.EKS_CLUSTER,
        "one NAT gateway": nat,
        "root volumes": system["minSize"] * disk,
        "gpu pool": 0.0,
    }
    busy = {**rest, "root volumes": 3 * disk, "gpu pool": gpu["price"]["usdPerHour"]}
    for row, value in rest.items():
        assert re.search(rf"^\| {row}.*\| {value:.2f} \| {busy[row]:.2f} \|$", page, re.MULTILINE), row
    total = rf"^\| \*\*together\*\* \| \*\*{sum(rest.values()):.2f}\*\* \| \*\*{sum(busy.values()):.2f}\*\* \|$"
    assert re.search(total, page, re.MULTILINE)
    assert f"the instances alone are {system['usdPerHourAtMax'] + gpu['usdPerHourAtMax']:.2f}" in page
    assert f"{len(types)} resources in AWS" in page
