"""The AWS EFA device plugin: announces vpc.amazonaws.com/efa (facts: chart v0.5.30)."""

from mlcluster.catalog.components import pin
from mlcluster.plan import names
from mlcluster.plan.components.charts import chart_release, daemon_set_pods
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, Pool
from mlcluster.plan.taints import CRITICAL, daemon_set_tolerations, toleration_manifests

NAME = "aws-efa-k8s-device-plugin"
REQUESTS = {"cpu": "10m", "memory": "20Mi"}
"""As the chart has them."""

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
"""Whose registry has EKS's images in a region, where it is another (EKS user guide, "add-ons-images")."""


def contribute(context: ComponentContext) -> Contribution:
    """The release, and its pod on the nodes of each pool with EFA."""
    pools = [pool for pool in context.pools if context.written(pool).network.efa]
    release = chart_release(context, NAME, _values(context, pools))
    if release.realisation == "present":
        return Contribution(releases=(release,))
    pods = daemon_set_pods(
        context,
        release.id,
        NAME,
        pools,
        REQUESTS,
        namespace=release.namespace,
        source=f"values.yaml of {pin(NAME).source}",
        # The chart's template has the first one.
        tolerations=(CRITICAL, *daemon_set_tolerations(context.spec, pools)),
    )
    return Contribution(releases=(release,), pods=pods)


def _values(context: ComponentContext, pools: list[Pool]) -> Manifest:
    return {
        "image": {"repository": f"{_registry(context)}/eks/aws-efa-k8s-device-plugin"},
        "resources": {"requests": REQUESTS},
        "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, pools)),
        # Our pools by name, not the chart's list of types: it knows no newer ones, and a node of such a type in a pool
        # without EFA has no device.
        "supportedInstanceLabels": {"keys": [names.POOL], "values": [pool.name for pool in pools]},
    }


def _registry(context: ComponentContext) -> str:
    """The region's own registry: nodes without a way out reach no other."""
    on = context.eks()
    region = on.target.region
    suffix = "amazonaws.com.cn" if on.partition == "aws-cn" else "amazonaws.com"
    return f"{_ACCOUNTS.get(region, _ACCOUNT)}.dkr.ecr.{region}.{suffix}"
