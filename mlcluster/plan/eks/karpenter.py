"""Karpenter: releases, identity, interruption queue, and a NodePool with its EC2NodeClass for each pool it provisions.

Facts: documentation of Karpenter 1.14. The controller runs on managed nodes: the chart excludes the
nodes that Karpenter makes.
"""

from mlcluster.catalog.pins import KARPENTER, KARPENTER_CRD, ChartPin
from mlcluster.plan.components.releases import release_id, release_ref
from mlcluster.plan.eks.addon_settings import system_pool, system_tolerations
from mlcluster.plan.eks.capacity import placement_group_resources
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.interfaces import efa_security_group_resources
from mlcluster.plan.eks.karpenter_access import SERVICE_ACCOUNT, karpenter_role_resources, node_identity_resources
from mlcluster.plan.eks.karpenter_classes import node_class
from mlcluster.plan.eks.karpenter_events import interruption_resources, queue_arn, queue_name
from mlcluster.plan.eks.karpenter_pools import is_static, node_pool
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, PlanRelease, PlanResource
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import parse
from mlcluster.spec.document import Loc

CRD_RELEASE_ID, RELEASE_ID = release_id(KARPENTER_CRD.name), release_id(KARPENTER.name)
SPEC_PATH: Loc = ("target", "autoscaler")
CRDS = ("ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh")
REQUESTS = {"cpu": "1", "memory": "1Gi"}
"""The requests of Karpenter's own guide; the chart requests nothing."""


def karpenter_resources(context: EksContext) -> list[PlanResource]:
    """Return Karpenter's identity and queue, and the EC2 resources of its nodes that the managed pools do not add."""
    if not _installed(context):
        return []
    managed_efa = any(context.spec_pool(pool).network.efa for pool in context.managed)
    return [
        *node_identity_resources(context),
        *interruption_resources(context),
        *karpenter_role_resources(context, KARPENTER.namespace, queue_arn(context)),
        *([] if managed_efa else efa_security_group_resources(context)),
        *(made for pool in context.provisioned for made in placement_group_resources(context, pool)),
    ]


def karpenter_releases(context: EksContext) -> list[PlanRelease]:
    """Return the release of the CRDs, then that of the controller."""
    if not _installed(context):
        return []
    return [
        _release(KARPENTER_CRD, CRD_RELEASE_ID, {}, (), CRDS),
        _release(KARPENTER, RELEASE_ID, _values(context), (CRD_RELEASE_ID,)),
    ]


def karpenter_objects(context: EksContext) -> list[PlanObject]:
    """Return an EC2NodeClass and a Karpenter NodePool for each pool."""
    if not _installed(context):
        return []
    return [
        *(node_class(context, pool, RELEASE_ID) for pool in context.provisioned),
        *(node_pool(context, pool) for pool in context.provisioned),
    ]


def karpenter_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Return the controller's pods: on different nodes, and on none that Karpenter made (the chart's affinity)."""
    if not _installed(context):
        return ()
    return (
        PlanPod(
            owner=release_ref(KARPENTER.name),
            kind="Deployment",
            namespace=KARPENTER.namespace,
            node_selector={},
            tolerations=system_tolerations(context),
            requests={**{name: parse(name, text) for name, text in REQUESTS.items()}, "pods": 1},
            priority_class="system-cluster-critical",
            evidence="declared",
            source=f"values of the release, over values.yaml of {KARPENTER.source}",
            spec_path=SPEC_PATH,
            name=KARPENTER.name,
            replicas=_replicas(context),
            apart=True,
            not_on=tuple(pool.name for pool in context.provisioned),
        ),
    )


def _release(
    pin: ChartPin, identifier: str, values: Manifest, needs: tuple[str, ...], crds: tuple[str, ...] = ()
) -> PlanRelease:
    return PlanRelease(
        id=identifier,
        name=pin.name,
        chart=pin.chart,
        version=pin.version,
        repository=pin.repository,
        namespace=pin.namespace,
        values=values,
        needs=needs,
        realisation="helm",
        spec_path=SPEC_PATH,
        crds=crds,
    )


def _values(context: EksContext) -> Manifest:
    pools = context.provisioned
    return {
        "settings": {
            "clusterName": context.name,
            "interruptionQueue": queue_name(context),
            "isolatedVPC": context.target.network.nat == "none" and context.target.network.vpc_id is None,
            "featureGates": {
                "reservedCapacity": True,
                "staticCapacity": any(is_static(pool) for pool in pools),
                # One switch for all pools: if the spec disables repair for any pool, Karpenter repairs none.
                "nodeRepair": all(context.spec_pool(pool).repair for pool in pools),
            },
        },
        "serviceAccount": {"create": True, "name": SERVICE_ACCOUNT},
        "replicas": _replicas(context),
        # With the cluster's DNS, Karpenter could not start a node for coredns while coredns has none.
        "dnsPolicy": "Default",
        "priorityClassName": "system-cluster-critical",
        "tolerations": toleration_manifests(system_tolerations(context)),
        "controller": {"resources": {"requests": REQUESTS, "limits": {"memory": REQUESTS["memory"]}}},
    }


def _replicas(context: EksContext) -> int:
    """Return the number of replicas: two, on different nodes; one on a single node, or the second stays pending."""
    return min(2, max(1, system_pool(context).min_size))


def _installed(context: EksContext) -> bool:
    return context.target.autoscaler == "karpenter"
