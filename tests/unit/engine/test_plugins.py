"""The plugins that the engine can use: attached ones, and those that the user has installed."""

from pathlib import Path

import pytest

from mlcluster import kubernetes_provider
from mlcluster.engine import plugins
from mlcluster.engine.console import Console
from mlcluster.engine.failures import Failed, explain
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import Provider
from mlcluster.errors import MlclusterError
from tests.fakes.engine_plugins import found_by_engine, install_dummy

pytestmark = pytest.mark.unit
SDK = kubernetes_provider.VERSION


def _console(root: Path, provider: Provider, attach: dict[str, int]) -> Console:
    return Console(StackHome("atlas", root / "atlas"), "mlcluster-eks", root / "pulumi", provider, attach, lambda: None)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the user's Pulumi home."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    return tmp_path / "pulumi-home"


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """Return the stack's Pulumi home."""
    return tmp_path / "atlas" / "home"


def test_attached_providers_are_passed_to_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", "aws:1, eks:2,kubernetes:x,:3")
    assert plugins.attached() == {"aws": 1, "eks": 2}
    told = _console(tmp_path, "official", {"eks": 5}).environment()
    assert told["PULUMI_DEBUG_PROVIDERS"] == "aws:1,eks:5"
    assert told["PULUMI_IGNORE_AMBIENT_PLUGINS"] == "true"


def test_without_attached_providers_the_variable_is_unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PULUMI_DEBUG_PROVIDERS", raising=False)
    told = _console(tmp_path, "official", {}).environment()
    assert not {"PULUMI_DEBUG_PROVIDERS", "PULUMI_IGNORE_AMBIENT_PLUGINS"} & told.keys()


@pytest.mark.parametrize(
    ("attach", "installed"), [({}, True), ({"aws": 1, "eks": 2}, True), ({"kubernetes": 1}, False)]
)
def test_the_builtin_provider_is_installed_unless_another_is_attached(
    attach: dict[str, int], installed: bool, tmp_path: Path
) -> None:
    _console(tmp_path, "builtin", attach).environment()
    assert (tmp_path / "atlas/home/plugins").is_dir() is installed


@pytest.mark.parametrize("provider", ["official", "builtin"])
def test_the_engine_finds_the_installed_plugins(home: Path, stack: Path, provider: Provider, tmp_path: Path) -> None:
    for name, version in (("aws", "7.51.1"), ("eks", "4.4.0"), ("kubernetes", "4.19.0"), ("random", "4.0.0")):
        install_dummy(home, name, version)
    console = _console(tmp_path, provider, {})
    console.environment()
    console.environment()
    found = {name: path for name, path in found_by_engine(stack).items() if name != f"kubernetes v{SDK}"}
    assert set(found) == {"aws v7.51.1", "eks v4.4.0", "kubernetes v4.19.0"}
    for path in found.values():
        assert path.read_text("utf-8").startswith("#!/bin/sh")
        assert (path.parent / "data" / "schema.json").is_file()


def test_a_partial_installation_is_not_linked(home: Path, stack: Path) -> None:
    folder = install_dummy(home, "aws", "7.51.1")
    (home / "plugins" / "resource-aws-v7.51.1.lock").touch()
    partial = home / "plugins" / "resource-aws-v7.51.1.partial"
    partial.touch()
    plugins.link_installed(stack)
    assert found_by_engine(stack) == {}
    partial.unlink()
    plugins.link_installed(stack)
    assert list(found_by_engine(stack)) == ["aws v7.51.1"]
    partial.touch()  # it is being installed again
    (folder / "LICENSE").unlink()
    plugins.link_installed(stack)
    assert found_by_engine(stack) == {}


def test_links_to_directories_of_earlier_versions_are_replaced(home: Path, stack: Path) -> None:
    folder = install_dummy(home, "aws", "7.51.1")
    link = stack / "plugins" / folder.name
    link.parent.mkdir(parents=True)
    link.symlink_to(folder, target_is_directory=True)
    assert found_by_engine(stack) == {}
    plugins.link_installed(stack)
    assert list(found_by_engine(stack)) == ["aws v7.51.1"]
    assert sorted(path.name for path in folder.iterdir()) == ["LICENSE", "data", "pulumi-resource-aws"]


def test_a_link_of_an_earlier_version_to_another_home_is_replaced(home: Path, stack: Path, tmp_path: Path) -> None:
    install_dummy(home, "aws", "7.51.1")
    before = install_dummy(tmp_path / "before", "aws", "7.51.1")
    link = stack / "plugins" / before.name
    link.parent.mkdir(parents=True)
    link.symlink_to(before)
    plugins.link_installed(stack)
    assert found_by_engine(stack)["aws v7.51.1"].readlink().is_relative_to(home)
    assert before.is_dir()


def test_a_dangling_link_is_replaced(home: Path, stack: Path, tmp_path: Path) -> None:
    link = stack / "plugins" / "resource-aws-v7.51.1"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "gone")
    install_dummy(home, "aws", "7.51.1")
    plugins.link_installed(stack)
    assert found_by_engine(stack)["aws v7.51.1"].is_file()


