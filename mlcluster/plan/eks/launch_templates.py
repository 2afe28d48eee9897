"""Launch templates: everything of a node that its node group does not say itself.

Sources: Amazon EKS user guide "Customize managed nodes with launch templates" (what must
not stand in one: subnets, an instance profile, an AMI that EKS is to choose).
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
    # Pods get their rights from the Pod Identity agent, at an address of its own, so none but those on the node's own
    # network has to reach the metadata; one hop ends there, and the node's role stays out of every other pod's reach.
    "httpPutResponseHopLimit": 1,
    "instanceMetadataTags": "disabled",
}
_BASELINE = {"iops": 3000, "throughput": 125}
"""What every gp3 volume has (EBS user guide, "General Purpose SSD volumes"). A template whose volume does not say it
keeps what it had, and so does a size (ec2_launch_template.go of the aws provider: Optional, Computed)."""
_SYSTEM_VOLUME = {"volumeSize": 4}
"""Of Bottlerocket: 4 GiB, which its NVIDIA images fill (`os-image-size-gib = 4` in their variants)."""
_TAGGED = ("instance", "volume", "network-interface")


def launch_template(context: EksContext, pool: Pool) -> PlanResource:
    """The launch template of a managed pool: LaunchTemplate/POOL, called CLUSTER-POOL."""
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
    """Tags of a pool's instances, volumes and interfaces."""
    return {**context.tags, names.POOL: pool.name, "Name": f"{context.name}-{pool.name}"}


def block_devices(context: EksContext, pool: Pool) -> list[Manifest]:
    """`blockDeviceMappings`: one volume on AL2023; on Bottlerocket the system's and the data's."""
    written = context.spec_pool(pool)
    if written.ami.family == "bottlerocket":
        return [_device("/dev/xvda", _SYSTEM_VOLUME), _device("/dev/xvdb", _sized(written.root_volume))]
    return [_device("/dev/xvda", _sized(written.root_volume))]


def _device(name: str, size: Manifest) -> Manifest:
    always = {"volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
    return {"deviceName": name, "ebs": {**always, **_BASELINE, **size}}


def _sized(volume: RootVolume) -> Manifest:
    """Size in GiB, rounded up; throughput in MiB per second."""
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
