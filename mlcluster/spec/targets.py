"""Where the cluster comes from: the `target` union."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import KubernetesProvider, Name, SpecModel
from mlcluster.spec.eks import EksTarget


class ExistingTarget(SpecModel):
    """A cluster that is there already; mlcluster owns only what it adds."""

    kind: Literal["existing"]
    kubeconfig: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """Path of the kubeconfig, relative to the spec; default: $KUBECONFIG, then ~/.kube/config."""
    context: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Context in the kubeconfig; default: its current one."""
    kubernetes_provider: KubernetesProvider = "builtin"
    """Pulumi provider for Kubernetes objects: the built-in one, or the official plugin, which you install."""


class LocalTarget(SpecModel):
    """The lab: a real control plane with simulated nodes on this machine."""

    kind: Literal["local"]
    lab: Name | None = None
    """Name of the lab; default: metadata.name."""
    zones: Annotated[list[Name], Field(min_length=1, max_length=6)] = ["local-a", "local-b"]
    """Zones that simulated nodes are spread over."""
    extended_resource_toleration: bool = True
    """Keep the ExtendedResourceToleration admission plugin on, as EKS has it."""


Target = Annotated[EksTarget | ExistingTarget | LocalTarget, Field(discriminator="kind")]
