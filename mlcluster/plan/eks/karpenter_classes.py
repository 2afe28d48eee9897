"""EC2NodeClasses: the instances of each pool that Karpenter provisions (karpenter.k8s.aws/v1, 1.14)."""

from mlcluster.plan.eks.context import EksContext, resource_id
from mlcluster.plan.eks.control_plane import cluster_security_group
from mlcluster.plan.eks.images import ami_release
from mlcluster.plan.eks.interfaces import efa_interfaces, efa_security_group
from mlcluster.plan.eks.karpenter_access import instance_profile
from mlcluster.plan.eks.launch_templates import node_tags
from mlcluster.plan.eks.subnets import node_subnets
from mlcluster.plan.eks.user_data import has_instance_store, user_data
from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.plan.objects import make
from mlcluster.plan.values import Ref
from mlcluster.spec.ec2_pools import RootVolume

API = "karpenter.k8s.aws/v1"
KIND = "EC2NodeClass"
_PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"


def node_class(context: EksContext, pool: Pool, release: str) -> PlanObject:
    """Return the EC2NodeClass of a pool, which has the name of the pool.

    Args:
        release: id of the release that installs its CRD and whose controller removes its finalizer.
    """
    body = {"spec": _spec(context, pool)}
    return make(context.name, API, KIND, pool.name, body, needs=(release,), spec_path=pool.spec_path, pool=pool.name)


def _spec(context: EksContext, pool: Pool) -> Manifest:
    written = context.spec_pool(pool)
    groups = [cluster_security_group(context), *([efa_security_group(context)] if written.network.efa else [])]
    return {
        "amiSelectorTerms": [{"alias": _alias(context, pool)}],
        "instanceProfile": instance_profile(context),
        "subnetSelectorTerms": [{"id": subnet} for subnet in node_subnets(context, context.zones_of(pool))],
        "securityGroupSelectorTerms": [{"id": group} for group in groups],
        "blockDeviceMappings": _volumes(context, pool),
        **({"instanceStorePolicy": "RAID0"} if has_instance_store(context, pool) else {}),
        "kubelet": {"maxPods": pool.allocatable["pods"]},
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "detailedMonitoring": True,
        "userData": user_data(context, pool, karpenter=True).text,
        **_placement(context, pool),
        "tags": node_tags(context, pool),
    }


def _alias(context: EksContext, pool: Pool) -> str:
    """Return the alias of the pinned image; Karpenter chooses the accelerated variant if the instance type needs it.

    Releases are `1.34.2-20260818` (AL2023) and `1.65.0-0be31b34` (Bottlerocket); aliases have the date or the version.
    """
    family = context.spec_pool(pool).ami.family
    release = ami_release(context, pool)
    if release is None:
        message = f"the catalog pins no image for {pool.name} on Kubernetes {context.target.kubernetes_version}"
        raise KeyError(message)
    version, _, date = release.partition("-")
    # A date or a version alone is a release too: ami.release of the spec.
    return f"{family}@v{(date or version) if family == 'al2023' else version}".replace("@vv", "@v")


def _volumes(context: EksContext, pool: Pool) -> list[Manifest]:
    """Return one volume on AL2023; on Bottlerocket a system volume of Karpenter's default size, and a data volume."""
    written = context.spec_pool(pool)
    if written.ami.family == "bottlerocket":
        return [_volume("/dev/xvda", {"volumeSize": "4Gi"}), _volume("/dev/xvdb", _sized(written.root_volume))]
    return [_volume("/dev/xvda", _sized(written.root_volume))]


def _volume(device: str, size: Manifest) -> Manifest:
    ebs = {"volumeType": "gp3", "encrypted": True, "deleteOnTermination": True, **size}
    return {"deviceName": device, "ebs": ebs}


def _sized(volume: RootVolume) -> Manifest:
    """Return the fields of a volume: size in GiB, rounded up; throughput in MiB per second."""
    given = {"volumeSize": f"{volume.size_gib}Gi", "iops": volume.iops, "throughput": volume.throughput_mib}
    return {key: value for key, value in given.items() if value is not None}


def _placement(context: EksContext, pool: Pool) -> Manifest:
    """Return the interfaces, reservation and placement group of a pool, if it has them."""
    written, found = context.spec_pool(pool), Manifest()
    if written.network.efa:
        found["networkInterfaces"] = [
            {"networkCardIndex": one.card, "deviceIndex": one.device, "interfaceType": one.kind}
            for one in efa_interfaces(pool.instance_type)
        ]
    if pool.reservation_id:
        found["capacityReservationSelectorTerms"] = [{"id": pool.reservation_id}]
    if pool.placement_group == "cluster" and pool.capacity_type != "capacityBlock":
        found["placementGroupSelector"] = {"name": Ref(resource_id(_PLACEMENT_GROUP, pool.name), "name")}
    return found
