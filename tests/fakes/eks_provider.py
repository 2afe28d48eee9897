"""A stand-in for the eks plugin: builds eks:index:Cluster out of resources of aws, and refuses what the real one does.

It is a process of its own, because a component registers its children through the SDK, which knows one engine at a
time:

    python -m tests.fakes.eks_provider KUBECONFIG

prints its port. What it builds was read off pulumi-eks 4 (nodejs/eks/cluster): a role unless `serviceRole` is given,
and the control plane. It does not make the real one's Kubernetes provider, and asks for no aws CLI.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
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

VERSION = "4.4.0"
TOKEN = "eks:index:Cluster"
ONLY_AT_CREATION = ["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"]
MADE_UP = "-"
"""In place of a kubeconfig's path: one that leads to the endpoint of the control plane."""


class Cluster(pulumi.ComponentResource):  # type: ignore[misc] # the SDK is not followed by mypy
    """The component."""

    def __init__(self, name: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions) -> None:
        super().__init__(TOKEN, name, {}, options)
        self.child = pulumi.ResourceOptions(parent=self)
        given = inputs.get("serviceRole")
        arn = given.arn if given is not None else self._role(name, inputs).arn
        self.control_plane = aws.eks.Cluster(
            f"{name}-eksCluster",
            name=inputs.get("name"),
            role_arn=arn,
            version=inputs.get("version"),
            vpc_config=_vpc_config(inputs),
            bootstrap_self_managed_addons=inputs.get("bootstrapSelfManagedAddons"),
            access_config={
                "authentication_mode": inputs.get("authenticationMode", "CONFIG_MAP"),
                "bootstrap_cluster_creator_admin_permissions": True,
            },
            deletion_protection=inputs.get("deletionProtection"),
            enabled_cluster_log_types=inputs.get("enabledClusterLogTypes"),
            encryption_config=_encryption(inputs),
            upgrade_policy=_upgrade_policy(inputs),
            tags=pulumi.Output.from_input(inputs.get("tags")).apply(
                lambda tags: {"Name": f"{name}-eksCluster", **(tags or {})}
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
        self._access(name, inputs)
        self.register_outputs({"eksCluster": self.control_plane})

    def _role(self, name: str, inputs: Mapping[str, Any]) -> aws.iam.Role:
        trust = {"Service": "eks.amazonaws.com"}
        statement = {"Effect": "Allow", "Principal": trust, "Action": "sts:AssumeRole"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        role = aws.iam.Role(f"{name}-eksRole-role", assume_role_policy=policy, tags=inputs.get("tags"), opts=self.child)
        attached = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
        aws.iam.RolePolicyAttachment(f"{name}-eksRole-policy", role=role.name, policy_arn=attached, opts=self.child)
        return role

    def _access(self, name: str, inputs: Mapping[str, Any]) -> None:
        for key, entry in (inputs.get("accessEntries") or {}).items():
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
                    opts=self.child,
                )


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
        mapped = ("instanceRole", "instanceRoles", "roleMappings", "userMappings")
        found += [f"{name}: not allowed with authenticationMode API" for name in mapped if inputs.get(name)]
    if inputs.get("accessEntries") and mode not in {"API", "API_AND_CONFIG_MAP"}:
        found.append("accessEntries: needs authenticationMode API")
    if inputs.get("subnetIds") and (inputs.get("publicSubnetIds") or inputs.get("privateSubnetIds")):
        found.append("subnetIds: cannot stand beside publicSubnetIds or privateSubnetIds")
    if inputs.get("publicAccessCidrs") and public is False:
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
        cluster = Cluster(name, inputs, options)
        made = cluster.control_plane
        kubeconfig = pulumi.Output.all(made.endpoint, made.name).apply(lambda known: self._text(*known))
        # In a preview with every input known the real component, which is JavaScript, finds it undefined.
        group = made.vpc_config.apply(lambda config: config.get("cluster_security_group_id"))
        state = {
            "eksCluster": made,
            "clusterSecurityGroupId": group,
            "kubeconfig": kubeconfig.apply(json.loads),
            "kubeconfigJson": kubeconfig,
            "oidcIssuer": made.identities.apply(lambda found: found[0].oidcs[0].issuer.removeprefix("https://")),
            "instanceRoles": [],
            "nodeSecurityGroupId": group,
        }
        return ConstructResult(urn=cluster.urn, state=state)

    def _text(self, endpoint: str, name: str) -> str:
        if self._kubeconfig != MADE_UP:
            return Path(self._kubeconfig).read_text(encoding="utf-8")
        argv = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"}
        user = {"exec": {**argv, "args": ["eks", "get-token", "--cluster-name", name]}}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "kubernetes", "cluster": {"server": endpoint}}],
                "contexts": [{"name": "aws", "context": {"cluster": "kubernetes", "user": "aws"}}],
                "current-context": "aws",
                "users": [{"name": "aws", "user": user}],
            }
        )


class Servicer(ProviderServicer):  # type: ignore[misc] # the SDK is not followed by mypy
    """The SDK's, with the call by which the engine attaches to a plugin that runs already."""

    async def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.engine_address = request.address
        return empty_pb2.Empty()

    async def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.type == TOKEN:
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
def serve_eks(kubeconfig: Path | None = None) -> Iterator[int]:
    """Runs the stand-in until the context ends; yields its port.

    Args:
        kubeconfig: what its clusters return, as JSON; None for one that leads nowhere.
    """
    argv = [sys.executable, "-m", "tests.fakes.eks_provider", str(kubeconfig or MADE_UP)]
    project = Path(__file__).parent.parent.parent
    with subprocess.Popen(argv, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
