"""Launch templates: every setting of a node that its node group does not have.

Sources: Amazon EKS user guide "Customize managed nodes with launch templates" (a template must not
contain subnets, an instance profile, or an AMI that EKS chooses).
"""

from mlcluster.plan import names
from mlcluster.plan.eks.capacity import template_capacity
from mlcluster.plan.eks.context import EksContext, resource
from mlcluster.plan.eks.control_plane import cluster_security_group
from mlcluster.plan.eks.interfaces import launch_interfaces
from mlcluster.plan.eks.user_data import user_data
from mlcluster.plan.model import Manifest, PlanResource, Pool
from mlcluster.spec.ec2_pools import RootVolume

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
METADATA = {
    "httpEndpoint": "enabled",
    "httpTokens": "required",
    # Pods get their rights from the Pod Identity agent, which has another address, so only pods on the host network
    # need the metadata service. With a limit of one hop only those pods reach it, and no other pod can use the node's
    # role.
    "httpPutResponseHopLimit": 1,
    "instanceMetadataTags": "disabled",
}
_BASELINE = {"iops": 3000, "throughput": 125}
"""The baseline of every gp3 volume (EBS user guide, "General Purpose SSD volumes"). A template without these values
keeps the previous ones, as for the size (ec2_launch_template.go of the aws provider: Optional, Computed)."""
_SYSTEM_VOLUME = {"volumeSize": 4}
"""Bottlerocket's system volume: 4 GiB, which its NVIDIA images fill (`os-image-size-gib = 4` in their variants)."""
_TAGGED = ("instance", "volume", "network-interface")


def launch_template(context: EksContext, pool: Pool) -> PlanResource:
    """Return the launch template of a managed pool: LaunchTemplate/POOL, with the name CLUSTER-POOL."""
    name = f"{context.name}-{pool.name}"
    tags = node_tags(context, pool)
    inputs: Manifest = {
        "name": name,
        "description": f"Nodes of pool {pool.name}",
        "updateDefaultVersion": True,
        "blockDeviceMappings": block_devices(context, pool),
        "metadataOptions": METADATA,
        "monitoring": {"enabled": True},
        "tagSpecifications": [{"resourceType": kind, "tags": tags} for kind in _TAGGED],
        "userData": user_data(context, pool),
        **_network(context, pool),
        **template_capacity(context, pool),
        "tags": tags,
    }
    return resource(LAUNCH_TEMPLATE, pool.name, inputs, spec_path=pool.spec_path, pool=pool.name)


def node_tags(context: EksContext, pool: Pool) -> dict[str, str]:
    """Return the tags of a pool's instances, volumes and interfaces."""
    return {**context.tags, names.POOL: pool.name, "Name": f"{context.name}-{pool.name}"}


def block_devices(context: EksContext, pool: Pool) -> list[Manifest]:
    """Return `blockDeviceMappings`: one volume on AL2023; on Bottlerocket a system volume and a data volume."""
    written = context.spec_pool(pool)
    if written.ami.family == "bottlerocket":
        return [_device("/dev/xvda", _SYSTEM_VOLUME), _device("/dev/xvdb", _sized(written.root_volume))]
    return [_device("/dev/xvda", _sized(written.root_volume))]


def _device(name: str, size: Manifest) -> Manifest:
    always = {"volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
    return {"deviceName": name, "ebs": {**always, **_BASELINE, **size}}


def _sized(volume: RootVolume) -> Manifest:
    """Return the fields of a volume: size in GiB, rounded up; throughput in MiB per second."""
    given = {
        "volumeSize": volume.size_gib,
        "iops": volume.iops,
        "throughput": volume.throughput_mib,
    }
    return {key: value for key, value in given.items() if value is not None}


def _network(context: EksContext, pool: Pool) -> Manifest:
    if context.spec_pool(pool).network.efa:
        return {"networkInterfaces": launch_interfaces(context, pool.instance_type)}
    return {"vpcSecurityGroupIds": [cluster_security_group(context)]}
