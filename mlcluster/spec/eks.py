"""The `eks` target: account, network and control plane."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Doc, KubernetesProvider, KubernetesVersion, SpecModel, ZoneName
from mlcluster.spec.teams import Cidr

SubnetId = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$")]
IamArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$")]
LogType = Literal["api", "audit", "authenticator", "controllerManager", "scheduler"]
Endpoint = Literal["s3", "ecr", "sts", "ec2", "efs", "eks", "eksAuth", "logs", "autoscaling", "sqs"]


class EksNetwork(SpecModel):
    """The VPC of the cluster: a new one, or with `vpcId` an existing one."""

    cidr: Annotated[str, Field(pattern=r"^[0-9.]+/[0-9]{1,2}$"), Doc(example="10.40.0.0/16")] = "10.0.0.0/16"
    """IPv4 range of the new VPC: a private range from /16 to /28."""
    nat: Literal["none", "one", "perZone"] = "one"
    """NAT gateways of the new VPC: none, one for all private subnets, or one per zone."""
    endpoints: Annotated[list[Endpoint], Field(max_length=10), Doc(example=["s3", "ecr", "sts"])] = ["s3"]
    """AWS services that the new VPC reaches through VPC endpoints. The `s3` endpoint is a gateway endpoint, which is
    free."""
    vpc_id: Annotated[
        Annotated[str, Field(pattern=r"^vpc-[0-9a-f]+$")] | None,
        Doc(example="vpc-0123456789abcdef0", default="a new VPC"),
    ] = None
    """ID of an existing VPC to use. mlcluster does not change it."""
    private_subnets: Annotated[
        dict[ZoneName, SubnetId],
        Doc(example={"us-west-2a": "subnet-0a1b2c3d", "us-west-2b": "subnet-4e5f6a7b"}, key="ZONE"),
    ] = {}
    """With `vpcId`: the subnet of the nodes in each zone. At least two zones are required."""
    public_subnets: Annotated[dict[ZoneName, SubnetId], Doc(example={"us-west-2a": "subnet-8c9d0e1f"}, key="ZONE")] = {}
    """With `vpcId`: the subnet of internet-facing load balancers in each zone."""


class EksEndpoint(SpecModel):
    """Access to the endpoint of the Kubernetes API server."""

    private: bool = True
    """Allow access from within the VPC."""
    public: bool = True
    """Allow access from the internet. `publicCidrs` limits it."""
    public_cidrs: Annotated[
        list[Cidr], Field(max_length=40), Doc(example=["203.0.113.0/24"], default="every address")
    ] = []
    """Public IPv4 ranges that can access the endpoint from the internet."""


class EksAccess(SpecModel):
    """IAM principals with access to the whole cluster. `teams[].members` grants access to single teams."""

    admins: Annotated[list[IamArn], Doc(example=["arn:aws:iam::111122223333:role/platform"])] = []
    """ARNs of IAM roles and users with administrator access."""
    viewers: Annotated[list[IamArn], Doc(example=["arn:aws:iam::111122223333:role/oncall"])] = []
    """ARNs of IAM roles and users with read access to everything except Secrets."""
    ci: Annotated[IamArn | None, Doc(example="arn:aws:iam::111122223333:role/deploy")] = None
    """ARN of the IAM role of the pipeline that runs mlcluster. Omit it if the pipeline itself creates the cluster."""


class EksTarget(SpecModel):
    """A new Amazon EKS cluster with its network, node pools and IAM roles."""

    kind: Literal["eks"]
    """Kind of the target: a new Amazon EKS cluster (`eks`), an existing cluster (`existing`) or the lab (`local`)."""
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$"), Doc(example="us-west-2")]
    """AWS region of the cluster."""
    kubernetes_version: Annotated[KubernetesVersion, Doc(example="1.35")] = "1.35"
    """Minor version of Kubernetes, as a quoted string."""
    account_id: Annotated[
        Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None,
        Doc(example="111122223333", default="the account of the credentials"),
    ] = None
    """ID of the AWS account, as a quoted string. mlcluster refuses to run with credentials of another account."""
    profile: Annotated[
        Annotated[str, Field(min_length=1, max_length=128)] | None,
        Doc(example="platform", default="the credentials of the environment"),
    ] = None
    """Profile of the AWS configuration files."""
    zones: Annotated[
        Annotated[list[ZoneName], Field(min_length=2, max_length=6)] | None,
        Doc(
            example=["us-west-2a", "us-west-2b"],
            default="the zones of `network.privateSubnets`; otherwise the first three zones of the region",
        ),
    ] = None
    """Availability zones of the subnets."""
    network: EksNetwork = Field(default_factory=EksNetwork)
    """VPC, subnets, NAT gateways and VPC endpoints."""
    endpoint: EksEndpoint = Field(default_factory=EksEndpoint)
    """Access to the endpoint of the Kubernetes API server."""
    access: EksAccess = Field(default_factory=EksAccess)
    """IAM principals with access to the whole cluster."""
    secrets_key: Annotated[
        Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:.+:key/.+$")] | None,
        Doc(
            example="arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
            default="a new key",
        ),
    ] = None
    """ARN of the KMS key that encrypts Kubernetes Secrets. It must be in the region of the cluster."""
    logs: Annotated[list[LogType], Field(max_length=5), Doc(example=["api", "audit"])] = ["audit", "authenticator"]
    """Control plane logs to send to CloudWatch Logs."""
    log_retention_days: Annotated[
        Literal[1, 3, 5, 7, 14, 30, 60, 90, 180, 365, 400, 731, 1827], Doc(example=90, unit="days")
    ] = 30
    """Retention of the control plane logs."""
    upgrade_policy: Literal["standard", "extended"] = "standard"
    """At the end of standard support, EKS upgrades the control plane (`standard`) or charges six times the price for
    it (`extended`)."""
    deletion_protection: bool = True
    """Protect the control plane from deletion. `mlcluster down` refuses to run until you set `false` and apply it."""
    kubernetes_provider: KubernetesProvider = "builtin"
    """Pulumi provider for Kubernetes objects: the built-in provider, or the official plugin, which you install. An
    existing stack keeps the provider that created it."""
    autoscaler: Literal["karpenter", "clusterAutoscaler", "none"] = "clusterAutoscaler"
    """Autoscaler that adds and removes nodes between `minSize` and `maxSize` of each pool."""
