"""Storage of eks: resources in the account and in the cluster, and retained resources."""

import importlib
import warnings
from typing import Any

import pytest

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.network import network_resources
from mlcluster.plan.eks.storage import storage_addons, storage_objects, storage_resources, with_kept_parents
from mlcluster.plan.model import Manifest, PlanObject, PlanResource
from mlcluster.plan.pools import plan_pools
from mlcluster.plan.quota import team_plans
from mlcluster.plan.values import Ref, printable, references
from mlcluster.rules.cost import kept_by_down
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from tests.specs import SYSTEM, TRAIN, cluster, planned_unchecked

pytestmark = pytest.mark.unit

EKS = {"kind": "eks", "region": "us-west-2"}
TEAMS = [{"name": "research"}, {"name": "product"}]
EFS = {"name": "datasets", "kind": "efs"}
LUSTRE = {"name": "scratch", "kind": "fsxLustre"}


def context(*volumes: Any, classes: Any = (), target: Any = EKS, pools: Any = (SYSTEM, TRAIN)) -> EksContext:
    storage = {"volumes": list(volumes), "classes": list(classes)}
    spec = ClusterSpec.model_validate(cluster(*pools, target=target, teams=TEAMS, storage=storage))
    assert isinstance(spec.target, EksTarget)
    return EksContext(spec, spec.target, plan_pools(spec))


def resources(*volumes: Any, **rest: Any) -> dict[str, PlanResource]:
    return {entry.id: entry for entry in storage_resources(context(*volumes, **rest))}


def objects(*volumes: Any, **rest: Any) -> dict[str, PlanObject]:
    here = context(*volumes, **rest)
    return {entry.id: entry for entry in storage_objects(here, team_plans(here.spec, here.pools))}


def argument_class(token: str) -> Any:
    """Return the SDK's class of a type's arguments; imported here because the SDK is slow."""
    module, _, name = token.partition(":")[2].partition(":")
    package, _, file = module.partition("/")
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the SDK warns of its own modules when it is imported
        return getattr(importlib.import_module(f"pulumi_aws.{package}.{snake}"), f"{name}Args")


def camel_case_names(arguments: Any) -> set[str]:
    found = set()
    for name, member in vars(arguments).items():
        if isinstance(member, property) and member.fget is not None:
            found.add(getattr(member.fget, "_pulumi_name", name))
    return found


def test_every_input_is_an_argument_of_its_type() -> None:
    every = resources(EFS, LUSTRE).values()
    assert len({entry.type for entry in every}) == 8
    for entry in every:
        assert set(entry.inputs) <= camel_case_names(argument_class(entry.type)), entry.id


def test_the_table_of_an_efs_volume() -> None:
    made = resources(EFS)
    assert list(made) == [
        "FileSystem/datasets",
        "SecurityGroup/atlas-volume-datasets",
        "SecurityGroupIngressRule/atlas-volume-datasets-from-nodes-2049",
        "MountTarget/datasets.us-west-2a",
        "MountTarget/datasets.us-west-2b",
        "MountTarget/datasets.us-west-2c",
        "AccessPoint/datasets.research",
        "AccessPoint/datasets.product",
        "FileSystemPolicy/datasets",
    ]
    system = made["FileSystem/datasets"]
    assert system.inputs["encrypted"] is True
    assert system.retained
    assert not list(references(system.inputs))
    assert [identifier for identifier, entry in made.items() if entry.retained] == ["FileSystem/datasets"]
    rule = made["SecurityGroupIngressRule/atlas-volume-datasets-from-nodes-2049"].inputs
    assert (rule["ipProtocol"], rule["fromPort"], rule["toPort"]) == ("tcp", 2049, 2049)
    assert rule["referencedSecurityGroupId"] == Ref("Cluster/atlas", "clusterSecurityGroupId")
    assert rule["securityGroupId"] == Ref("SecurityGroup/atlas-volume-datasets", "id")
    target = made["MountTarget/datasets.us-west-2b"]
    assert target.inputs["subnetId"] == Ref("Subnet/private-us-west-2b", "id")
    assert set(target.needs) == {
        "FileSystem/datasets",
        "Subnet/private-us-west-2b",
        "SecurityGroup/atlas-volume-datasets",
    }


def test_every_taggable_resource_has_the_tags() -> None:
    for entry in resources(EFS, LUSTRE).values():
        if "tags" in camel_case_names(argument_class(entry.type)):
            assert entry.inputs["tags"]["mlcluster.dev/cluster"] == "atlas", entry.id
            assert entry.inputs["tags"]["app.kubernetes.io/managed-by"] == "mlcluster", entry.id


