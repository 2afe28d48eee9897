"""A small plan of an EKS cluster as a stack on the stand-ins for aws and eks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mlcluster.engine import programs
from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.plan.eks.context import resource
from mlcluster.plan.model import Plan, PlanObject, PlanRelease, PlanResource
from mlcluster.plan.values import Base64Text, Joined, JsonText, Ref
from tests.fakes.cloud import Cloud

REGION, ACCOUNT = "us-west-2", "111122223333"
SETTINGS = StackSettings(cluster_uid="", provider="builtin", target="eks", spec_name="atlas")
TAGS = {"app.kubernetes.io/managed-by": "mlcluster"}
CLUSTER = "Cluster/atlas"


@dataclass(frozen=True)
class CloudPlan:
    """The part of a plan that `stacks/eks` uses."""

    resources: tuple[PlanResource, ...]
    objects: tuple[PlanObject, ...] = ()
    releases: tuple[PlanRelease, ...] = ()

    def with_inputs(self, plan_id: str, **inputs: Any) -> "CloudPlan":
        """The plan with other inputs of one resource; None takes one away."""
        return self._changed(plan_id, lambda one: _merged(one.inputs, inputs))

    def without(self, *plan_ids: str) -> "CloudPlan":
        """The plan without some resources."""
        return replace(self, resources=tuple(one for one in self.resources if one.id not in plan_ids))

    def inputs(self, plan_id: str) -> dict[str, Any]:
        """What a resource is given."""
        return next(one.inputs for one in self.resources if one.id == plan_id)

    def _changed(self, plan_id: str, change: Any) -> "CloudPlan":
        changed = [replace(one, inputs=change(one)) if one.id == plan_id else one for one in self.resources]
        return replace(self, resources=tuple(changed))


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **new}.items() if value is not None}


def cloud_plan() -> CloudPlan:
    """Network, role, control plane, add-on, one pool and a retained file system; listed in reverse of their needs."""
    everything = [*_network(), *_control_plane(), *_pool("train"), _volume()]
    return CloudPlan(tuple(reversed(everything)))


def _network() -> list[PlanResource]:
    vpc = {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": True, "tags": TAGS}
    subnets = [
        resource(
            "aws:ec2/subnet:Subnet",
            f"private-{REGION}{zone}",
            {
                "vpcId": Ref("Vpc/atlas", "id"),
                "cidrBlock": f"10.0.{64 * index}.0/18",
                "availabilityZone": f"{REGION}{zone}",
                "tags": TAGS,
            },
            spec_path=("target", "network"),
        )
        for index, zone in enumerate("ab")
    ]
    return [resource("aws:ec2/vpc:Vpc", "atlas", vpc, spec_path=("target", "network")), *subnets]


def _subnets() -> list[Ref]:
    return [Ref(f"Subnet/private-{REGION}{zone}", "id") for zone in "ab"]


def _control_plane() -> list[PlanResource]:
    trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    role = {"name": "atlas-nodes", "assumeRolePolicy": JsonText({"Statement": [trust]}), "tags": TAGS}
    cluster_role = {**role, "name": "atlas-cluster"}
    policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    cluster = {
        "name": "atlas",
        "version": "1.34",
        "authenticationMode": "API",
        "skipDefaultNodeGroup": True,
        "skipDefaultSecurityGroups": True,
        "useDefaultVpcCni": True,
        "bootstrapSelfManagedAddons": False,
        "kubeProxyAddonOptions": {"enabled": False},
        "corednsAddonOptions": {"enabled": False},
        "serviceRole": Ref("Role/atlas-cluster", "self"),
        "vpcId": Ref("Vpc/atlas", "id"),
        "privateSubnetIds": _subnets(),
        "endpointPrivateAccess": True,
        "endpointPublicAccess": True,
        "publicAccessCidrs": ["203.0.113.0/24"],
        "upgradePolicy": {"supportType": "STANDARD"},
        "accessEntries": {"ci": {"principalArn": "arn:aws:iam::111122223333:role/ci", "type": "STANDARD"}},
        "tags": TAGS,
        "clusterTags": {"Name": "shown-in-the-console"},
    }
    addon = {"clusterName": "atlas", "addonName": "vpc-cni", "addonVersion": "v1.20.0-eksbuild.1", "tags": TAGS}
    attached = {"role": Ref("Role/atlas-nodes", "name"), "policyArn": policy}
    return [
        resource("aws:iam/role:Role", "atlas-nodes", role, spec_path=("target",)),
        resource("aws:iam/role:Role", "atlas-cluster", cluster_role, spec_path=("target",)),
        resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "nodes-worker", attached, spec_path=("target",)),
        resource("eks:index:Cluster", "atlas", cluster, spec_path=("target",)),
        resource("aws:eks/addon:Addon", "vpc-cni", addon, spec_path=("target",), needs=(CLUSTER,)),
    ]


def _pool(name: str) -> list[PlanResource]:
    template = {
        "name": f"atlas-{name}",
        "instanceType": "p5.48xlarge",
        "userData": Base64Text("MIME-Version: 1.0\n"),
        "vpcSecurityGroupIds": [Ref(CLUSTER, "clusterSecurityGroupId")],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "tags": TAGS,
    }
    group = {
        "clusterName": "atlas",
        "nodeGroupName": f"atlas-{name}",
        "nodeRoleArn": Ref("Role/atlas-nodes", "arn"),
        "subnetIds": _subnets()[:1],
        "amiType": "AL2023_x86_64_NVIDIA",
        "releaseVersion": "1.34.1-20251101",
        "version": "1.34",
        "capacityType": "ON_DEMAND",
        "launchTemplate": {
            "id": Ref(f"LaunchTemplate/{name}", "id"),
            "version": Ref(f"LaunchTemplate/{name}", "latestVersion"),
        },
        "scalingConfig": {"minSize": 0, "maxSize": 8, "desiredSize": 0},
        "labels": {"mlcluster.dev/pool": name},
        "taints": [{"key": "dedicated", "value": "training", "effect": "NO_SCHEDULE"}],
        "updateConfig": {"maxUnavailable": 1},
        "tags": {**TAGS, "mlcluster.dev/pool": name},
    }
    group_of_nodes = f"NodeGroup/{name}"
    tag = {
        "autoscalingGroupName": Ref(group_of_nodes, "resources[0].autoscalingGroups[0].name"),
        "tag": {"key": "k8s.io/cluster-autoscaler/enabled", "value": "true", "propagateAtLaunch": False},
    }
    path = ("nodePools", 0)
    return [
        resource("aws:ec2/launchTemplate:LaunchTemplate", name, template, spec_path=path, needs=(CLUSTER,), pool=name),
        resource(
            "aws:eks/nodeGroup:NodeGroup",
            name,
            group,
            spec_path=path,
            needs=(CLUSTER, "RolePolicyAttachment/nodes-worker", "Addon/vpc-cni"),
            ignore=("scalingConfig.desiredSize",),
            pool=name,
        ),
        resource("aws:autoscaling/tag:Tag", name, tag, spec_path=path, pool=name),
    ]


def _volume() -> PlanResource:
    inputs = {"creationToken": "atlas-data", "encrypted": True, "tags": TAGS}
    return resource("aws:efs/fileSystem:FileSystem", "data", inputs, spec_path=("storage", "volumes", 0), retained=True)


def storage_class() -> PlanObject:
    """An object of the platform that refers to the cloud."""
    manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "data"},
        "provisioner": "efs.csi.aws.com",
        "parameters": {
            "fileSystemId": Ref("FileSystem/data", "id"),
            "host": Joined((Ref("FileSystem/data", "dnsName"), ":/")),
            "group": Ref(CLUSTER, "eksCluster.vpcConfig.clusterSecurityGroupId"),
            "name": Ref(CLUSTER, "eksCluster.name"),
        },
    }
    return PlanObject("StorageClass/data", manifest, ("FileSystem/data", CLUSTER), ("storage", "volumes", 0))


def cloud_engine(
    root: Path, attach: Mapping[str, int], plan: CloudPlan | Plan, binary: Path, **arguments: Any
) -> Engine:
    """An engine whose stack lives in `root`; `arguments` are the program's own."""
    given = {"region": REGION, "account_id": ACCOUNT, "profile": None, **arguments}
    program = partial(programs.load("eks").program, plan, **given)
    return Engine(StackHome("atlas", root), "mlcluster-eks", program, SETTINGS, binary, attach)


class EngineOf(Protocol):
    """Makes engines of one stack."""

    def __call__(self, plan: CloudPlan | Plan, **arguments: Any) -> Engine: ...


@dataclass(frozen=True)
class Running:
    """An account in which `cloud_plan()` is up, and engines of its stack; only for tests that change nothing."""

    cloud: Cloud
    engine_of: EngineOf
