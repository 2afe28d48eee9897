"""Facts about a live cluster that the rules need, as plain frozen data (`kube.installed` reads them)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MakerKind = Literal[
    "helm", "mlcluster", "eksAddon", "cloud", "olm", "argoCd", "flux", "controller", "manager", "unknown"
]


@dataclass(frozen=True, slots=True)
class Maker:
    """Who made an object, as far as the object tells.

    Attributes:
        name: of the Helm release, the add-on manager, the owning object (Kind/name) or the field manager; for
            `mlcluster` the name of the cluster in its label.
        namespace: of a Helm release.
        group: API group of an owning object.
    """

    kind: MakerKind
    name: str = ""
    namespace: str = ""
    group: str = ""

    @property
    def text(self) -> str:
        """In words: "Helm release gpu-operator/gpu"."""
        named = f" ({self.name})" if self.name else ""
        words: dict[str, str] = {
            "helm": f"Helm release {self.namespace}/{self.name}",
            "mlcluster": f"mlcluster, cluster {self.name}",
            "eksAddon": "an EKS add-on",
            "cloud": f"{self.name}, which manages the cluster",
            "olm": f"OLM{named}",
            "argoCd": f"Argo CD{named}",
            "flux": f"Flux{named}",
            "unknown": "nobody who left a name",
        }
        return words.get(self.kind, self.name)


UNKNOWN = Maker("unknown")


@dataclass(frozen=True, slots=True)
class Release:
    """A Helm release in its last revision; neither values nor manifest.

    Attributes:
        cluster: our cluster label, where one of ours made it.
    """

    namespace: str
    name: str
    chart: str
    version: str
    app_version: str
    status: str
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or DaemonSet.

    Attributes:
        chart: its label helm.sh/chart, e.g. gpu-operator-v26.7.0.
        version: its label app.kubernetes.io/version.
    """

    kind: str
    namespace: str
    name: str
    images: tuple[str, ...]
    maker: Maker
    chart: str = ""
    version: str = ""

    @property
    def text(self) -> str:
        """DaemonSet kube-system/nvidia-device-plugin."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Named:
    """A definition, a webhook configuration, an API service or a namespace.

    Attributes:
        chart: its label helm.sh/chart.
        version: its label app.kubernetes.io/version.
        service: NAMESPACE/NAME that an API service asks; "" for what the API server serves itself.
    """

    kind: str
    name: str
    maker: Maker
    chart: str = ""
    version: str = ""
    service: str = ""

    @property
    def text(self) -> str:
        """CustomResourceDefinition clusterpolicies.nvidia.com."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a look saw.

    Attributes:
        kubernetes: the server's version, e.g. v1.36.3.
        blind: what could not be looked at -> why, in the server's words.
    """

    kubernetes: str = ""
    releases: tuple[Release, ...] = ()
    workloads: tuple[Workload, ...] = ()
    crds: tuple[Named, ...] = ()
    webhooks: tuple[Named, ...] = ()
    api_services: tuple[Named, ...] = ()
    namespaces: tuple[Named, ...] = ()
    blind: Mapping[str, str] = field(default_factory=dict)
