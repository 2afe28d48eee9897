"""The Cluster Autoscaler: its release, its rights and its pod (facts: chart 9.59.0)."""

from typing import Any

from mlcluster.catalog.eks import eks_version
from mlcluster.catalog.pins import CLUSTER_AUTOSCALER
from mlcluster.plan.components.releases import release_id, release_ref
from mlcluster.plan.eks.addon_settings import system_tolerations
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.identity import pod_role
from mlcluster.plan.eks.scaling_tags import discovery_tags
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease, PlanResource
from mlcluster.plan.taints import health_taints, startup_taints, toleration_manifests
from mlcluster.quantities import parse
from mlcluster.spec.document import Loc

RELEASE_ID = release_id(CLUSTER_AUTOSCALER.name)
SERVICE_ACCOUNT = "cluster-autoscaler"
SPEC_PATH: Loc = ("target", "autoscaler")
REQUESTS = {"cpu": "100m", "memory": "600Mi"}
"""The chart requests nothing; the autoscaler holds every instance type of the region in memory."""


def cluster_autoscaler_resources(context: EksContext) -> list[PlanResource]:
    """Return the autoscaler's role and its association with the service account."""
    if not _installed(context):
        return []
    return pod_role(
        context,
        SERVICE_ACCOUNT,
        service_account=(CLUSTER_AUTOSCALER.namespace, SERVICE_ACCOUNT),
        statements=cluster_autoscaler_statements(context),
        spec_path=SPEC_PATH,
    )


def cluster_autoscaler_releases(context: EksContext) -> list[PlanRelease]:
    """Return the autoscaler's release."""
    if not _installed(context):
        return []
    return [
        PlanRelease(
            id=RELEASE_ID,
            name=CLUSTER_AUTOSCALER.name,
            chart=CLUSTER_AUTOSCALER.chart,
            version=CLUSTER_AUTOSCALER.version,
            repository=CLUSTER_AUTOSCALER.repository,
            namespace=CLUSTER_AUTOSCALER.namespace,
            values=_values(context),
            needs=(),
            realisation="helm",
            spec_path=SPEC_PATH,
        )
    ]


def cluster_autoscaler_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Return the autoscaler's only pod."""
    if not _installed(context):
        return ()
    return (
        PlanPod(
            owner=release_ref(CLUSTER_AUTOSCALER.name),
            kind="Deployment",
            namespace=CLUSTER_AUTOSCALER.namespace,
            node_selector={},
            tolerations=system_tolerations(context),
            requests={**{name: parse(name, text) for name, text in REQUESTS.items()}, "pods": 1},
            priority_class="system-cluster-critical",
            evidence="declared",
            source=f"values of the release, over values.yaml of {CLUSTER_AUTOSCALER.source}",
            spec_path=SPEC_PATH,
        ),
    )


def cluster_autoscaler_statements(context: EksContext) -> list[dict[str, Any]]:
    """Return the IAM statements of the autoscaler: read everything, scale groups with the cluster's discovery tags.

    The list is shorter than the project's own list, because node groups use neither launch configurations nor instance
    requirements. The read actions have no resource-level permissions (service authorization reference, EC2 Auto
    Scaling).
    """
    account = context.target.account_id or "*"
    place = f"{context.target.region}:{account}"
    group = f"arn:{context.partition}:autoscaling:{place}:autoScalingGroup:*:autoScalingGroupName/*"
    tags = {f"aws:ResourceTag/{key}": value for key, value in discovery_tags(context).items()}
    look = [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:DescribeTags",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
    ]
    return [
        {
            "Sid": "LookAtGroups",
            "Effect": "Allow",
            "Action": look,
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:RequestedRegion": context.target.region}},
        },
        {
            "Sid": "ScaleOwnGroups",
            "Effect": "Allow",
            "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            "Resource": group,
            "Condition": {"StringEquals": tags},
        },
        {
            "Sid": "LookAtNodeGroups",
            "Effect": "Allow",
            "Action": "eks:DescribeNodegroup",
            "Resource": f"arn:{context.partition}:eks:{place}:nodegroup/{context.name}/*/*",
        },
    ]


def _values(context: EksContext) -> Manifest:
    pins = eks_version(context.target.kubernetes_version)
    # Upstream supports only the cluster's own minor, and the chart's default is the newest version at its release.
    image = {"image": {"tag": pins.cluster_autoscaler}} if pins else {}
    return {
        "fullnameOverride": CLUSTER_AUTOSCALER.name,
        "cloudProvider": "aws",
        "awsRegion": context.target.region,
        "autoDiscovery": {"clusterName": context.name, "tags": list(discovery_tags(context))},
        **image,
        "extraArgs": _arguments(context),
        "rbac": {"serviceAccount": {"create": True, "name": SERVICE_ACCOUNT}},
        "priorityClassName": "system-cluster-critical",
        "tolerations": toleration_manifests(system_tolerations(context)),
        "resources": {"requests": REQUESTS},
    }


def _arguments(context: EksContext) -> Manifest:
    """Return the flags of the autoscaler.

    ProvisioningRequests stay off: the chart does not install their CRD, and without it the autoscaler waits forever
    (cluster-autoscaler/provisioningrequest/provreqclient, WaitForCacheSync); Kueue's waitForPodsReady watches instead.
    """
    blocks = any(pool.capacity_type == "capacityBlock" for pool in context.pools)
    startup = dict.fromkeys(
        taint.key for pool in context.managed for taint in startup_taints(context.spec, context.spec_pool(pool))
    )
    # A new node lacks these taints, and the autoscaler must not count a node that has one as unready.
    status = dict.fromkeys(taint.key for pool in context.managed for taint in health_taints(context.spec, pool))
    return {
        "expander": "least-waste",
        "balance-similar-node-groups": True,
        "skip-nodes-with-system-pods": False,
        "max-node-provision-time": "45m" if blocks else "15m",
        # The chart drops the part after an underscore, so a flag can have several values.
        **{f"startup-taint_{number}": key for number, key in enumerate(startup)},
        **{f"status-taint_{number}": key for number, key in enumerate(status)},
    }


def _installed(context: EksContext) -> bool:
    return context.target.autoscaler == "clusterAutoscaler"
