"""Configuration of EKS add-ons, and their pods.

Requests are the add-ons' defaults, except where they are set here. They reduce the capacity that quota is made of, so
an uncertain figure is an upper estimate.
"""

from dataclasses import dataclass
from typing import Literal

from mlcluster.plan.components.system_nodes import system_selector
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.storage.addons import storage_addons
from mlcluster.plan.model import Amounts, ItemRef, Manifest, PlanPod, Pool, Toleration
from mlcluster.plan.taints import CRITICAL, EVERY_TAINT, controller_tolerations, toleration_manifests

NAMESPACE = "kube-system"
_REPLICAS = 2

_NODE_PODS = "kubectl describe node of EKS 1.31 to 1.33 with these add-ons, as published"
_CHART = "values.yaml of the driver's chart"
_OWN_TOLERATIONS: dict[str, tuple[Toleration, ...]] = {
    "coredns": (CRITICAL, Toleration("node-role.kubernetes.io/control-plane", "Exists", effect="NoSchedule")),
    "aws-ebs-csi-driver": (CRITICAL,),
    "aws-efs-csi-driver": (CRITICAL, Toleration("efs.csi.aws.com/agent-not-ready", "Exists")),
    "aws-fsx-csi-driver": (CRITICAL,),
}
"""Default tolerations of the pods of an add-on's Deployment; configured tolerations replace the list."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Pods of one workload of an add-on; cpu in milli-CPU, memory in MiB.

    Controllers have two replicas, as CoreDNS and the charts of the drivers have by default (values.yaml, replicaCount);
    none insists on different nodes.
    """

    addon: str
    kind: Literal["Deployment", "DaemonSet"]
    cpu: int
    memory: int
    source: str

    @property
    def replicas(self) -> int:
        """The number of pods of a Deployment."""
        return 1 if self.kind == "DaemonSet" else _REPLICAS


_SHAPES = (
    _Shape("vpc-cni", "DaemonSet", 50, 0, f"{_NODE_PODS}: aws-node 25m, its network policy agent 25m"),
    _Shape("kube-proxy", "DaemonSet", 100, 0, _NODE_PODS),
    _Shape("eks-pod-identity-agent", "DaemonSet", 0, 0, "values.yaml of its chart 0.1.10: no requests"),
    _Shape("coredns", "Deployment", 100, 70, "Deployment of the add-on: 100m, 70Mi"),
    _Shape("aws-ebs-csi-driver", "DaemonSet", 30, 120, f"{_CHART}: three containers of 10m, 40Mi"),
    _Shape("aws-ebs-csi-driver", "Deployment", 60, 240, f"{_CHART}: six containers of 10m, 40Mi"),
    # The chart of 1.7 requests nothing; newer charts are assumed to have the requests of the FSx driver's chart.
    _Shape("aws-efs-csi-driver", "DaemonSet", 30, 104, "as the FSx driver's chart 1.10, whose sidecars it shares"),
    _Shape("aws-efs-csi-driver", "Deployment", 30, 104, "as the FSx driver's chart 1.10, whose sidecars it shares"),
    _Shape("aws-fsx-csi-driver", "DaemonSet", 30, 104, f"{_CHART} 1.10: 10m and 40Mi, two sidecars of 10m, 32Mi"),
    _Shape("aws-fsx-csi-driver", "Deployment", 40, 136, f"{_CHART} 1.10: 10m and 40Mi, three sidecars of 10m, 32Mi"),
)


def configuration(context: EksContext, addon: str) -> Manifest | None:
    """Return the add-on's `configurationValues`, after its JSON schema.

    {} sets an add-on back to its defaults (EKS user guide, "Update an Amazon EKS add-on"). None is for an add-on that
    mlcluster never configures.
    """
    tolerations = _configured_tolerations(context, addon)
    match addon:
        case "vpc-cni":
            env = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
            return {"enableNetworkPolicy": "true", "env": env}
        case "coredns":
            return {"replicaCount": _REPLICAS, **_placement(context, tolerations)}
        case _ if addon in _OWN_TOLERATIONS:
            placement = _placement(context, tolerations)
            return {"controller": placement} if placement else {}
        case _:
            return None


def addon_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Return the pods of all add-ons."""
    used = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns", *storage_addons(context)}
    return tuple(_pod(context, shape) for shape in _SHAPES if shape.addon in used)


def system_pool(context: EksContext) -> Pool:
    """Return the pool whose nodes controllers must be able to run on: managed, without accelerators, never empty.

    If no pool meets all of these conditions, return the closest pool.
    """
    managed = {pool.name for pool in context.managed}
    return min(
        context.pools,
        key=lambda pool: (
            pool.name not in managed,
            not pool.system_only,
            pool.accelerator is not None,
            pool.min_size == 0,
        ),
    )


def system_tolerations(context: EksContext) -> tuple[Toleration, ...]:
    """Return the tolerations of a controller that must be able to run on the system pool."""
    return controller_tolerations(system_pool(context), compare_values=True)


def _configured_tolerations(context: EksContext, addon: str) -> tuple[Toleration, ...]:
    """Return the tolerations that replace those of an add-on; () if its defaults suffice for the system pool."""
    extra = tuple(one for one in system_tolerations(context) if one != CRITICAL)
    return (*_OWN_TOLERATIONS.get(addon, ()), *extra) if extra else ()


def _placement(context: EksContext, tolerations: tuple[Toleration, ...]) -> Manifest:
    """Return the placement of an add-on's Deployment: its tolerations, and the node selector of `systemOnly` pools."""
    selector = system_selector(context.pools, on_existing=False)
    placement: Manifest = {"tolerations": toleration_manifests(tolerations)} if tolerations else {}
    return {**placement, **({"nodeSelector": selector} if selector else {})}


def _pod(context: EksContext, shape: _Shape) -> PlanPod:
    on_every_node = shape.kind == "DaemonSet"
    own = _OWN_TOLERATIONS.get(shape.addon, ())
    tolerations = (EVERY_TAINT,) if on_every_node else _configured_tolerations(context, shape.addon) or own
    amounts: Amounts = {"cpu": shape.cpu, "memory": shape.memory, "pods": 1}
    return PlanPod(
        owner=ItemRef("Addon", shape.addon),
        kind=shape.kind,
        namespace=NAMESPACE,
        node_selector={},
        tolerations=tolerations,
        requests={name: amount for name, amount in amounts.items() if amount},
        priority_class="system-node-critical" if on_every_node else "system-cluster-critical",
        evidence="declared",
        source=shape.source,
        spec_path=("target", "kubernetesVersion"),
        replicas=shape.replicas,
    )