def test_links_to_an_uninstalled_plugin_are_removed(home: Path, stack: Path) -> None:
    folder = install_dummy(home, "aws", "7.51.1")
    plugins.link_installed(stack)
    folder.rename(home / "elsewhere")
    plugins.link_installed(stack)
    assert list((stack / "plugins").iterdir()) == []


def test_links_follow_a_reinstalled_plugin(home: Path, stack: Path) -> None:
    folder = install_dummy(home, "aws", "7.51.1")
    plugins.link_installed(stack)
    (folder / "LICENSE").unlink()
    (folder / "NOTICE").touch()
    plugins.link_installed(stack)
    here = found_by_engine(stack)["aws v7.51.1"].parent
    assert sorted(path.name for path in here.iterdir()) == ["NOTICE", "data", "pulumi-resource-aws"]


def test_files_of_the_user_stay(home: Path, stack: Path, tmp_path: Path) -> None:
    install_dummy(home, "aws", "7.51.1")
    install_dummy(home, "eks", "4.4.0")
    mine = install_dummy(stack, "aws", "7.51.1", "#!/bin/sh\n# mine\n")
    elsewhere = tmp_path / "my-eks"
    elsewhere.mkdir()
    link = stack / "plugins" / "resource-eks-v4.4.0"
    link.symlink_to(elsewhere)
    (stack / "plugins" / "notes.txt").touch()
    plugins.link_installed(stack)
    assert (mine / "pulumi-resource-aws").read_text("utf-8") == "#!/bin/sh\n# mine\n"
    assert not any(path.is_symlink() for path in mine.iterdir())
    assert link.readlink() == elsewhere
    assert (stack / "plugins" / "notes.txt").exists()


def test_a_stack_home_equal_to_the_user_home_stays_unchanged(monkeypatch: pytest.MonkeyPatch, stack: Path) -> None:
    folder = install_dummy(stack, "aws", "7.51.1")
    monkeypatch.setenv("PULUMI_HOME", str(stack))
    plugins.link_installed(stack)
    assert not (folder / "pulumi-resource-aws").is_symlink()


def test_an_unreadable_home_is_an_error(home: Path, stack: Path) -> None:
    install_dummy(home, "aws", "7.51.1")
    stack.mkdir(parents=True)
    (stack / "plugins").touch()
    with pytest.raises(MlclusterError, match="linking the installed plugins"):
        plugins.link_installed(stack)


class TestBothKubernetesProviders:
    """The launcher of the built-in provider and the official plugin use the same directory of a stack's home."""

    def test_the_builtin_provider_does_not_change_the_installed_plugin(
        self, home: Path, stack: Path, tmp_path: Path
    ) -> None:
        folder = install_dummy(home, "kubernetes", SDK, "#!/bin/sh\n# official \x80\n")
        link = stack / "plugins" / folder.name
        link.parent.mkdir(parents=True)
        link.symlink_to(folder)  # by an earlier version, with the official provider
        _console(tmp_path, "builtin", {}).environment()
        assert "mlcluster" in found_by_engine(stack)[f"kubernetes v{SDK}"].read_text("utf-8")
        assert "official" in (folder / "pulumi-resource-kubernetes").read_text("utf-8")

    def test_each_provider_replaces_the_other(self, home: Path, stack: Path, tmp_path: Path) -> None:
        folder = install_dummy(home, "kubernetes", SDK)
        (folder / "pulumi-resource-kubernetes").write_bytes(b"\x7fELF\xff")
        for provider in ("official", "builtin", "official"):
            _console(tmp_path, provider, {}).environment()
            said = found_by_engine(stack)[f"kubernetes v{SDK}"].read_bytes()
            assert (said == b"\x7fELF\xff") is (provider == "official")
        assert (folder / "pulumi-resource-kubernetes").read_bytes() == b"\x7fELF\xff"

    def test_the_builtin_provider_is_distinguished_from_the_official_one(
        self, home: Path, stack: Path, tmp_path: Path
    ) -> None:
        assert not home.exists()
        _console(tmp_path, "builtin", {}).environment()
        _console(tmp_path, "official", {}).environment()
        assert found_by_engine(stack) == {}


def test_a_missing_plugin_has_a_hint() -> None:
    said = "no resource plugin 'pulumi-resource-aws' found in the workspace at version v7.51.1 or on your $PATH"
    error = explain("previewing", Failed("atlas", 1, "", errors=[said]))
    assert error.happened == "the engine has no plugin for aws v7.51.1"
    assert "mlcluster plugins install" in error.hint


def test_provider_messages_are_reported_without_credentials() -> None:
    error = explain("previewing", Failed("atlas", 1, "", errors=["no login", "proxy https://jo:pass@proxy/ refused"]))
    assert error.happened == "no login\n  proxy https://***@proxy/ refused"


def test_an_inaccessible_home_has_no_plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An overlong name raises the OSError of a directory of another user, which root could read."""
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / ("x" * 300)))
    assert not plugins.is_installed(plugins.user_home(), "aws", "7.51.1")
    assert not plugins.is_partial(plugins.user_home() / "plugins" / plugins.folder_name("aws", "7.51.1"))