@pytest.mark.parametrize(
    ("layout", "paths"),
    [("perTeam", ["/teams/research", "/teams/product"]), ("shared", ["/shared", "/shared"])],
)
def test_each_team_has_an_access_point_of_its_own(layout: str, paths: list[str]) -> None:
    made = resources({**EFS, "layout": layout})
    points = [entry for entry in made.values() if entry.id.startswith("AccessPoint/")]
    assert [point.inputs["rootDirectory"]["path"] for point in points] == paths
    assert all(point.inputs["posixUser"] == {"uid": 1000, "gid": 1000} for point in points)
    assert all(point.inputs["rootDirectory"]["creationInfo"]["permissions"] == "0770" for point in points)


def test_efs_is_mounted_only_through_an_access_point() -> None:
    policy = printable(resources(EFS)["FileSystemPolicy/datasets"].inputs["policy"])["$json"]
    allow, deny = policy["Statement"]
    assert allow["Condition"]["StringEquals"]["elasticfilesystem:AccessPointArn"] == [
        "${AccessPoint/datasets.research.arn}",
        "${AccessPoint/datasets.product.arn}",
    ]
    assert "elasticfilesystem:ClientRootAccess" not in allow["Action"]
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_the_table_of_a_lustre_volume() -> None:
    made = resources({**LUSTRE, "capacityGib": 4800, "throughputPerTib": 500, "zone": "us-west-2c"})
    system = made["LustreFileSystem/scratch"]
    assert {key: value for key, value in system.inputs.items() if key != "tags"} == {
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": 4800,
        "perUnitStorageThroughput": 500,
        "dataCompressionType": "LZ4",
        "fileSystemTypeVersion": "2.15",
        "subnetIds": Ref("Subnet/private-us-west-2c", "id"),
        "securityGroupIds": [Ref("SecurityGroup/atlas-volume-scratch", "id")],
        "skipFinalBackup": True,
    }
    rules = {identifier: entry.inputs for identifier, entry in made.items() if "Rule/" in identifier}
    assert len(rules) == 10
    assert {(one["fromPort"], one["toPort"]) for one in rules.values()} == {(988, 988), (1018, 1023)}
    assert set(rules) <= set(system.needs)
    into_nodes = rules["SecurityGroupIngressRule/atlas-volume-scratch-into-nodes-988"]
    assert into_nodes["securityGroupId"] == Ref("Cluster/atlas", "clusterSecurityGroupId")
    assert into_nodes["referencedSecurityGroupId"] == Ref("SecurityGroup/atlas-volume-scratch", "id")


@pytest.mark.parametrize(
    ("pools", "zone"),
    [
        ((SYSTEM, TRAIN), "us-west-2a"),
        ((SYSTEM, {**TRAIN, "zones": ["us-west-2b"]}), "us-west-2b"),
        (({**SYSTEM, "zones": ["us-west-2b", "us-west-2c"]}, {**TRAIN, "zones": ["us-west-2c"]}), "us-west-2c"),
    ],
)
def test_lustre_goes_where_the_first_pool_of_one_zone_is(pools: Any, zone: str) -> None:
    system = resources(LUSTRE, pools=pools)["LustreFileSystem/scratch"]
    assert system.inputs["subnetIds"] == Ref(f"Subnet/private-{zone}", "id")
    assert system.inputs["storageCapacity"] == 1200


