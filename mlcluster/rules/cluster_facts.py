"""Facts about a live cluster that the rules need, as plain frozen data (`kube.installed` reads them)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MakerKind = Literal[
    "helm", "mlcluster", "eksAddon", "cloud", "olm", "argoCd", "flux", "controller", "manager", "unknown"
]


@dataclass(frozen=True, slots=True)
class Maker:
    """The tool, controller or user that created an object, read from the object.

    Attributes:
        name: of the Helm release, the add-on manager, the owning object or the field manager; for `mlcluster` the name
            of the cluster in its label.
        namespace: of a Helm release.
        group: API group of an owning object.
        owner_kind: kind of an owning object.
    """

    kind: MakerKind
    name: str = ""
    namespace: str = ""
    group: str = ""
    owner_kind: str = ""

    @property
    def text(self) -> str:
        """Return it as text for messages: "Helm release gpu-operator/gpu"."""
        named = f" ({self.name})" if self.name else ""
        words: dict[str, str] = {
            "helm": f"Helm release {self.namespace}/{self.name}",
            "mlcluster": f"mlcluster, cluster {self.name}",
            "eksAddon": "an EKS add-on",
            "cloud": f"{self.name}, which manages the cluster",
            "olm": f"OLM{named}",
            "argoCd": f"Argo CD{named}",
            "flux": f"Flux{named}",
            "controller": f"{self.owner_kind}/{self.name}",
            "unknown": "an unknown client",
        }
        return words.get(self.kind, self.name)


UNKNOWN = Maker("unknown")


@dataclass(frozen=True, slots=True)
class Release:
    """The last revision of a Helm release, without values and manifest.

    Attributes:
        cluster: value of the cluster label if mlcluster installed it.
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
        """Return it as text: DaemonSet kube-system/nvidia-device-plugin."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Named:
    """A CRD, a webhook configuration, an APIService or a namespace.

    Attributes:
        chart: its label helm.sh/chart.
        version: its label app.kubernetes.io/version.
        service: NAMESPACE/NAME of the Service behind an APIService; "" if the API server serves it.
    """

    kind: str
    name: str
    maker: Maker
    chart: str = ""
    version: str = ""
    service: str = ""

    @property
    def text(self) -> str:
        """Return it as text: CustomResourceDefinition clusterpolicies.nvidia.com."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Seen:
    """Existing objects of a cluster.

    Attributes:
        kubernetes: the server's version, e.g. v1.36.3.
        blind: objects that could not be read -> the message of the API server.
    """

    kubernetes: str = ""
    releases: tuple[Release, ...] = ()
    workloads: tuple[Workload, ...] = ()
    crds: tuple[Named, ...] = ()
    webhooks: tuple[Named, ...] = ()
    api_services: tuple[Named, ...] = ()
    namespaces: tuple[Named, ...] = ()
    blind: Mapping[str, str] = field(default_factory=dict)
