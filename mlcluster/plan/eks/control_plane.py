"""The control plane: the pulumi_eks component, the key of its secrets, the log group of its logs.

How the component behaves (pulumi-eks 4.x, nodejs/eks/cluster/cluster.ts, read at 1069dbbf):
- `clusterSecurityGroupId` is the group that EKS makes when skipDefaultSecurityGroups is true;
- `publicAccessCidrs` without public access is an error;
- it waits until the API answers only if `endpointPublicAccess` is true in so many words, five minutes at most;
- an authenticationMode makes it ask for admin rights for whoever creates the cluster, which cannot be switched off
  (pulumi-eks#2373); an access entry for the same principal is then refused by EKS;
- coredns is left alone while skipDefaultNodeGroup is true and its options do not enable it;
- bootstrapSelfManagedAddons counts at creation only;
- with `serviceRole` it waits for the role, but not for the policies on it;
- it names what it makes after its own Pulumi name, which with us is a plan id.
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
"""What EKS takes for a new cluster without a list (EKS API reference, VpcConfigRequest)."""
_SUPPORT = {"standard": "STANDARD", "extended": "EXTENDED"}


def cluster_id(context: EksContext) -> str:
    """The id of the control plane: Cluster/NAME."""
    return resource_id(CLUSTER, context.name)


def cluster_security_group(context: EksContext) -> Ref:
    """The security group that EKS makes for the control plane and all nodes."""
    return Ref(cluster_id(context), "clusterSecurityGroupId")


def log_group_name(context: EksContext) -> str:
    """Where EKS writes the control plane's logs; the name is EKS's own."""
    return f"/aws/eks/{context.name}/cluster"


def control_plane_resources(context: EksContext) -> list[PlanResource]:
    """Role, key, log group and cluster."""
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
    if endpoint.public:  # without the list the control plane keeps the one that it had
        reach["publicAccessCidrs"] = list(endpoint.public_cidrs) or [_EVERYWHERE]
    return reach


def secrets_key_id(cluster: str) -> str:
    """Return the id of the key that mlcluster makes for Kubernetes secrets."""
    return resource_id(KEY, _key_name(cluster))


def _key_name(cluster: str) -> str:
    return f"{cluster}-secrets"


def _key(context: EksContext) -> list[PlanResource]:
    """Our own key, unless the spec names one. `down` keeps it: backups of secrets cannot be read without it."""
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
    """Made before the cluster: EKS would make it itself, with logs that never expire and without our tags."""
    if not context.target.logs:
        return []
    inputs = {
        "name": log_group_name(context),
        "retentionInDays": context.target.log_retention_days,
        "tags": context.tags,
    }
    return [resource(LOG_GROUP, f"{context.name}-control-plane", inputs, spec_path=("target", "logs"))]
