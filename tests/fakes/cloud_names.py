"""What AWS adds to a resource: its ID, its ARN and everything else that only AWS knows. The same URN gives the same."""

import hashlib
from dataclasses import dataclass
from typing import Any

from tests.fakes import sdk_types

Values = dict[str, Any]

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"

UNIQUE_NAMES = frozenset({LAUNCH_TEMPLATE, "aws:ec2/securityGroup:SecurityGroup"})
"""Types whose ID does not say their name, of which there is still only one of a name (in a VPC)."""

AUTONAMED = {"aws:iam/role:Role": "name", "aws:eks/cluster:Cluster": "name"}
"""What a component may leave to the plugin to name."""

_PREFIXES = {
    "aws:ec2/eip:Eip": "eipalloc-",
    "aws:ec2/internetGateway:InternetGateway": "igw-",
    LAUNCH_TEMPLATE: "lt-",
    "aws:ec2/natGateway:NatGateway": "nat-",
    "aws:ec2/route:Route": "r-",
    "aws:ec2/routeTable:RouteTable": "rtb-",
    "aws:ec2/routeTableAssociation:RouteTableAssociation": "rtbassoc-",
    "aws:ec2/securityGroup:SecurityGroup": "sg-",
    "aws:ec2/subnet:Subnet": "subnet-",
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": "scr-",
    "aws:ec2/vpc:Vpc": "vpc-",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "vpce-",
    "aws:efs/accessPoint:AccessPoint": "fsap-",
    "aws:efs/fileSystem:FileSystem": "fs-",
    "aws:efs/mountTarget:MountTarget": "fsmt-",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": "a-",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "fs-",
    "aws:kms/key:Key": "",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "sgr-",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "sgr-",
}

_NAMED = {
    "aws:autoscaling/tag:Tag": "{autoscalingGroupName},{tag[key]}",
    "aws:ec2/tag:Tag": "{resourceId},{key}",
    "aws:efs/backupPolicy:BackupPolicy": "{fileSystemId}",
    "aws:efs/fileSystemPolicy:FileSystemPolicy": "{fileSystemId}",
    "aws:eks/accessEntry:AccessEntry": "{clusterName}:{principalArn}",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": "{clusterName}#{principalArn}#{policyArn}",
    "aws:eks/addon:Addon": "{clusterName}:{addonName}",
    "aws:eks/nodeGroup:NodeGroup": "{clusterName}:{nodeGroupName}",
    "aws:iam/rolePolicy:RolePolicy": "{role}:{name}",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "{role}/{policyArn}",
    "aws:sqs/queuePolicy:QueuePolicy": "{queueUrl}",
}
"""IDs that AWS makes of the inputs."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names one resource; `made` is how often its plan id was created, so that a replacement gets another ID."""

    account: str
    region: str
    plan_id: str
    token: str
    made: int

    @property
    def digest(self) -> str:
        """17 hexadecimal digits, as in most IDs."""
        return hashlib.sha256(f"{self.plan_id} {self.made}".encode()).hexdigest()[:17]

    def identifier(self, inputs: Values) -> str:
        """The ID: from the inputs where AWS does so, else made up."""
        if self.token in _PREFIXES:
            return _PREFIXES[self.token] + self.digest
        if self.token in _NAMED:
            return _NAMED[self.token].format(**inputs)
        if self.token == "aws:iam/policy:Policy":
            return self._arn(inputs)
        if self.token == "aws:sqs/queue:Queue":
            return f"https://sqs.{self.region}.amazonaws.com/{self.account}/{inputs['name']}"
        return str(inputs.get("name") or self.digest)

    def outputs(self, inputs: Values) -> Values:
        """Every output that always has a value: the inputs, what is known of the type, and stand-ins for the rest."""
        made = {"region": self.region} if "region" in sdk_types.outputs(self.token) else {}
        made |= {**inputs, **self._own(inputs)}
        if "tags" in inputs:
            made["tagsAll"] = inputs["tags"]
        for name, found in sdk_types.outputs(self.token).items():
            if found.required and name not in made:
                made[name] = self._made_up(name, found.kinds[0], inputs)
        return made

    def _made_up(self, name: str, kind: Any, inputs: Values) -> Any:
        if name == "arn":
            return self._arn(inputs)
        if name == "name":
            return self.identifier(inputs)
        if kind is str:
            return f"{name}-{self.digest[:8]}"
        if kind in {int, float}:
            return 0
        return False if kind is bool else [] if "Sequence" in str(kind) else {}

    def _arn(self, inputs: Values) -> str:
        service, kind = self.token.split(":")[1].split("/")
        shown = inputs.get("name") or self._id_in_arn(inputs)
        if service == "iam":
            return f"arn:aws:iam::{self.account}:{kind.lower()}/{shown}"
        return f"arn:aws:{service}:{self.region}:{self.account}:{kind.lower()}/{shown}"

    def _id_in_arn(self, inputs: Values) -> str:
        return self.digest if self.token == "aws:iam/policy:Policy" else self.identifier(inputs).replace(":", "/")

    def _own(self, inputs: Values) -> Values:
        kind, identifier = self.token.rpartition(":")[2], self.identifier(inputs)
        made: dict[str, Values] = {
            "FileSystem": {"dnsName": f"{identifier}.efs.{self.region}.amazonaws.com"},
            "Key": {"keyId": identifier},
            "LaunchTemplate": {"latestVersion": 1, "defaultVersion": 1},
            "LustreFileSystem": {"dnsName": f"{identifier}.fsx.{self.region}.amazonaws.com"},
            "Queue": {"url": identifier},
        }
        if kind == "NodeGroup":
            group = f"eks-{inputs['nodeGroupName']}-{self.digest[:8]}"
            return {"status": "ACTIVE", "resources": [{"autoscalingGroups": [{"name": group}]}]}
        return self._control_plane(inputs) if kind == "Cluster" else made.get(kind, {})

    def _control_plane(self, inputs: Values) -> Values:
        host = f"{self.digest.upper()}.gr7.{self.region}.eks.amazonaws.com"
        open_to_all = {"publicAccessCidrs": ["0.0.0.0/0"]}  # EKS API reference, VpcConfigRequest
        config = {**open_to_all, **inputs["vpcConfig"], "clusterSecurityGroupId": f"sg-{self.digest}", "vpcId": ""}
        issuer = f"https://oidc.eks.{self.region}.amazonaws.com/id/{self.digest.upper()}"
        return {
            "endpoint": f"https://{host}",
            "status": "ACTIVE",
            "certificateAuthority": {"data": "Q0E="},
            "certificateAuthorities": [{"data": "Q0E="}],
            "vpcConfig": config,
            "identities": [{"oidcs": [{"issuer": issuer}]}],
        }


def changed(token: str, old: Values, outputs: Values, new: Values) -> Values:
    """The outputs after an update: what AWS made stays, but a changed launch template has one version more."""
    kept = {name: value for name, value in outputs.items() if name not in old}
    after = {**kept, **new}
    if "vpcConfig" in new and "vpcConfig" in outputs:
        after["vpcConfig"] = {**outputs["vpcConfig"], **new["vpcConfig"]}
    if "tags" in new:
        after["tagsAll"] = new["tags"]
    if token == LAUNCH_TEMPLATE and old != new:
        after["latestVersion"] = outputs["latestVersion"] + 1
    return after
