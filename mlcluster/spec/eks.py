"""The `eks` target: what a user may say of the account, the network and the control plane."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import KubernetesProvider, KubernetesVersion, SpecModel, ZoneName
from mlcluster.spec.teams import Cidr

SubnetId = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$")]
IamArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$")]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
Endpoint = Literal["s3", "ecr", "sts", "ec2", "efs", "eks", "eksAuth", "logs", "autoscaling", "sqs"]


class EksNetwork(SpecModel):
    """A new VPC, or with `vpcId` one that is there already."""

    cidr: Annotated[str, Field(pattern=r"^[0-9.]+/[0-9]{1,2}$")] = "10.0.0.0/16"
    """Addresses of the new VPC."""
    nat: Literal["none", "one", "perZone"] = "one"
    """How private subnets reach the internet: not at all, through one zone, or each through its own."""
    endpoints: Annotated[list[Endpoint], Field(max_length=10)] = ["s3"]
    """AWS services that are reached without leaving the VPC; s3 is a gateway and costs nothing."""
    vpc_id: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]+$")] | None = None
    """Use this VPC; nothing of it is changed."""
    private_subnets: dict[ZoneName, SubnetId] = {}
    """With vpcId: the subnet of the nodes in each zone."""
    public_subnets: dict[ZoneName, SubnetId] = {}
    """With vpcId: the subnets of public load balancers."""


class EksEndpoint(SpecModel):
    """Where the Kubernetes API can be reached from."""

    private: bool = True
    """From inside the VPC."""
    public: bool = True
    """From the internet, limited to publicCidrs."""
    public_cidrs: Annotated[list[Cidr], Field(max_length=40)] = []
    """Who may connect from the internet, e.g. [203.0.113.0/24]."""


class EksAccess(SpecModel):
    """Who may do what in the whole cluster; teams are under `teams[].members`."""

    admins: list[IamArn] = []
    """Roles and users that may do everything."""
    viewers: list[IamArn] = []
    """Roles and users that may read everything but secrets."""
    ci: IamArn | None = None
    """The role of the pipeline that runs mlcluster; leave it out where the pipeline itself creates the cluster."""


class EksTarget(SpecModel):
    """A new Amazon EKS cluster with its network, node pools and IAM."""

    kind: Literal["eks"]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    """AWS region, e.g. us-west-2."""
    kubernetes_version: KubernetesVersion = "1.35"
    """Minor version of the control plane, quoted."""
    account_id: Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None = None
    """Refuse to run in any other AWS account."""
    profile: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Profile of the AWS configuration; default: the environment's."""
    zones: Annotated[list[ZoneName], Field(min_length=2, max_length=6)] | None = None
    """Availability zones of the subnets; default: the first three of the region."""
    network: EksNetwork = Field(default_factory=EksNetwork)
    endpoint: EksEndpoint = Field(default_factory=EksEndpoint)
    access: EksAccess = Field(default_factory=EksAccess)
    secrets_key: Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:.+:key/.+$")] | None = None
    """KMS key that encrypts Kubernetes secrets; default: a new one."""
    logs: Annotated[list[LogType], Field(max_length=5)] = ["audit", "authenticator"]
    """Logs of the control plane that go to CloudWatch."""
    log_retention_days: Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 400, 731, 1827] = 30
    upgrade_policy: Literal["standard", "extended"] = "standard"
    """After standard support ends: upgrade by itself (standard), or pay six times as much for the control plane."""
    deletion_protection: bool = True
    """AWS refuses to delete the control plane; `down` refuses too."""
    kubernetes_provider: KubernetesProvider = "builtin"
    """Pulumi provider for Kubernetes objects: the built-in one, or the official plugin, which you install."""
    autoscaler: Literal["karpenter", "clusterAutoscaler", "none"] = "clusterAutoscaler"
    """Who adds and removes nodes between minSize and maxSize."""
