"""The provider plugins that the engine needs: their versions, and which of them are installed.

The version of a plugin is that of its Python SDK, from which the programs register resources; the SDK packages pin it.
"""

import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import version as version_of_package
from pathlib import Path

from mlcluster.engine.plugins import folder_name, is_installed, is_partial, user_home
from mlcluster.engine.settings import Provider

KUBERNETES_OF_EKS = "4.19.0"
"""Version of the Kubernetes provider that `eks.Cluster` creates for its own use, also in a preview.

It is a dependency of the component, `@pulumi/kubernetes` in nodejs/eks/package.json of pulumi-eks, the same from v4.0.0
to v4.3.0; the Python SDK 4.4.0 still lists it as its minimum version. The component registers all aws resources with
the provider that mlcluster passes to it, so it needs no second version of that plugin.
"""


class State(StrEnum):
    """Whether the engine will find a plugin."""

    INSTALLED = "installed"
    ATTACHED = "attached"
    ON_PATH = "on PATH"
    PARTIAL = "not finished"
    MISSING = "not installed"


@dataclass(frozen=True, slots=True)
class PluginPin:
    """One plugin in one version.

    Attributes:
        name: the package, e.g. aws.
        version: without "v".
        needed_by: the resources or settings that need it, as text.
        optional: whether no target with default settings needs it.
    """

    name: str
    version: str
    needed_by: tuple[str, ...]
    optional: bool = False

    @property
    def title(self) -> str:
        """Name and version in the engine's spelling."""
        return f"{self.name} v{self.version}"


@dataclass(frozen=True, slots=True)
class Presence:
    """The installation state of a plugin.

    Attributes:
        where: its directory in the user's Pulumi home, the program on PATH, or the port of an attached provider.
    """

    pin: PluginPin
    state: State
    where: str

    @property
    def usable(self) -> bool:
        """Whether the engine can use it."""
        return self.state in {State.INSTALLED, State.ATTACHED, State.ON_PATH}


def needed_plugins(target: str, provider: Provider, attached: Collection[str] = ()) -> tuple[PluginPin, ...]:
    """Return the plugins that the engine needs.

    Args:
        target: kind of the target: eks, existing or local.
        provider: the Kubernetes provider of the plan.
        attached: packages of attached providers; an attached eks component needs no Kubernetes plugin.
    """
    wanted: list[tuple[str, str, str]] = []
    if target == "eks":
        wanted += [("aws", _sdk("aws"), "AWS resources of eks"), ("eks", _sdk("eks"), "control plane of eks")]
        if "eks" not in attached:
            wanted.append(("kubernetes", KUBERNETES_OF_EKS, "plugin eks"))
    if target in {"eks", "existing"} and provider == "official":
        wanted.append(("kubernetes", _sdk("kubernetes"), "kubernetesProvider: official"))
    return _merged(wanted)


def all_plugins() -> tuple[PluginPin, ...]:
    """Return every plugin that any target or provider needs, with those of the official provider last."""
    default = {pin.title for pin in needed_plugins("eks", "builtin")}
    return tuple(replace(pin, optional=pin.title not in default) for pin in needed_plugins("eks", "official"))


def look_for(
    pins: Iterable[PluginPin],
    provider: Provider,
    attached: dict[str, int],
    which: Callable[[str], str | None] = shutil.which,
) -> list[Presence]:
    """Return the installation state of each plugin.

    The engine prefers a program on PATH. mlcluster disables this with the built-in Kubernetes provider, and if
    providers are attached.
    """
    ambient = provider == "official" and not attached
    return [_look_for(pin, attached, which if ambient else lambda _program: None) for pin in pins]


def _look_for(pin: PluginPin, attached: dict[str, int], which: Callable[[str], str | None]) -> Presence:
    home = user_home()
    folder = home / "plugins" / folder_name(pin.name, pin.version)
    if pin.name in attached:
        return Presence(pin, State.ATTACHED, f"port {attached[pin.name]}")
    program = which(f"pulumi-resource-{pin.name}")
    if program is not None:
        return Presence(pin, State.ON_PATH, str(Path(program)))
    if is_installed(home, pin.name, pin.version):
        return Presence(pin, State.INSTALLED, str(folder))
    return Presence(pin, State.PARTIAL if is_partial(folder) else State.MISSING, str(folder))


def _sdk(name: str) -> str:
    return version_of_package(f"pulumi-{name}")


def _merged(wanted: Iterable[tuple[str, str, str]]) -> tuple[PluginPin, ...]:
    """Return one pin for each name and version, in the order of their first occurrence."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, version, reason in wanted:
        reasons.setdefault((name, version), []).append(reason)
    return tuple(PluginPin(name, version, tuple(why)) for (name, version), why in reasons.items())
