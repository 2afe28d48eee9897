"""Which plugins the engine is given: those that run already, and those that the user has installed."""

from pathlib import Path

import pytest

from mlcluster.engine import plugins
from mlcluster.engine.console import Console
from mlcluster.engine.failures import Failed, explain
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import Provider

pytestmark = pytest.mark.unit


def _console(root: Path, provider: Provider, attach: dict[str, int]) -> Console:
    return Console(StackHome("atlas", root / "atlas"), "mlcluster-eks", root / "pulumi", provider, attach, lambda: None)


def _installed(home: Path, *names: str) -> None:
    for name in names:
        (home / "plugins" / name).mkdir(parents=True)


def test_the_callers_attached_providers_reach_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", "aws:1, eks:2,kubernetes:x,:3")
    assert plugins.attached() == {"aws": 1, "eks": 2}
    told = _console(tmp_path, "official", {"eks": 5}).environment()
    assert told["PULUMI_DEBUG_PROVIDERS"] == "aws:1,eks:5"
    assert told["PULUMI_IGNORE_AMBIENT_PLUGINS"] == "true"


def test_without_any_nothing_is_said_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def test_installed_plugins_are_linked_into_the_stacks_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, ours = tmp_path / "pulumi-home", tmp_path / "atlas" / "home" / "plugins"
    monkeypatch.setenv("PULUMI_HOME", str(home))
    _installed(home, "resource-aws-v7.51.1", "resource-random-v4.0.0", "language-go-v1.0.0", "resource-eks-v4.4.0")
    (home / "plugins" / "resource-eks-v4.4.0.partial").touch()
    console = _console(tmp_path, "official", {})
    console.environment()
    console.environment()
    assert [path.name for path in ours.iterdir()] == ["resource-aws-v7.51.1"]
    (home / "plugins" / "resource-aws-v7.51.1").rename(home / "elsewhere")
    _installed(home, "resource-aws-v7.51.1")
    console.environment()
    assert (ours / "resource-aws-v7.51.1").resolve() == home / "plugins" / "resource-aws-v7.51.1"


def test_a_link_to_what_was_removed_is_renewed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    link = tmp_path / "stack" / "plugins" / "resource-aws-v7.51.1"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "gone")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    _installed(tmp_path / "home", link.name)
    plugins.link_installed(tmp_path / "stack")
    assert link.resolve() == tmp_path / "home" / "plugins" / link.name


def test_a_missing_plugin_is_named_with_what_to_do() -> None:
    said = "no resource plugin 'pulumi-resource-aws' found in the workspace at version v7.51.1 or on your $PATH"
    error = explain("previewing", Failed("atlas", 1, "", errors=[said]))
    assert error.happened == "the engine has no plugin for aws v7.51.1"
    assert "pulumi plugin install resource" in error.hint


def test_what_a_provider_says_of_itself_is_told_without_credentials() -> None:
    error = explain("previewing", Failed("atlas", 1, "", errors=["no login", "proxy https://jo:pass@proxy/ refused"]))
    assert error.happened == "no login\n  proxy https://***@proxy/ refused"
