"""The AWS EFA device plugin: announces vpc.amazonaws.com/efa (facts: chart v0.5.30)."""

from collections.abc import Iterable

from mlcluster.plan import names
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods
from mlcluster.plan.model import Manifest, PlanPod, Pool
from mlcluster.plan.taints import CRITICAL, daemon_set_tolerations, toleration_manifests

NAME = "aws-efa-k8s-device-plugin"
REQUESTS = {"cpu": "10m", "memory": "20Mi"}
"""The chart's own requests."""

_PLUGIN = Workload(NAME, REQUESTS, kind="DaemonSet", priority_class=NODE_CRITICAL, source="values.yaml of {source}")

_ACCOUNT = "602401143452"
_ACCOUNTS = {
    "af-south-1": "877085696533",
    "ap-east-1": "800184023465",
    "ap-southeast-3": "296578399912",
    "cn-north-1": "918309763551",
    "cn-northwest-1": "961992271922",
    "eu-central-2": "900612956339",
    "eu-south-1": "590381155156",
    "eu-south-2": "455263428931",
    "il-central-1": "066635153087",
    "me-central-1": "759879836304",
    "me-south-1": "558608220178",
    "us-gov-east-1": "151742754352",
    "us-gov-west-1": "013241004608",
}
"""Region -> the account whose registry has the images of EKS, if it is not the default account (EKS user guide,
"add-ons-images").
"""


def _pools(context: ComponentContext) -> list[Pool]:
    return [pool for pool in context.pools if context.spec_pool(pool).network.efa]


def _pods(context: ComponentContext) -> Iterable[PlanPod]:
    pools = _pools(context)
    # The template of the chart always tolerates critical add-ons.
    tolerations = (CRITICAL, *daemon_set_tolerations(context.spec, pools))
    return daemon_set_pods(context, NAME, _PLUGIN, pools, tolerations=tolerations)


def _values(context: ComponentContext) -> Manifest:
    pools = _pools(context)
    return {
        "image": {"repository": f"{_registry(context)}/eks/aws-efa-k8s-device-plugin"},
        "resources": {"requests": REQUESTS},
        "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, pools)),
        # The pools by name, not the chart's list of instance types: the list lacks newer types, and a node of a listed
        # type in a pool without EFA has no device.
        "supportedInstanceLabels": {"keys": [names.POOL], "values": [pool.name for pool in pools]},
    }


def _registry(context: ComponentContext) -> str:
    """Return the registry of the region, the only one that nodes without internet access reach."""
    on = context.eks()
    region = on.target.region
    suffix = "amazonaws.com.cn" if on.partition == "aws-cn" else "amazonaws.com"
    return f"{_ACCOUNTS.get(region, _ACCOUNT)}.dkr.ecr.{region}.{suffix}"


COMPONENT = ChartComponent(name=NAME, values=_values, pods=_pods)
contribute = COMPONENT.contribute
