"""Where the cluster comes from: the `target` union."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import KubernetesVersion, Name, SpecModel


class EksTarget(SpecModel):
    """A new Amazon EKS cluster with its network, node pools and IAM."""

    kind: Literal["eks"]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    """AWS region, e.g. us-west-2."""
    kubernetes_version: KubernetesVersion = "1.34"
    """Minor version of the control plane, quoted."""
    account_id: Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None = None
    """Refuse to run in any other AWS account."""


class ExistingTarget(SpecModel):
    """A cluster that is there already; mlcluster owns only what it adds."""

    kind: Literal["existing"]
    kubeconfig: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """Path of the kubeconfig, relative to the spec; default: $KUBECONFIG, then ~/.kube/config."""
    context: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Context in the kubeconfig; default: its current one."""
    kubernetes_provider: Literal["official", "builtin"] = "official"
    """Pulumi provider: the official plugin, or the built-in one for sites that cannot download it."""


class LocalTarget(SpecModel):
    """The lab: a real control plane with simulated nodes on this machine."""

    kind: Literal["local"]
    lab: Name | None = None
    """Name of the lab; default: metadata.name."""
    zones: Annotated[list[Name], Field(min_length=1, max_length=6)] = ["local-a", "local-b"]
    """Zones that simulated nodes are spread over."""
    extended_resource_toleration: bool = False
    """Switch the ExtendedResourceToleration admission plugin on, as EKS has it."""


Target = Annotated[EksTarget | ExistingTarget | LocalTarget, Field(discriminator="kind")]
