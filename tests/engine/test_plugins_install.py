"""`mlcluster plugins install` with the real engine: from archives, and from a mirror that refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlcluster.engine.plugin_pins import all_plugins
from tests.fakes.engine_plugins import found_by_engine
from tests.fakes.plugin_archives import make_archive

pytestmark = pytest.mark.engine


def _run(home: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Return the command line with a Pulumi home; its `bin` is on no PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
    told = {**kept, "PULUMI_HOME": str(home), "MLCLUSTER_STATE_DIR": str(home / "state"), **environment}
    argv = [sys.executable, "-m", "mlcluster", "plugins", *arguments]
    return subprocess.run(argv, env=told, capture_output=True, text=True, check=False)


def _listed(home: Path, pulumi: Path) -> set[str]:
    environment = {**os.environ, "PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    argv = [str(pulumi), "plugin", "ls", "--json"]
    answer = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    return {f"{entry['name']} v{entry['version']}" for entry in json.loads(answer.stdout)}


def test_a_directory_of_archives(pulumi: Path, tmp_path: Path) -> None:
    home, archives = tmp_path / "home", tmp_path / "archives"
    *first, last = [pin for pin in all_plugins() if not pin.optional]
    (optional,) = [pin for pin in all_plugins() if pin.optional]
    for pin in first:
        make_archive(archives, pin.name, pin.version)
    incomplete = _run(home, "install", "--from", str(archives))
    assert incomplete.returncode == 1
    assert f"does not have pulumi-resource-kubernetes-v{last.version}" in incomplete.stderr
    assert _listed(home, pulumi) == {pin.title for pin in first}
    for pin in (last, optional):
        one = make_archive(tmp_path, pin.name, pin.version)
        done = _run(home, "install", "--from", str(one), "-o", "jsonl")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["kind"] == "PluginsInstalled"
        assert result["installed"] == [{"name": pin.name, "version": pin.version}]
    assert set(found_by_engine(home)) == _listed(home, pulumi) == {pin.title for pin in all_plugins()}
    assert _run(home, "list").stdout.splitlines()[-1] == "no plugin is missing"


def test_leftovers_of_an_earlier_attempt_are_installed_again(pulumi: Path, tmp_path: Path) -> None:
    home, pin = tmp_path / "home", all_plugins()[0]
    folder = home / "plugins" / f"resource-{pin.name}-v{pin.version}"
    folder.mkdir(parents=True)  # an archive without the program makes a directory that the engine takes for installed
    archive = make_archive(tmp_path, pin.name, pin.version)
    done = _run(home, "install", "--from", str(archive))
    assert done.returncode == 0, done.stderr
    assert (folder / f"pulumi-resource-{pin.name}").is_file()


def test_a_mirror_that_refuses(pulumi: Path, tmp_path: Path) -> None:
    assert pulumi.is_file()
    done = _run(tmp_path / "home", "install", PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES="^.*=http://127.0.0.1:1")
    assert done.returncode == 1
    assert "error: installing the plugin aws v7.51.1: " in done.stderr
    assert "connection refused" in done.stderr
    assert "--from" in done.stderr
    assert "Traceback" not in done.stderr
