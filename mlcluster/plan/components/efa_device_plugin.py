"""The AWS EFA device plugin: announces vpc.amazonaws.com/efa (facts: components.md 4.13, chart v0.5.30)."""

from mlcluster.catalog.pins import EFA_DEVICE_PLUGIN
from mlcluster.plan import names
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.tolerations import CRITICAL, device_plugin_tolerations
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease, Pool
from mlcluster.plan.quantities import parse

RELEASE_ID = "Release/aws-efa-k8s-device-plugin"
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
    """The release and its pods."""
    on = context.eks()
    return Contribution(releases=tuple(efa_device_plugin_releases(on)), pods=efa_device_plugin_pods(on))


def efa_device_plugin_releases(context: EksContext) -> list[PlanRelease]:
    """The release, where a pool has EFA."""
    pools = _pools(context)
    if not pools:
        return []
    return [
        PlanRelease(
            id=RELEASE_ID,
            name=EFA_DEVICE_PLUGIN.name,
            chart=EFA_DEVICE_PLUGIN.chart,
            version=EFA_DEVICE_PLUGIN.version,
            repository=EFA_DEVICE_PLUGIN.repository,
            namespace=EFA_DEVICE_PLUGIN.namespace,
            values=_values(context, pools),
            needs=(),
            realisation="helm",
            spec_path=_spec_path(pools[0]),
        )
    ]


def efa_device_plugin_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Its pod on the nodes of each pool with EFA."""
    pools = _pools(context)
    return tuple(
        PlanPod(
            owner=RELEASE_ID,
            kind="DaemonSet",
            namespace=EFA_DEVICE_PLUGIN.namespace,
            node_selector=pool.selector,
            tolerations=(CRITICAL, *device_plugin_tolerations(context, pools)),
            requests={**{name: parse(name, text) for name, text in REQUESTS.items()}, "pods": 1},
            priority_class="system-node-critical",
            evidence="declared",
            source=f"values.yaml of {EFA_DEVICE_PLUGIN.source}",
            spec_path=_spec_path(pool),
        )
        for pool in pools
    )


def _values(context: EksContext, pools: list[Pool]) -> Manifest:
    return {
        "image": {"repository": f"{_registry(context)}/eks/aws-efa-k8s-device-plugin"},
        "resources": {"requests": REQUESTS},
        "tolerations": device_plugin_tolerations(context, pools),
        # Our pools by name, not the chart's list of types: it knows no newer ones, and a node of such a type in a pool
        # without EFA has no device.
        "supportedInstanceLabels": {"keys": [names.POOL], "values": [pool.name for pool in pools]},
    }


def _registry(context: EksContext) -> str:
    """The region's own registry: nodes without a way out reach no other."""
    region = context.target.region
    suffix = "amazonaws.com.cn" if context.partition == "aws-cn" else "amazonaws.com"
    return f"{_ACCOUNTS.get(region, _ACCOUNT)}.dkr.ecr.{region}.{suffix}"


def _pools(context: EksContext) -> list[Pool]:
    return [pool for pool in context.pools if context.written(pool).network.efa]


def _spec_path(pool: Pool) -> str:
    return f"{pool.spec_path}.network.efa"
