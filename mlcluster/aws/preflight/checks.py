"""The checks in the order of the report, each with the IAM actions that it uses."""

from collections.abc import Callable
from dataclasses import dataclass

from mlcluster.aws.preflight.existing import principals, secrets_key, service_roles
from mlcluster.aws.preflight.fabric import efa
from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.identity import account, cluster_name, creator
from mlcluster.aws.preflight.places import instance_types, zones
from mlcluster.aws.preflight.quotas import elastic_ips, vcpus
from mlcluster.aws.preflight.report import Outcome
from mlcluster.aws.preflight.reservations import reservations
from mlcluster.aws.preflight.spot import spot_scores
from mlcluster.aws.preflight.subnets import subnets
from mlcluster.aws.preflight.versions import addons, images, kubernetes_version


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the account.

    Attributes:
        name: its name in the report and the documentation.
        run: sends the requests and returns the outcome; raises AwsError if AWS rejects a request.
        asks: IAM actions that `run` may use; a test enforces the list.
    """

    name: str
    run: Callable[[Facts], Outcome]
    asks: tuple[str, ...]


_CLUSTER = "eks:DescribeCluster"
_ROLES = ("iam:GetRole",)

CHECKS: tuple[Check, ...] = (
    Check("account", account, ("sts:GetCallerIdentity",)),
    Check("cluster name", cluster_name, (_CLUSTER,)),
    Check("creator", creator, (_CLUSTER,)),
    Check("Kubernetes version", kubernetes_version, ("eks:DescribeClusterVersions", _CLUSTER)),
    Check("add-ons", addons, ("eks:DescribeAddonVersions",)),
    Check("images", images, ("ssm:GetParameter",)),
    Check("zones", zones, ("ec2:DescribeAvailabilityZones",)),
    Check("instance types", instance_types, ("ec2:DescribeInstanceTypeOfferings",)),
    Check(
        "vCPU quotas",
        vcpus,
        (
            "servicequotas:GetServiceQuota",
            "servicequotas:GetAWSDefaultServiceQuota",
            "cloudwatch:GetMetricStatistics",
            _CLUSTER,
        ),
    ),
    Check(
        "Elastic IPs",
        elastic_ips,
        ("servicequotas:GetServiceQuota", "servicequotas:GetAWSDefaultServiceQuota", "ec2:DescribeAddresses"),
    ),
    Check("reservations", reservations, ("ec2:DescribeCapacityReservations",)),
    Check("subnets", subnets, ("ec2:DescribeSubnets", _CLUSTER)),
    Check("secrets key", secrets_key, ("kms:DescribeKey",)),
    Check("roles and users", principals, (*_ROLES, "iam:GetUser")),
    Check("service roles", service_roles, _ROLES),
    Check("EFA", efa, ("ec2:DescribeInstanceTypes",)),
    Check("spot capacity", spot_scores, ("ec2:GetSpotPlacementScores", "ec2:DescribeAvailabilityZones")),
)

PERMISSIONS: tuple[str, ...] = tuple(sorted({action for check in CHECKS for action in check.asks}))
"""Every IAM action of a preflight; docs/preflight.md lists them as a policy."""