def test_volumes_in_a_vpc_that_is_there() -> None:
    subnets = {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"}
    target = {**EKS, "network": {"vpcId": "vpc-0a", "privateSubnets": subnets}}
    made = resources(EFS, target=target)
    assert made["SecurityGroup/atlas-volume-datasets"].inputs["vpcId"] == "vpc-0a"
    assert [entry.inputs["subnetId"] for entry in made.values() if "MountTarget" in entry.id] == list(subnets.values())


def test_retained_lustre_retains_only_its_network() -> None:
    here = context(LUSTRE, EFS)
    every = with_kept_parents([*network_resources(here), *storage_resources(here)])
    assert sorted(entry.id for entry in every if entry.retained) == [
        "FileSystem/datasets",
        "LustreFileSystem/scratch",
        "SecurityGroup/atlas-volume-scratch",
        "Subnet/private-us-west-2a",
        "Vpc/atlas",
    ]


def test_resources_that_down_keeps_are_reported_at_their_place_in_the_spec() -> None:
    teams = {"teams": TEAMS, "storage": {"volumes": [{**EFS, "retain": False}, LUSTRE]}}
    found = {finding.place: finding.message for finding in kept_by_down(planned_unchecked(SYSTEM, target=EKS, **teams))}
    kept = "`down` keeps LustreFileSystem/scratch, SecurityGroup/atlas-volume-scratch, "
    assert found["storage", "volumes", 1].startswith(kept)
    assert found["target", "network"].startswith("`down` keeps Subnet/private-us-west-2a, Vpc/atlas, ")
    assert ("storage", "volumes", 0) not in found
    assert not list(kept_by_down(planned_unchecked(SYSTEM)))


def test_nothing_is_kept_that_the_spec_lets_go() -> None:
    here = context({**LUSTRE, "retain": False}, {**EFS, "retain": False})
    every = with_kept_parents([*network_resources(here), *storage_resources(here)])
    assert not [entry.id for entry in every if entry.retained]


def test_only_the_named_teams_have_a_volume() -> None:
    volume = {**EFS, "teams": ["product"]}
    assert "AccessPoint/datasets.research" not in resources(volume)
    assert "PersistentVolumeClaim/research/datasets" not in objects(volume)
    assert "PersistentVolumeClaim/product/datasets" in objects(volume)


def test_the_default_class() -> None:
    (entry,) = objects().values()
    assert entry.manifest == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "gp3",
            "labels": {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"},
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "ebs.csi.aws.com",
        "parameters": {
            "type": "gp3",
            "encrypted": "true",
            "tagSpecification_1": "app.kubernetes.io/managed-by=mlcluster",
            "tagSpecification_2": "mlcluster.dev/cluster=atlas",
        },
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def test_the_user_s_classes_replace_it() -> None:
    fast = {"name": "fast", "iops": 16000, "throughputMib": 1000, "reclaim": "delete"}
    (entry,) = objects(classes=[fast]).values()
    assert entry.id == "StorageClass/fast"
    assert entry.spec_path == ("storage", "classes", 0)
    assert "annotations" not in entry.manifest["metadata"]
    assert entry.manifest["reclaimPolicy"] == "Delete"
    assert entry.manifest["parameters"]["iops"] == "16000"
    assert entry.manifest["parameters"]["throughput"] == "1000"


def test_an_efs_volume_and_its_claim() -> None:
    made = objects(EFS)
    volume = made["PersistentVolume/research.datasets"].manifest
    claim = made["PersistentVolumeClaim/research/datasets"]
    assert printable(volume["spec"]) == {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteMany"],
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {"namespace": "research", "name": "datasets"},
        "csi": {
            "driver": "efs.csi.aws.com",
            "volumeHandle": "${FileSystem/datasets.id}::${AccessPoint/datasets.research.id}",
        },
    }
    assert volume["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "mlcluster",
        "mlcluster.dev/cluster": "atlas",
        "mlcluster.dev/team": "research",
    }
    assert claim.needs == ("Namespace/research", "PersistentVolume/research.datasets")
    assert claim.manifest["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "volumeMode": "Filesystem",
        "volumeName": "research.datasets",
        "resources": {"requests": {"storage": "5Gi"}},
    }


def test_a_lustre_volume() -> None:
    spec = printable(objects({**LUSTRE, "capacityGib": 2400})["PersistentVolume/product.scratch"].manifest["spec"])
    assert spec["capacity"] == {"storage": "2400Gi"}
    assert spec["mountOptions"] == ["flock"]
    assert spec["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": "${LustreFileSystem/scratch.id}::product",
        "volumeAttributes": {
            "dnsname": "${LustreFileSystem/scratch.dnsName}",
            "mountname": "${LustreFileSystem/scratch.mountName}",
        },
    }


def test_outputs_that_objects_refer_to_are_outputs_of_the_types() -> None:
    made = resources(EFS, LUSTRE)
    for entry in objects(EFS, LUSTRE).values():
        for found in references(entry.manifest):
            assert found.output == "id" or found.output in outputs(made[found.resource].type)


def outputs(token: str) -> set[str]:
    arguments = argument_class(token)
    module = importlib.import_module(arguments.__module__)
    return camel_case_names(getattr(module, token.rpartition(":")[2]))


@pytest.mark.parametrize("volume", [EFS, LUSTRE])
def test_a_read_only_volume(volume: Any) -> None:
    made = objects({**volume, "readOnly": True})
    for kind in ("PersistentVolume/research.", "PersistentVolumeClaim/research/"):
        spec: Manifest = made[f"{kind}{volume['name']}"].manifest["spec"]
        assert spec["accessModes"] == ["ReadOnlyMany"]
    assert made[f"PersistentVolume/research.{volume['name']}"].manifest["spec"]["csi"]["readOnly"] is True


@pytest.mark.parametrize("volume", [{**EFS, "layout": "shared"}, {**EFS, "layout": "perTeam"}, LUSTRE])
def test_no_two_volumes_have_one_handle(volume: Any) -> None:
    made = [entry.manifest for entry in objects(volume).values() if entry.manifest["kind"] == "PersistentVolume"]
    assert len({printable(one["spec"]["csi"]["volumeHandle"]) for one in made}) == len(made) == len(TEAMS)


@pytest.mark.parametrize(
    ("volumes", "addons"),
    [
        ((), ("aws-ebs-csi-driver",)),
        ((EFS,), ("aws-ebs-csi-driver", "aws-efs-csi-driver")),
        ((LUSTRE,), ("aws-ebs-csi-driver", "aws-fsx-csi-driver")),
        ((LUSTRE, EFS), ("aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver")),
    ],
)
def test_addons(volumes: Any, addons: tuple[str, ...]) -> None:
    assert storage_addons(context(*volumes)) == addons
