"""FSx for Lustre: one persistent file system on SSD in one zone."""

from mlcluster.plan.eks.context import EksContext, resource
from mlcluster.plan.eks.network import node_subnet
from mlcluster.plan.eks.storage.security_groups import (
    LUSTRE_PORTS,
    group_ref,
    nodes_in,
    security_group,
    servers_both_ways,
)
from mlcluster.plan.eks.storage.volumes import Volume, lustre_zone
from mlcluster.plan.model import Manifest, PlanResource

FILE_SYSTEM = "aws:fsx/lustreFileSystem:LustreFileSystem"
LUSTRE_VERSION = "2.15"
"""The version of AL2023's Lustre client (FSx for Lustre user guide, compatibility of clients)."""


def lustre_resources(context: EksContext, volume: Volume) -> list[PlanResource]:
    """Return the resources of one FSx volume.

    A retained file system also retains its subnet, security group and VPC: see `with_kept_parents`.
    """
    rules = [*nodes_in(context, volume, LUSTRE_PORTS), *servers_both_ways(context, volume, LUSTRE_PORTS)]
    return [
        security_group(context, volume, "FSx volume"),
        *rules,
        # AWS rejects a file system whose security group does not allow port 988 yet.
        _file_system(context, volume, tuple(rule.id for rule in rules)),
    ]


def _file_system(context: EksContext, volume: Volume, rules: tuple[str, ...]) -> PlanResource:
    inputs: Manifest = {
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": volume.capacity_gib,
        "perUnitStorageThroughput": volume.configured.throughput_per_tib,
        "dataCompressionType": "LZ4",
        "fileSystemTypeVersion": LUSTRE_VERSION,
        "subnetIds": node_subnet(context, lustre_zone(context, volume)),
        "securityGroupIds": [group_ref(volume)],
        "skipFinalBackup": True,
        "tags": {**context.tags, "Name": f"{context.name}-{volume.name}"},
    }
    return resource(
        FILE_SYSTEM,
        volume.name,
        inputs,
        spec_path=volume.spec_path,
        needs=rules,
        retained=volume.configured.retain,
    )
