"""The control plane: the pulumi_eks component, the key of its secrets and the log group of its logs.

Behavior of the component (pulumi-eks 4.x, nodejs/eks/cluster/cluster.ts, read at 1069dbbf):
- `clusterSecurityGroupId` is the group that EKS makes when skipDefaultSecurityGroups is true;
- `publicAccessCidrs` without public access is an error;
- the component waits for the API server, five minutes at most, only if `endpointPublicAccess` is explicitly true;
- an authenticationMode makes the component request admin rights for the principal that creates the cluster, which
  cannot be switched off (pulumi-eks#2373); EKS then rejects an access entry for the same principal;
- the component does not manage coredns while skipDefaultNodeGroup is true and its options do not enable it;
- bootstrapSelfManagedAddons has an effect at creation only;
- with `serviceRole` the component waits for the role, but not for its policies;
- the component names its resources after its own Pulumi name, which in mlcluster is a plan id.
"""

from mlcluster.plan.eks.access import access_entries
from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.identity import control_plane_role, control_plane_role_resources
from mlcluster.plan.eks.network import cluster_subnets, vpc_id
from mlcluster.plan.model import Manifest, PlanResource
from mlcluster.plan.values import Ref

CLUSTER = "eks:index:Cluster"
KEY = "aws:kms/key:Key"
ALIAS = "aws:kms/alias:Alias"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
_KEY_DELETION_DAYS = 30
_EVERYWHERE = "0.0.0.0/0"
"""The default of EKS for a new cluster without a list (EKS API reference, VpcConfigRequest)."""
_SUPPORT = {"standard": "STANDARD", "extended": "EXTENDED"}


def cluster_id(context: EksContext) -> str:
    """Return the id of the control plane: Cluster/NAME."""
    return resource_id(CLUSTER, context.name)


def cluster_security_group(context: EksContext) -> Ref:
    """Return the security group that EKS makes for the control plane and all nodes."""
    return Ref(cluster_id(context), "clusterSecurityGroupId")


def log_group_name(context: EksContext) -> str:
    """Return the log group that EKS writes the control plane's logs to; EKS fixes its name."""
    return f"/aws/eks/{context.name}/cluster"


def control_plane_resources(context: EksContext) -> list[PlanResource]:
    """Return the role, the key, the log group and the cluster."""
    before = [*control_plane_role_resources(context), *_key(context), *_log_group(context)]
    cluster = resource(
        CLUSTER,
        context.name,
        _inputs(context),
        spec_path=("target",),
        needs=tuple(made.id for made in before if made.type != ALIAS),
    )
    return [*before, cluster]


def _inputs(context: EksContext) -> Manifest:
    target = context.target
    return {
        "name": context.name,
        "version": target.kubernetes_version,
        "serviceRole": control_plane_role(context),
        "authenticationMode": "API",
        "accessEntries": access_entries(context),
        "skipDefaultNodeGroup": True,
        "skipDefaultSecurityGroups": True,
        "createInstanceRole": False,
        "createOidcProvider": False,
        "bootstrapSelfManagedAddons": False,
        "useDefaultVpcCni": True,
        "kubeProxyAddonOptions": {"enabled": False},
        "corednsAddonOptions": {"enabled": False},
        "vpcId": vpc_id(context),
        "privateSubnetIds": cluster_subnets(context),
        **_endpoint(context),
        "encryptionConfigKeyArn": target.secrets_key or Ref(resource_id(KEY, f"{context.name}-secrets"), "arn"),
        "enabledClusterLogTypes": list(target.logs),
        "upgradePolicy": {"supportType": _SUPPORT[target.upgrade_policy]},
        "deletionProtection": target.deletion_protection,
        "tags": context.tags,
        "clusterTags": {"Name": context.name},
        **({"providerCredentialOpts": {"profileName": target.profile}} if target.profile else {}),
    }


def _endpoint(context: EksContext) -> Manifest:
    endpoint = context.target.endpoint
    reach: Manifest = {"endpointPrivateAccess": endpoint.private, "endpointPublicAccess": endpoint.public}
    if endpoint.public:  # without the list the control plane keeps its previous list
        reach["publicAccessCidrs"] = list(endpoint.public_cidrs) or [_EVERYWHERE]
    return reach


def secrets_key_id(cluster: str) -> str:
    """Return the id of the key that mlcluster makes for Kubernetes secrets."""
    return resource_id(KEY, _key_name(cluster))


def _key_name(cluster: str) -> str:
    return f"{cluster}-secrets"


def _key(context: EksContext) -> list[PlanResource]:
    """Return a managed key, unless the spec names a key; `down` keeps it, because backups of secrets need it."""
    if context.target.secrets_key:
        return []
    name, spec_path = _key_name(context.name), ("target", "secretsKey")
    inputs = {
        "description": f"Kubernetes secrets of {context.name}",
        "enableKeyRotation": True,
        "deletionWindowInDays": _KEY_DELETION_DAYS,
        "tags": context.tags,
    }
    target_key = Ref(resource_id(KEY, name), "keyId")
    return [
        resource(KEY, name, inputs, spec_path=spec_path, retained=True),
        resource(ALIAS, name, {"name": f"alias/{name}", "targetKeyId": target_key}, spec_path=spec_path),
    ]


def _log_group(context: EksContext) -> list[PlanResource]:
    """Return the log group, which comes before the cluster.

    Otherwise EKS would make it, with logs that never expire and without the tags of mlcluster.
    """
    if not context.target.logs:
        return []
    inputs = {
        "name": log_group_name(context),
        "retentionInDays": context.target.log_retention_days,
        "tags": context.tags,
    }
    return [resource(LOG_GROUP, f"{context.name}-control-plane", inputs, spec_path=("target", "logs"))]
