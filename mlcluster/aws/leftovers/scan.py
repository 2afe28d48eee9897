"""The search: every kind of resource, in the order in which they can be deleted."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from mlcluster.aws.leftovers import balancers, compute, control_plane, disks, groups, identity, interfaces, network
from mlcluster.aws.leftovers import services as rest
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import Owner, tags_of
from mlcluster.aws.leftovers.things import Leftover, Leftovers, Unknown
from mlcluster.aws.refusals import NotAllowedError
from mlcluster.aws.session import Account, AwsError, CredentialsError
from mlcluster.plan import names

Finder = Callable[[Look], Iterator[Leftover]]
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
"""What is looked for, by the order of removal."""

OWNERSHIP = "whose the VPC and the control plane are"


def scan(account: Account, cluster: str, vpc_id: str | None = None, kept: Collection[str] = ()) -> Leftovers:
    """What of a cluster is in the account.

    Args:
        cluster: its name.
        vpc_id: its VPC, when that is known; what is in it counts only when the VPC carries our tag.
        kept: ids and ARNs of what the plan keeps.

    Raises:
        CredentialsError: the credentials do not work (any more).
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
    look = Look(account, owner, set(kept))
    found: dict[tuple[str, str], Leftover] = {}
    for kind, finder in KINDS:
        try:
            for thing in finder(look):
                found.setdefault((thing.kind, thing.id), thing)
        except CredentialsError:
            raise
        except AwsError as error:
            unknown[kind] = _unknown(kind, error)
    stays, left = _split(found.values(), look.kept)
    return Leftovers(cluster, account.region, left, stays, tuple(unknown.values()))


def _vpcs(account: Account, cluster: str, vpc_id: str | None) -> frozenset[str]:
    """The VPCs that carry our tag."""
    asked = [{"Name": f"tag:{names.CLUSTER}", "Values": [cluster]}]
    if vpc_id:
        asked.append({"Name": "vpc-id", "Values": [vpc_id]})
    answers = [one for filter_ in asked for one in account.ask_all("ec2", "DescribeVpcs", "Vpcs", Filters=[filter_])]
    return frozenset(one["VpcId"] for one in answers if tags_of(one.get("Tags")).get(names.CLUSTER) == cluster)


def _namesake(account: Account, cluster: str) -> bool:
    """Whether a cluster has this name that is not ours."""
    there = control_plane.control_plane(account, cluster)
    return there is not None and not control_plane.is_ours(there, cluster)


def _unknown(kind: str, error: AwsError) -> Unknown:
    permission = error.permission if isinstance(error, NotAllowedError) else ""
    return Unknown(kind, permission, error.happened)


def _split(things: Iterable[Leftover], kept: Collection[str]) -> tuple[tuple[Leftover, ...], tuple[Leftover, ...]]:
    """What stays, and what is left."""
    stays: list[Leftover] = []
    left: list[Leftover] = []
    for thing in things:
        (stays if thing.id in kept or (thing.arn and thing.arn in kept) else left).append(thing)
    return tuple(stays), tuple(left)
