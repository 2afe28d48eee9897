"""A stand-in for the eks plugin: builds eks:index:Cluster out of resources of aws, and refuses what the real one does.

It is a process of its own, because a component registers its children through the SDK, which knows one engine at a
time:

    python -m tests.fakes.eks_provider KUBECONFIG

prints its port. What it does was read in pulumi-eks at 7bf0c1b1 (2026-08-12), all below nodejs/eks:

- dependencies.ts: before anything else, in a preview too, `aws --version` must answer with 2.7.0 or later (1.24.0 of
  version 1), from the plugin's own PATH;
- cluster/authenticationMode.ts: with authenticationMode API the lists `instanceRoles`, `roleMappings` and
  `userMappings` must be empty; `instanceRole` is accepted;
- cluster/cluster.ts, createCore: the function aws:index/getPartition is called; a role is made unless `serviceRole` is
  given; the tags of the control plane are Name, `clusterTags` and `tags`, the last one wins;
  bootstrapClusterCreatorAdminPermissions is true whatever is asked for; a Kubernetes provider is registered with the
  version of the package that package.json pins, 4.19.0, which needs a plugin of that very version;
- cluster/cluster.ts, generateKubeconfig: the kubeconfig of the outputs is the one without a profile.

It does not wait for /healthz of a public endpoint, as the real one does in every `up`.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pulumi_aws as aws
from google.protobuf import empty_pb2, json_format
from pulumi.provider import ConstructResult, Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2_grpc

from tests.fakes import sdk_types
from tests.fakes.aws_cli import AwsCli

VERSION = "4.4.0"
KUBERNETES_VERSION = "4.19.0"
"""Of the Kubernetes provider that the component registers."""

OLDEST_CLI = {1: (1, 24, 0)}
OLDEST_NEW_CLI = (2, 7, 0)
TOKEN = "eks:index:Cluster"
ONLY_AT_CREATION = ["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"]
MADE_UP = "-"
"""In place of a kubeconfig's path: the new cluster is at the made-up endpoint of the control plane."""


def kubeconfig(server: str, authority: str, region: str, name: str, profile: str | None = None) -> dict[str, Any]:
    """Return what generateKubeconfig returns; `profile` only in the form for the component's own provider."""
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [*arguments, *(["--profile", profile] if profile else [])],
        "env": [{"name": "KUBERNETES_EXEC_INFO", "value": '{"apiVersion": "client.authentication.k8s.io/v1beta1"}'}],
    }
    cluster = {"server": server, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "clusters": [{"cluster": cluster, "name": "kubernetes"}],
        "contexts": [{"context": {"cluster": "kubernetes", "user": "aws"}, "name": "aws"}],
        "current-context": "aws",
        "kind": "Config",
        "users": [{"name": "aws", "user": {"exec": plugin}}],
    }


def cli_problem() -> str:
    """Return what assertCompatibleAWSCLIExists says of this process's PATH; "" where it is content."""
    if shutil.which("aws") is None:
        return "Could not find aws CLI for EKS."
    said = subprocess.run(["aws", "--version"], check=True, capture_output=True, text=True).stdout
    found = tuple(int(part) for part in re.findall(r"\d+", said.split(" ")[0])[:3])
    oldest = OLDEST_CLI.get(found[0], OLDEST_NEW_CLI)
    if found >= oldest:
        return ""
    return f"At least v{'.'.join(map(str, oldest))} of aws-cli is required. Current version is: {found}"


