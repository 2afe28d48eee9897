"""`existing` with the real official plugin: `make official PLUGIN=path`, since no registry of packages carries it."""

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from mlcluster.engine.plugin_archives import this_platform
from mlcluster.kube.client import Kube
from mlcluster.kubernetes_provider import VERSION
from mlcluster.lab.keys import has_whole_namespaces, lasting
from mlcluster.lab.lab import Lab
from tests.lab.test_existing import SPEC, foreign
from tests.lab.workloads import environment
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
__all__ = ["foreign"]
COMMAND_SECONDS = 300.0
NETWORKING = "networking.k8s.io/v1"


class Cluster:
    """A spec with the official plugin, and the command line on it."""

    def __init__(self, folder: Path, lab: Lab) -> None:
        self._folder = folder
        self._lab = lab
        self.spec = folder / "shared.yaml"
        self.write()
        wait_for("the controllers to be done with Kueue's namespace", lambda: has_whole_namespaces(lab.keys()))
        self._before = lab.keys()

    def write(self, **changes: Any) -> None:
        data = yaml.safe_load(SPEC.format(kubeconfig=self._lab.kubeconfig, nodes=1))
        data["target"]["kubernetesProvider"] = "official"
        self.spec.write_text(yaml.safe_dump({**data, **changes}), "utf-8")

    def start(self, verb: str, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "mlcluster", *verb.split(), str(self.spec), *arguments]
        pipe = subprocess.PIPE
        own = {**environment(self._folder / "state"), "PULUMI_HOME": str(self._folder / "pulumi")}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=own)

    def run(self, verb: str, *arguments: str, code: int = 0) -> str:
        """Return the output of a command on both streams."""
        process = self.start(verb, *arguments)
        out, error = process.communicate(timeout=COMMAND_SECONDS)
        assert process.returncode == code, out + error
        return out + error

    def state(self) -> str:
        process = self.start("status", "-o", "json")
        return str(json.loads(process.communicate(timeout=COMMAND_SECONDS)[0])["state"])

    def down(self) -> None:
        self.run("down", "--yes")
        wait_for("the controllers to be done", lambda: lasting(self._lab.keys()) <= lasting(self._before))


@pytest.fixture(scope="module")
def kube(foreign: Lab) -> Iterator[Kube]:
    with Kube.from_kubeconfig(foreign.kubeconfig) as found:
        yield found


@pytest.fixture
def cluster(foreign: Lab, tmp_path: Path) -> Cluster:
    """Nothing is up yet; the plugin is installed from an archive, as on a site without a network."""
    program = Path(os.environ["OFFICIAL_PLUGIN"])
    archives = tmp_path / "archives"
    archives.mkdir()
    name = f"pulumi-resource-kubernetes-v{VERSION}-{this_platform()}.tar.gz"
    with tarfile.open(archives / name, "w:gz", compresslevel=1) as archive:
        archive.add(program, "pulumi-resource-kubernetes")
    made = Cluster(tmp_path, foreign)
    assert "plugins install" in made.run("up", "--yes", code=1)
    made.run("plugins install", "--from", str(archives))
    return made


def test_up_again_drift_replacement_and_down(cluster: Cluster, kube: Kube) -> None:
    cluster.run("up", "--yes")
    assert json.loads(cluster.run("up", "--yes", "-o", "jsonl").splitlines()[-1])["changed"] == 0
    assert cluster.state() == "notReady"  # the Kueue of a lab is no Deployment

    narrowed = {"spec": {"podSelector": {"matchLabels": {"app": "web"}}}}
    kube.patch(NETWORKING, "NetworkPolicy", "team", narrowed, "vision", field_manager="kubectl-edit")
    assert cluster.state() == "drifted"
    cluster.run("up", "--yes")
    policy = kube.get_object(NETWORKING, "NetworkPolicy", "team", "vision") or {}
    assert policy["spec"]["podSelector"] == {}

    tiers = [{"name": f"tier-{value}", "value": value} for value in (10, 100)]
    cluster.write(priorityTiers=tiers)
    cluster.run("up", "--yes")
    cluster.write(priorityTiers=[tiers[0], {"name": "tier-100", "value": 200}])
    cluster.run("up", "--yes")
    assert (kube.get_object("scheduling.k8s.io/v1", "PriorityClass", "tier-100") or {})["value"] == 200
    assert json.loads(cluster.run("up", "--yes", "-o", "jsonl").splitlines()[-1])["changed"] == 0
    cluster.down()


def test_an_unlabelled_object_under_a_managed_name_is_neither_overwritten_nor_deleted(
    cluster: Cluster, kube: Kube
) -> None:
    api, kind, name = "scheduling.k8s.io/v1", "PriorityClass", "best-effort-experiment"
    cluster.run("up", "--yes")
    kube.delete(api, kind, name)
    kube.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "value": 7})
    assert name in cluster.run("up", "--yes", code=1)
    assert f"{kind} {name}" in cluster.run("down", "--yes")
    assert (kube.get_object(api, kind, name) or {})["value"] == 7
    kube.delete(api, kind, name)
    cluster.run("up", "--yes")
    cluster.down()


def _ctrl_c(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)


def _kill_all(process: "subprocess.Popen[str]") -> None:
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in children:
        child.kill()


def _kill_engine(process: "subprocess.Popen[str]") -> None:
    for child in psutil.Process(process.pid).children(recursive=True):
        if child.name() == "pulumi":
            child.kill()


@pytest.mark.parametrize("end", [_ctrl_c, _kill_all, _kill_engine])
@pytest.mark.parametrize("count", [1, 8, 20])
def test_the_same_command_again_after_an_interruption(
    cluster: Cluster, kube: Kube, end: Callable[["subprocess.Popen[str]"], None], count: int
) -> None:
    """Interrupted after `count` objects: `up` adopts objects that are missing in the state, and `down` deletes them."""
    for verb in ("up", "down"):
        _interrupted(cluster, kube, end, count)
        if verb == "up":
            cluster.run("up", "--yes")
            assert cluster.state() == "notReady"
        cluster.down()


def _interrupted(cluster: Cluster, kube: Kube, end: Callable[["subprocess.Popen[str]"], None], count: int) -> None:
    up = cluster.start("up", "--yes")
    wait_for("some objects", lambda: up.poll() is not None or len(_ours(kube)) >= count, pause=0.01)
    end(up)
    out, error = up.communicate(timeout=COMMAND_SECONDS)
    assert up.returncode != 0, f"nothing was interrupted:\n{out}{error}"


def _ours(kube: Kube) -> list[str]:
    listed = [("v1", "Namespace"), ("scheduling.k8s.io/v1", "PriorityClass")]
    listed += [("admissionregistration.k8s.io/v1", f"ValidatingAdmissionPolicy{suffix}") for suffix in ("", "Binding")]
    found = [one for each in listed for one in kube.list(*each, label_selector="mlcluster.dev/cluster=shared")]
    return [one["metadata"]["name"] for one in found]
