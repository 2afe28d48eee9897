"""The `target` union, whose branches are the kinds of clusters."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Doc, KubernetesProvider, Name, SpecModel
from mlcluster.spec.eks import EksTarget


class ExistingTarget(SpecModel):
    """An existing Kubernetes cluster. mlcluster manages only the objects that it creates."""

    kind: Literal["existing"]
    """Kind of the target: a new Amazon EKS cluster (`eks`), an existing cluster (`existing`) or the lab (`local`)."""
    kubeconfig: Annotated[
        Annotated[str, Field(min_length=1, max_length=4096)] | None,
        Doc(example="./kubeconfig.yaml", default="$KUBECONFIG, then ~/.kube/config"),
    ] = None
    """Path of the kubeconfig file, relative to the spec."""
    context: Annotated[
        Annotated[str, Field(min_length=1, max_length=253)] | None,
        Doc(example="admin@shared", default="the current context of the kubeconfig"),
    ] = None
    """Context of the kubeconfig to use."""
    kubernetes_provider: KubernetesProvider = "builtin"
    """Pulumi provider for Kubernetes objects: the built-in provider, or the official plugin, which you install. An
    existing stack keeps the provider that created it."""


class LocalTarget(SpecModel):
    """The lab: a real Kubernetes control plane with simulated nodes on this machine."""

    kind: Literal["local"]
    """Kind of the target: a new Amazon EKS cluster (`eks`), an existing cluster (`existing`) or the lab (`local`)."""
    lab: Annotated[Name | None, Doc(example="atlas", default="the name of the cluster, `metadata.name`")] = None
    """Name of the lab."""
    zones: Annotated[list[Name], Field(min_length=1, max_length=6), Doc(example=["local-a"])] = ["local-a", "local-b"]
    """Zones of the lab. The simulated nodes of each pool are distributed over them."""
    extended_resource_toleration: bool = True
    """Enable the ExtendedResourceToleration admission plugin, which EKS enables, too."""


Target = Annotated[EksTarget | ExistingTarget | LocalTarget, Field(discriminator="kind")]