class Cluster(pulumi.ComponentResource):  # type: ignore[misc] # the SDK is not followed by mypy
    """The component."""

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Any],
        options: pulumi.ResourceOptions,
        place: "Callable[[str, str], Place]",
    ) -> None:
        super().__init__(TOKEN, name, {}, options)
        self.child = pulumi.ResourceOptions(parent=self)
        aws.get_partition_output(opts=pulumi.InvokeOptions(parent=self))
        given = inputs.get("serviceRole")
        arn = given.arn if given is not None else self._role(name, inputs).arn
        self.control_plane = aws.eks.Cluster(
            f"{name}-eksCluster",
            name=inputs.get("name"),
            role_arn=arn,
            version=inputs.get("version"),
            vpc_config=_vpc_config(inputs),
            bootstrap_self_managed_addons=inputs.get("bootstrapSelfManagedAddons", True),
            access_config=_access_config(inputs),
            deletion_protection=inputs.get("deletionProtection"),
            enabled_cluster_log_types=inputs.get("enabledClusterLogTypes"),
            encryption_config=_encryption(inputs),
            upgrade_policy=_upgrade_policy(inputs),
            tags=pulumi.Output.all(inputs.get("clusterTags"), inputs.get("tags")).apply(
                lambda given: {"Name": f"{name}-eksCluster", **(given[0] or {}), **(given[1] or {})}
            ),
            opts=pulumi.ResourceOptions.merge(
                self.child,
                pulumi.ResourceOptions(
                    ignore_changes=[
                        "accessConfig.bootstrapClusterCreatorAdminPermissions",
                        "bootstrapSelfManagedAddons",
                    ]
                ),
            ),
        )
        made = self.control_plane
        self._reached = pulumi.Output.all(
            made.endpoint, made.certificate_authority, made.arn, made.name, inputs.get("providerCredentialOpts")
        ).apply(lambda known: _reached(known[0], known[1], known[2], known[3], known[4], place))
        self._kubernetes_provider(name)
        self._access(name, inputs)
        self.register_outputs({"eksCluster": self.control_plane, "kubeconfig": self.kubeconfig})

    @property
    def kubeconfig(self) -> pulumi.Output[Any]:
        """The form that everybody gets: without the profile."""
        return self._reached.apply(lambda reached: {**reached[0]})

    def _kubernetes_provider(self, name: str) -> None:
        with_profile = self._reached.apply(lambda reached: json.dumps(reached[1]))
        options = pulumi.ResourceOptions(parent=self, version=KUBERNETES_VERSION)
        pulumi.ProviderResource("kubernetes", f"{name}-eks-k8s", {"kubeconfig": with_profile}, options)

    def _role(self, name: str, inputs: Mapping[str, Any]) -> aws.iam.Role:
        trust = {"Service": "eks.amazonaws.com"}
        statement = {"Effect": "Allow", "Principal": trust, "Action": "sts:AssumeRole"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        role = aws.iam.Role(f"{name}-eksRole-role", assume_role_policy=policy, tags=inputs.get("tags"), opts=self.child)
        attached = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
        aws.iam.RolePolicyAttachment(f"{name}-eksRole-policy", role=role.name, policy_arn=attached, opts=self.child)
        return role

    def _access(self, name: str, inputs: Mapping[str, Any]) -> None:
        role = inputs.get("instanceRole")
        nodes = (
            {} if role is None else {"defaultNodeGroupInstanceRole": {"principalArn": role.arn, "type": "EC2_LINUX"}}
        )
        if inputs.get("authenticationMode") not in {"API", "API_AND_CONFIG_MAP"}:
            return
        for key, entry in {**nodes, **(inputs.get("accessEntries") or {})}.items():
            made = aws.eks.AccessEntry(
                f"{name}-{key}",
                cluster_name=self.control_plane.name,
                principal_arn=entry["principalArn"],
                kubernetes_groups=entry.get("kubernetesGroups"),
                type=entry.get("type"),
                tags=entry.get("tags"),
                opts=self.child,
            )
            for policy, association in (entry.get("accessPolicies") or {}).items():
                aws.eks.AccessPolicyAssociation(
                    f"{name}-{key}-{policy}",
                    cluster_name=self.control_plane.name,
                    principal_arn=made.principal_arn,
                    policy_arn=association["policyArn"],
                    access_scope=association["accessScope"],
                    opts=pulumi.ResourceOptions(parent=made, depends_on=[made]),
                )


Place = tuple[str, str]
"""Where an API server is: its URL and its certificate authority in base64."""


def _reached(
    endpoint: str,
    authority: Mapping[str, Any],
    arn: str,
    name: str,
    credentials: Any,
    place: Callable[[str, str], Place],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the kubeconfig for others and the one for the component's own provider."""
    server, data = place(endpoint, authority["data"])
    region, profile = arn.split(":")[3], (credentials or {}).get("profileName")
    return kubeconfig(server, data, region, name), kubeconfig(server, data, region, name, profile)


def _access_config(inputs: Mapping[str, Any]) -> dict[str, Any] | None:
    mode = inputs.get("authenticationMode")
    return mode and {"authentication_mode": mode, "bootstrap_cluster_creator_admin_permissions": True}


def _vpc_config(inputs: Mapping[str, Any]) -> dict[str, Any]:
    subnets = inputs.get("subnetIds")
    if subnets is None:
        pair = pulumi.Output.all(inputs.get("publicSubnetIds") or [], inputs.get("privateSubnetIds") or [])
        subnets = pair.apply(lambda found: [*found[0], *found[1]])
    return {
        "subnet_ids": subnets,
        "endpoint_private_access": inputs.get("endpointPrivateAccess"),
        "endpoint_public_access": inputs.get("endpointPublicAccess"),
        "public_access_cidrs": inputs.get("publicAccessCidrs"),
    }


def _encryption(inputs: Mapping[str, Any]) -> dict[str, Any] | None:
    key = inputs.get("encryptionConfigKeyArn")
    return None if key is None else {"provider": {"key_arn": key}, "resources": ["secrets"]}


def _upgrade_policy(inputs: Mapping[str, Any]) -> Any:
    given = inputs.get("upgradePolicy")
    return (
        None
        if given is None
        else pulumi.Output.from_input(given).apply(lambda one: {"support_type": one["supportType"]})
    )


_SIGNATURE = "4dabf18193072939515e22adb298388d"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
"""How the engine marks an output and a secret among the inputs of a component."""


def opened(value: Any) -> Any:
    """What a message says, with the values of outputs and secrets in their place, UNKNOWN where there is none yet."""
    match value:
        case dict() if value.get(_SIGNATURE) in {_OUTPUT, _SECRET}:
            return opened(value.get("value", sdk_types.UNKNOWN))
        case dict():
            return {key: opened(part) for key, part in value.items()}
        case list():
            return [opened(part) for part in value]
        case _:
            return value


def refusals(inputs: Mapping[str, Any]) -> list[str]:
    """What the SDK's types and the real component refuse (pulumi-eks, cluster/authenticationMode.ts and cluster.ts)."""
    found = sdk_types.problems(inputs, TOKEN)
    mode, public = inputs.get("authenticationMode"), inputs.get("endpointPublicAccess")
    if mode == "API":
        mapped = ("instanceRoles", "roleMappings", "userMappings")
        found += [f"{name}: not allowed with authenticationMode API" for name in mapped if inputs.get(name)]
    if inputs.get("instanceRole") and inputs.get("instanceRoles"):
        found.append("instanceRole: cannot stand beside instanceRoles")
    if inputs.get("accessEntries") is not None and mode not in {"API", "API_AND_CONFIG_MAP"}:
        found.append("accessEntries: needs authenticationMode API")
    if inputs.get("subnetIds") and (inputs.get("publicSubnetIds") or inputs.get("privateSubnetIds")):
        found.append("subnetIds: cannot stand beside publicSubnetIds or privateSubnetIds")
    if inputs.get("publicAccessCidrs") is not None and public is False:  # an empty list is true in JavaScript
        found.append("publicAccessCidrs: needs endpointPublicAccess")
    return found


class EksProvider(Provider):  # type: ignore[misc] # the SDK is not followed by mypy
    """Constructs clusters.

    Args:
        kubeconfig: path of the kubeconfig that every cluster returns, read when it is constructed; or MADE_UP.
    """

    def __init__(self, kubeconfig: str) -> None:
        super().__init__(VERSION, schema=json.dumps({"name": "eks", "version": VERSION}))
        self._kubeconfig = kubeconfig

    def construct(self, name: str, resource_type: str, inputs: Any, options: Any) -> ConstructResult:
        if resource_type != TOKEN:
            raise NotImplementedError(f"the stand-in for eks does not build {resource_type}")
        cluster = Cluster(name, inputs, options, self._place)
        made = cluster.control_plane
        # In a preview with every input known the real component, which is JavaScript, finds it undefined.
        group = made.vpc_config.apply(lambda config: config.get("cluster_security_group_id"))
        state = {
            "eksCluster": made,
            "clusterSecurityGroupId": group,
            "kubeconfig": cluster.kubeconfig,
            "kubeconfigJson": cluster.kubeconfig.apply(json.dumps),
            "oidcIssuer": made.identities.apply(lambda found: found[0].oidcs[0].issuer.removeprefix("https://")),
            "instanceRoles": [],
            "nodeSecurityGroupId": group,
        }
        return ConstructResult(urn=cluster.urn, state=state)

    def _place(self, endpoint: str, authority: str) -> Place:
        if self._kubeconfig == MADE_UP:
            return endpoint, authority
        found = json.loads(Path(self._kubeconfig).read_text(encoding="utf-8"))["clusters"][0]["cluster"]
        return found["server"], found["certificate-authority-data"]


class Servicer(ProviderServicer):  # type: ignore[misc] # the SDK is not followed by mypy
    """The SDK's, with the call by which the engine attaches to a plugin that runs already."""

    async def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.engine_address = request.address
        return empty_pb2.Empty()

    async def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type == TOKEN:
            if problem := await asyncio.to_thread(cli_problem):
                await context.abort(grpc.StatusCode.UNKNOWN, problem)
            wrong = refusals(opened(json_format.MessageToDict(request.inputs)))
            if wrong:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{request.name}: {'; '.join(wrong)}")
        return await super().Construct(request, context)


async def _serve(kubeconfig: str) -> None:
    server = grpc.aio.server(futures.ThreadPoolExecutor(max_workers=4))
    servicer = Servicer(EksProvider(kubeconfig), [], "")
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


@contextmanager
def serve_eks(kubeconfig: Path | None = None, cli: Path | None = None) -> Iterator[int]:
    """Runs the stand-in until the context ends; yields its port.

    Args:
        kubeconfig: as JSON: its API server is the one of every cluster; None for clusters that lead nowhere.
        cli: the only directory of the plugin's PATH that may hold `aws`; None for one with a stand-in.
    """
    argv = [sys.executable, "-m", "tests.fakes.eks_provider", str(kubeconfig or MADE_UP)]
    project = Path(__file__).parent.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        own = cli or AwsCli(Path(folder)).folder
        others = [part for part in os.get_exec_path() if not (Path(part) / "aws").exists()]
        surroundings = {**os.environ, "PATH": os.pathsep.join([str(own), *others])}
        with subprocess.Popen(argv, cwd=project, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield int(process.stdout.readline())
            finally:
                process.kill()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
