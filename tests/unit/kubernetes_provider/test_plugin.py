import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kubernetes_provider import FOLDER, VERSION, install, uninstall
from mlcluster.kubernetes_provider.faults import ENVIRONMENT, Fault, FaultError, Faults
from mlcluster.kubernetes_provider.helm import Helm, HelmError, find_helm

pytestmark = pytest.mark.unit


def test_install_is_idempotent_and_leaves_one_executable(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    install(home)
    folder = home / "plugins" / f"resource-kubernetes-v{VERSION}"
    (launcher,) = folder.iterdir()
    assert launcher.name == "pulumi-resource-kubernetes"
    assert os.access(launcher, os.X_OK)
    written = launcher.stat().st_ino
    install(home)
    assert launcher.stat().st_ino == written
    launcher.write_text("broken")
    install(home)
    assert "mlcluster.kubernetes_provider" in launcher.read_text()


def test_the_launcher_supports_spaces_in_the_interpreters_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/odd place/it's/python")
    install(tmp_path)
    (launcher,) = tmp_path.rglob("pulumi-resource-kubernetes")
    assert launcher.read_text().splitlines()[1].startswith("exec '/odd place/it'\"'\"'s/python' -P -m ")


def test_the_version_is_the_sdks(project_root: Path) -> None:
    assert f'"pulumi-kubernetes=={VERSION}"' in (project_root / "pyproject.toml").read_text()


def test_faults_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    Faults.from_environment().strike("Create", "urn", "before")
    monkeypatch.setenv(ENVIRONMENT, json.dumps([{"rpc": "Create", "urn": "a$", "times": 1, "fail": "x"}]))
    faults = Faults.from_environment()
    faults.strike("Create", "b", "before")
    faults.strike("Create", "a", "after")
    with pytest.raises(FaultError):
        faults.strike("Create", "a", "before")
    faults.strike("Create", "a", "before")


def test_a_fault_skips_and_counts() -> None:
    faults = Faults([Fault("Read", skip=2, times=2, fail="no")])

    def strikes() -> bool:
        try:
            faults.strike("Read", "", "before")
        except FaultError:
            return True
        return False

    assert [strikes() for _ in range(6)] == [False, False, True, True, False, False]


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Helm:
    """Return a fake helm binary that prints its inputs."""
    program = tmp_path / "helm"
    program.write_text(
        f"#!{sys.executable}\nimport json, os, pathlib, stat, sys\n"
        "path = pathlib.Path(sys.argv[-1])\n"
        "if 'fail' in sys.argv: sys.exit('Error: release: not found')\n"
        "mode = stat.S_IMODE(path.stat().st_mode)\n"
        "print(json.dumps({'argv': sys.argv[1:-1], 'config': path.read_text(), 'mode': mode,"
        " 'path': str(path), 'stdin': sys.stdin.read()}))\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("MLCLUSTER_HELM", str(program))
    return Helm("the kubeconfig")


def test_helm_gets_a_private_kubeconfig_and_values_on_stdin(helm: Helm) -> None:
    told: dict[str, Any] = helm.json("install", "r", values={"a": 1})
    assert told["argv"] == ["install", "r", "-o", "json", "--kubeconfig"]
    assert (told["config"], told["mode"], told["stdin"]) == ("the kubeconfig", 0o600, '{"a": 1}')
    assert not Path(told["path"]).exists()


def test_helm_errors_contain_its_output(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HelmError, match="release: not found") as caught:
        helm.run("status", "fail")
    assert caught.value.not_found
    monkeypatch.setenv("MLCLUSTER_HELM", "/no/such/helm")
    with pytest.raises(HelmError, match="not installed"):
        helm.run("version")


def test_a_helm_of_another_major_version_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCLUSTER_HELM", raising=False)
    monkeypatch.setenv("MLCLUSTER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_helm() is None
    for version, found in (("v4.0.1", None), ("v3.9.0", str(tmp_path / "helm"))):
        (tmp_path / "helm").unlink(missing_ok=True)
        (tmp_path / "helm").write_text(f"#!/bin/sh\necho {version}+g0\n")
        (tmp_path / "helm").chmod(0o755)
        assert find_helm() == found


def test_the_launcher_never_overwrites_the_official_plugin_and_is_removable(tmp_path: Path) -> None:
    official = tmp_path / "user" / FOLDER
    official.mkdir(parents=True)
    (official / "pulumi-resource-kubernetes").write_text("official")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / FOLDER).symlink_to(official)
    uninstall(tmp_path)
    assert (tmp_path / "plugins" / FOLDER).exists()
    install(tmp_path)
    assert (official / "pulumi-resource-kubernetes").read_text() == "official"
    uninstall(tmp_path)
    uninstall(tmp_path)
    assert not (tmp_path / "plugins" / FOLDER).exists()
