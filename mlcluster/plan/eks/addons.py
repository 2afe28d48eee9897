"""EKS add-ons, which mlcluster manages as raw resources at pinned versions, with their rights by Pod Identity.

Add-ons that nodes need to become ready come before the node groups; add-ons whose pods must be scheduled come after
them, because an add-on fails after twenty minutes if no node fits its pods. Their configuration is in `addon_settings`.
"""

from mlcluster.catalog.eks import eks_version
from mlcluster.plan.eks.addon_settings import addon_pods, configuration
from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.identity import pod_role, role_arn
from mlcluster.plan.eks.network import egress_dependencies
from mlcluster.plan.eks.storage.addons import storage_addons
from mlcluster.plan.model import Manifest, PlanResource
from mlcluster.plan.values import JsonText
from mlcluster.spec.document import Loc

__all__ = ["addon_pods", "addon_resources", "needed_addons", "node_prerequisites"]

ADDON = "aws:eks/addon:Addon"
BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
CORE = (*BEFORE_NODES, "coredns")
SPEC_PATH: Loc = ("target", "kubernetesVersion")
_STORAGE_PATH: Loc = ("storage",)

_SERVICE_ACCOUNTS = {
    "vpc-cni": "aws-node",
    "aws-ebs-csi-driver": "ebs-csi-controller-sa",
    "aws-efs-csi-driver": "efs-csi-controller-sa",
    "aws-fsx-csi-driver": "fsx-csi-controller-sa",
}
"""Add-on that calls AWS APIs -> the service account of the calling pods (EKS user guide, "Amazon EKS add-ons")."""

_MANAGED_POLICIES = {
    "vpc-cni": ("AmazonEKS_CNI_Policy",),
    "aws-ebs-csi-driver": ("service-role/AmazonEBSCSIDriverPolicy",),
    "aws-efs-csi-driver": ("service-role/AmazonEFSCSIDriverPolicy",),
}
_LOOK_AT_LUSTRE: Manifest = {
    "Effect": "Allow",
    "Action": ["fsx:DescribeFileSystems", "fsx:DescribeVolumes", "fsx:ListTagsForResource"],
    "Resource": "*",
}
"""The plan makes the file systems, so the driver needs only read access; AWS's policy for it is full access to FSx."""


def addon_resources(context: EksContext, node_groups: tuple[str, ...]) -> list[PlanResource]:
    """Return every add-on with its role.

    Args:
        node_groups: ids of the node groups that coredns and the CSI drivers wait for.
    """
    made = []
    for name in needed_addons(context):
        role = _role(context, name)
        first = egress_dependencies(context) if name in BEFORE_NODES else (*node_prerequisites(), *node_groups)
        made += [*role, _addon(context, name, role, first)]
    return made


def needed_addons(context: EksContext) -> tuple[str, ...]:
    """Return the names of the add-ons, in the order of their creation."""
    return (*CORE, *storage_addons(context))


def node_prerequisites() -> tuple[str, ...]:
    """Return the ids of the add-ons that nodes need to become ready; the add-ons need the VPC's outbound routes."""
    return tuple(resource_id(ADDON, name) for name in BEFORE_NODES)


def _role(context: EksContext, name: str) -> list[PlanResource]:
    if name not in _SERVICE_ACCOUNTS:
        return []
    return pod_role(
        context,
        name,
        service_account=None,
        managed_policies=_MANAGED_POLICIES.get(name, ()),
        statements=() if name in _MANAGED_POLICIES else (_LOOK_AT_LUSTRE,),
        spec_path=_spec_path(name),
    )


def _addon(context: EksContext, name: str, role: list[PlanResource], first: tuple[str, ...]) -> PlanResource:
    inputs: Manifest = {
        "clusterName": context.name,
        "addonName": name,
        "addonVersion": _version(context, name),
        "resolveConflictsOnCreate": "OVERWRITE",
        "resolveConflictsOnUpdate": "OVERWRITE",
        "tags": context.tags,
    }
    settings = configuration(context, name)
    if settings is not None:  # {} too: without the input an add-on keeps its previous settings
        inputs["configurationValues"] = JsonText(settings)
    if role:
        account = _SERVICE_ACCOUNTS[name]
        inputs["podIdentityAssociations"] = [{"roleArn": role_arn(context, name), "serviceAccount": account}]
    needs = (f"Cluster/{context.name}", *(part.id for part in role), *first)
    return resource(ADDON, name, inputs, spec_path=_spec_path(name), needs=needs)


def _version(context: EksContext, name: str) -> str:
    """Return the pinned version of an add-on; a checked spec has a Kubernetes version that pins every add-on."""
    pins = eks_version(context.target.kubernetes_version)
    if pins is None or name not in pins.addons:
        message = f"the catalog pins no {name} for Kubernetes {context.target.kubernetes_version}"
        raise KeyError(message)
    return pins.addons[name]


def _spec_path(name: str) -> Loc:
    return SPEC_PATH if name in CORE else _STORAGE_PATH
