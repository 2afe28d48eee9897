"""A controller of a lab: its objects, configuration, command line, and readiness probe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab import pki
from mlcluster.lab.controllers import adaptation, rendering
from mlcluster.lab.controllers.adaptation import Arranged, Manifest
from mlcluster.lab.controllers.rendering import Programs

REFUSED = "denied the request"
"""The text of the API server in every rejection by a webhook."""


@dataclass(frozen=True)
class Site:
    """The paths, ports and settings of a controller in a lab.

    Attributes:
        home: its directory.
        kubeconfig: the kubeconfig of its service account.
        ports: its loopback ports by purpose.
        settings: the settings of the caller: values of its chart, for Kueue its configuration.
    """

    home: Path
    kubeconfig: Path
    ports: Mapping[str, int]
    settings: Mapping[str, Any]

    @property
    def certificates(self) -> Path:
        """The certificate directory of controller-runtime's webhook server, if $TMPDIR is the home."""
        return self.home / "k8s-webhook-server" / "serving-certs"

    @property
    def config(self) -> Path:
        """The configuration file, if the controller has one."""
        return self.home / "config.json"


class Controller:
    """A controller whose chart is adapted to a host process; subclasses override the methods.

    Attributes:
        name: name of the component and of its program.
        namespace: namespace of the chart's release.
        groups: API groups of its kinds; it is not removed while there are objects of these kinds.
        port_names: purposes of its ports.
    """

    name: ClassVar[str]
    namespace: ClassVar[str]
    groups: ClassVar[tuple[str, ...]]
    port_names: ClassVar[tuple[str, ...]] = ("webhook", "health")
    health_path: ClassVar[str] = "/readyz"

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """Return the objects of its chart."""
        return rendering.helm(programs, self.name, manifests, self.namespace, settings)

    def arrange(self, rendered: list[Manifest], site: Site, files: Mapping[str, bytes]) -> Arranged:
        """Return the objects to apply, adapted to this host."""
        return adaptation.arrange(rendered, self.namespace, site.ports.get("webhook"), files["ca.crt"])

    def certificates(self) -> dict[str, bytes]:
        """Return the certificate of its webhook server, with the authority in ca.crt."""
        return pki.webhook_files()

    def config(self, site: Site) -> Manifest | None:
        """Return its configuration file, None for a controller that has only flags."""
        del site
        return None

    def flags(self, site: Site) -> list[str]:
        """Return its arguments."""
        return [f"--config={site.config}", f"--kubeconfig={site.kubeconfig}"]

    def environment(self, site: Site) -> dict[str, str]:
        """Return its additional environment variables."""
        return {"TMPDIR": str(site.home)}

    def prepare(self, kube: Kube) -> None:
        """Prepare the cluster right before its process starts."""

    def trouble(self, kube: Kube, site: Site) -> str:
        """Return why the controller does not work, in addition to its health port; "" if it works."""
        raise NotImplementedError


def webhook_trouble(
    kube: Kube, right: Manifest | None, wrong: Manifest, changed: Callable[[Manifest], bool] = lambda _: True
) -> str:
    """Return why the webhooks do not work, "" if they do, by dry runs.

    Success alone proves nothing, because the API server does not call a new webhook at once. Therefore the mutating
    webhook must return `right` in `changed` form, and the validating one must reject `wrong`.
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
