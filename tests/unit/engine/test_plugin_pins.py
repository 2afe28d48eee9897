"""The plugins that the engine needs, and their installation state."""

import json
import re
from importlib.metadata import distribution
from pathlib import Path

import pytest

from mlcluster import kubernetes_provider
from mlcluster.engine.plugin_pins import (
    KUBERNETES_OF_EKS,
    PluginPin,
    State,
    all_plugins,
    look_for,
    needed_plugins,
)
from stacks.eks.registration import AWS_VERSION, EKS_VERSION
from stacks.registration import SDK_VERSION
from tests.fakes.engine_plugins import install_dummy

pytestmark = pytest.mark.unit
AWS = PluginPin("aws", "7.51.1", ("x",))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the user's Pulumi home."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    return tmp_path


def _titles(*arguments: str, attached: tuple[str, ...] = ()) -> list[str]:
    target, provider = arguments
    return [pin.title for pin in needed_plugins(target, provider, attached)]  # type: ignore[arg-type]


def test_versions_match_the_registered_resources() -> None:
    versions = {pin.title for pin in all_plugins()}
    assert versions == {
        f"aws v{AWS_VERSION}",
        f"eks v{EKS_VERSION}",
        f"kubernetes v{SDK_VERSION}",
        f"kubernetes v{KUBERNETES_OF_EKS}",
    }
    assert kubernetes_provider.VERSION == SDK_VERSION


def test_only_the_official_provider_is_optional() -> None:
    assert [pin.title for pin in all_plugins() if pin.optional] == [f"kubernetes v{SDK_VERSION}"]
    assert not all_plugins()[-1].needed_by[1:]


@pytest.mark.parametrize("name", ["aws", "eks", "kubernetes"])
def test_a_plugin_has_the_version_of_its_package(name: str) -> None:
    path = distribution(f"pulumi-{name}").locate_file(f"pulumi_{name}/pulumi-plugin.json")
    said = json.loads(Path(str(path)).read_text("utf-8"))
    assert f"{said['name']} v{said['version']}" in {pin.title for pin in all_plugins()}


def test_the_kubernetes_version_of_the_eks_component_is_the_minimum_of_its_sdk() -> None:
    """This test fails for a pulumi-eks with another version: its package.json is not in the Python package."""
    required = distribution("pulumi-eks").requires or []
    (kubernetes,) = [one for one in required if one.startswith("pulumi-kubernetes")]
    assert re.findall(r">=([\d.]+)", kubernetes) == [KUBERNETES_OF_EKS]


def test_plugins_of_each_target() -> None:
    eks = [f"aws v{AWS_VERSION}", f"eks v{EKS_VERSION}", f"kubernetes v{KUBERNETES_OF_EKS}"]
    assert _titles("eks", "builtin") == eks
    assert _titles("eks", "official") == [*eks, f"kubernetes v{SDK_VERSION}"]
    assert _titles("existing", "official") == [f"kubernetes v{SDK_VERSION}"]
    assert _titles("existing", "builtin") == []
    assert _titles("local", "builtin") == []


def test_an_attached_eks_component_needs_no_kubernetes_plugin() -> None:
    assert _titles("eks", "builtin", attached=("aws", "eks")) == [f"aws v{AWS_VERSION}", f"eks v{EKS_VERSION}"]


class TestInstallationState:
    def test_installed_or_not(self, home: Path) -> None:
        (one,) = look_for([AWS], "builtin", {})
        assert (one.state, one.usable) == (State.MISSING, False)
        folder = install_dummy(home, "aws", "7.51.1")
        (one,) = look_for([AWS], "builtin", {})
        assert (one.state, one.usable, one.where) == (State.INSTALLED, True, str(folder))

    def test_another_version_does_not_count(self, home: Path) -> None:
        install_dummy(home, "aws", "7.51.2")
        assert look_for([AWS], "builtin", {})[0].state is State.MISSING

    def test_a_partial_installation(self, home: Path) -> None:
        folder = install_dummy(home, "aws", "7.51.1")
        folder.with_name(f"{folder.name}.partial").touch()
        assert look_for([AWS], "builtin", {})[0].state is State.PARTIAL

    def test_a_directory_without_the_program(self, home: Path) -> None:
        (install_dummy(home, "aws", "7.51.1") / "pulumi-resource-aws").chmod(0o644)
        assert look_for([AWS], "builtin", {})[0].state is State.MISSING

    def test_an_attached_plugin(self) -> None:
        (one,) = look_for([AWS], "official", {"aws": 4711})
        assert (one.state, one.usable, one.where) == (State.ATTACHED, True, "port 4711")

    def test_a_plugin_on_path_counts_only_if_the_engine_uses_it(self) -> None:
        def which(name: str) -> str | None:
            return f"/usr/bin/{name}"

        (one,) = look_for([AWS], "official", {}, which)
        assert (one.state, one.usable, one.where) == (State.ON_PATH, True, "/usr/bin/pulumi-resource-aws")
        assert look_for([AWS], "builtin", {}, which)[0].state is State.MISSING
        assert look_for([AWS], "official", {"eks": 1}, which)[0].state is State.MISSING
