"""The search: every kind of resource, in the order in which they can be deleted."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from mlcluster.aws.errors import NotAllowedError
from mlcluster.aws.leftovers import balancers, compute, control_plane, disks, groups, identity, interfaces, network
from mlcluster.aws.leftovers import services as rest
from mlcluster.aws.leftovers.ownership import Owner, tags_of
from mlcluster.aws.leftovers.results import Leftover, Leftovers, Unknown
from mlcluster.aws.leftovers.search import Search
from mlcluster.aws.session import Account, AwsError, CredentialsError
from mlcluster.plan import names

Finder = Callable[[Search], Iterator[Leftover]]
KINDS: tuple[tuple[str, Finder], ...] = (
    ("EKS node group", control_plane.node_groups),
    ("Auto Scaling group", compute.scaling_groups),
    ("instance", compute.instances),
    ("load balancer", balancers.balancers),
    ("classic load balancer", balancers.classic_balancers),
    ("target group", balancers.target_groups),
    ("EKS add-on", control_plane.addons),
    ("EKS cluster", control_plane.clusters),
    ("EFS file system", disks.efs),
    ("FSx file system", disks.fsx),
    ("FSx backup", disks.fsx_backups),
    ("volume", disks.volumes),
    ("snapshot", disks.snapshots),
    ("VPC endpoint", network.endpoints),
    ("NAT gateway", network.nat_gateways),
    ("Elastic IP", network.addresses),
    ("network interface", interfaces.interfaces),
    ("launch template", compute.launch_templates),
    ("placement group", compute.placement_groups),
    ("security group", groups.security_groups),
    ("subnet", network.subnets),
    ("route table", network.route_tables),
    ("network ACL", network.network_acls),
    ("internet gateway", network.internet_gateways),
    ("VPC", network.vpcs),
    ("instance profile", identity.instance_profiles),
    ("IAM role", identity.roles),
    ("IAM policy", identity.policies),
    ("EventBridge rule", rest.event_rules),
    ("SQS queue", rest.queues),
    ("log group", rest.log_groups),
    ("KMS key", rest.keys),
    ("anything else", rest.others),
)
"""The finder of each kind, in the order in which the kinds can be deleted."""

OWNERSHIP = "owner of the VPC and the control plane"


def scan(account: Account, cluster: str, vpc_id: str | None = None, kept: Collection[str] = ()) -> Leftovers:
    """Return the resources of a cluster that are in the account.

    Args:
        cluster: its name.
        vpc_id: its VPC, if known. Its contents count only if the VPC carries the cluster's tag.
        kept: IDs and ARNs of the resources that the plan keeps.

    Raises:
        CredentialsError: AWS does not accept the credentials, or no longer.
    """
    unknown: dict[str, Unknown] = {}
    owner = Owner(cluster)
    try:
        owner = replace(owner, vpcs=_vpcs(account, cluster, vpc_id))
        owner = replace(owner, namesake=_namesake(account, cluster))
    except CredentialsError:
        raise
    except AwsError as error:
        unknown[OWNERSHIP] = _unknown(OWNERSHIP, error)
    search = Search(account, owner, set(kept))
    found: dict[tuple[str, str], Leftover] = {}
    for kind, finder in KINDS:
        try:
            for thing in finder(search):
                found.setdefault((thing.kind, thing.id), thing)
        except CredentialsError:
            raise
        except AwsError as error:
            unknown[kind] = _unknown(kind, error)
    stays, left = _split(found.values(), search.kept)
    return Leftovers(cluster, account.region, left, stays, tuple(unknown.values()))


def _vpcs(account: Account, cluster: str, vpc_id: str | None) -> frozenset[str]:
    """Return the VPCs that carry the cluster's tag."""
    asked = [{"Name": f"tag:{names.CLUSTER}", "Values": [cluster]}]
    if vpc_id:
        asked.append({"Name": "vpc-id", "Values": [vpc_id]})
    answers = [one for filter_ in asked for one in account.ask_all("ec2", "DescribeVpcs", "Vpcs", Filters=[filter_])]
    return frozenset(one["VpcId"] for one in answers if tags_of(one.get("Tags")).get(names.CLUSTER) == cluster)


def _namesake(account: Account, cluster: str) -> bool:
    """Return whether an EKS cluster that mlcluster did not create has this name."""
    there = control_plane.control_plane(account, cluster)
    return there is not None and not control_plane.is_managed(there, cluster)


def _unknown(kind: str, error: AwsError) -> Unknown:
    permission = error.permission if isinstance(error, NotAllowedError) else ""
    return Unknown(kind, permission, error.happened)


def _split(things: Iterable[Leftover], kept: Collection[str]) -> tuple[tuple[Leftover, ...], tuple[Leftover, ...]]:
    """Return the kept resources, and the leftover ones."""
    stays: list[Leftover] = []
    left: list[Leftover] = []
    for thing in things:
        (stays if thing.id in kept or (thing.arn and thing.arn in kept) else left).append(thing)
    return tuple(stays), tuple(left)
