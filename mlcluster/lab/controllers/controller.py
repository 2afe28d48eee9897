"""A controller of a lab: its objects, configuration, command line, and readiness probe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab import pki
from mlcluster.lab.controllers import arranging, rendering
from mlcluster.lab.controllers.arranging import Arranged, Manifest
from mlcluster.lab.controllers.rendering import Programs

REFUSED = "denied the request"
"""What the API server writes about every refusal of a webhook."""


@dataclass(frozen=True)
class Site:
    """One controller in one lab.

    Attributes:
        home: its directory.
        kubeconfig: of its service account.
        ports: on loopback, by purpose.
        settings: what the caller gave: values of its chart, for Kueue its configuration.
    """

    home: Path
    kubeconfig: Path
    ports: Mapping[str, int]
    settings: Mapping[str, Any]

    @property
    def certificates(self) -> Path:
        """Where a webhook server of controller-runtime looks, if $TMPDIR is the home."""
        return self.home / "k8s-webhook-server" / "serving-certs"

    @property
    def config(self) -> Path:
        """The configuration file, for those that have one."""
        return self.home / "config.json"


class Controller:
    """A controller, its chart fitted to a host process; the methods are what others do differently.

    Attributes:
        name: of the component and of its program.
        namespace: of the chart's release.
        groups: API groups of its own kinds; while there are objects of these it is not taken out.
        port_names: what it listens on.
    """

    name: ClassVar[str]
    namespace: ClassVar[str]
    groups: ClassVar[tuple[str, ...]]
    port_names: ClassVar[tuple[str, ...]] = ("webhook", "health")
    health_path: ClassVar[str] = "/readyz"

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """The objects of its chart."""
        return rendering.helm(programs, self.name, manifests, self.namespace, settings)

    def arrange(self, rendered: list[Manifest], site: Site, files: Mapping[str, bytes]) -> Arranged:
        """What of them is applied, changed for this host."""
        return arranging.arrange(rendered, self.namespace, site.ports.get("webhook"), files["ca.crt"])

    def certificates(self) -> dict[str, bytes]:
        """Certificate of its webhook server, with the authority in ca.crt."""
        return pki.webhook_files()

    def config(self, site: Site) -> Manifest | None:
        """Its configuration file, None for one that has flags only."""
        del site
        return None

    def flags(self, site: Site) -> list[str]:
        """Its command line without the program."""
        return [f"--config={site.config}", f"--kubeconfig={site.kubeconfig}"]

    def environment(self, site: Site) -> dict[str, str]:
        """What is put into its small environment."""
        return {"TMPDIR": str(site.home)}

    def prepare(self, kube: Kube) -> None:
        """What is done right before its process starts."""

    def trouble(self, kube: Kube, site: Site) -> str:
        """Whether it really works, beyond its health port: "" or what is wrong."""
        raise NotImplementedError


def webhook_trouble(
    kube: Kube, right: Manifest | None, wrong: Manifest, changed: Callable[[Manifest], bool] = lambda _: True
) -> str:
    """Whether webhooks work: "" or what is wrong. Nothing is stored.

    A webhook that the API server has not noticed yet lets everything pass, so success alone says nothing: `right` must
    come back `changed` by the mutating webhook, and `wrong` must be refused by the validating one.
    """
    if right is not None:
        try:
            created = kube.create(right, dry_run=True)
        except (ApiError, Unreachable) as error:
            return error.happened
        if not changed(created):
            return "the mutating webhook is not called yet"
    try:
        kube.create(wrong, dry_run=True)
    except (ApiError, Unreachable) as error:
        return "" if REFUSED in error.happened else error.happened
    return "the validating webhook is not called yet"
