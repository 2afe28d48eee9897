"""After a kill in the middle of a removal or a start, the same command again is all that is needed."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab import probe
from mlcluster.lab.controllers.crds import await_established
from mlcluster.lab.keeper import Keeper
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.conftest import KUEUE_CONFIG
from tests.lab.workloads import environment, pids
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
SPACE = "kueue-system"
COMMAND_SECONDS = 600.0
"""A whole `up` or `down`, which takes 20 s on an idle machine."""
SPEC = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {name: killed}
target: {kind: local}
nodePools:
  - {name: cpu, instanceType: m7i.2xlarge, maxSize: 1}
teams: []
"""
START_KUEUE = """
import json, sys
from pathlib import Path
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
root, chart, *programs = map(Path, sys.argv[1:-1])
toolchain = Toolchain({program.name: program for program in programs}, chart)
Lab("other", root).start_kueue(json.loads(sys.argv[-1]), toolchain, Silent())
"""


class Killed:
    """A cluster on a lab of its own, driven through the command line."""

    def __init__(self, folder: Path) -> None:
        self.spec = folder / "killed.yaml"
        self.spec.write_text(SPEC, "utf-8")
        self.log = folder / "log.txt"
        self.environment = environment(folder / "state")
        self.lab = Lab("killed", folder / "state" / "labs" / "killed")

    def start(self, verb: str, *options: str) -> "subprocess.Popen[bytes]":
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "mlcluster", verb, str(self.spec), *options],
                stdout=log,
                stderr=log,
                env=self.environment,
                stdin=subprocess.DEVNULL,
            )

    def run(self, verb: str, *options: str) -> str:
        """Run a command that must succeed, and return its output."""
        code = self.start(verb, *options).wait(COMMAND_SECONDS)
        assert code == 0, self.said()
        return self.said()

    def said(self) -> str:
        return self.log.read_text("utf-8")

    def wait_until_said(self, words: str, process: "subprocess.Popen[bytes]") -> None:
        def look() -> bool:
            assert process.poll() is None, self.said()
            return words in self.said()

        wait_for(words, look)

    def kill_down_while_kueue_is_removed(self) -> None:
        """SIGKILL of `down` while the namespace of Kueue is being deleted; the namespace stays as long as `hold`."""
        with Kube.from_kubeconfig(self.lab.kubeconfig) as kube:
            self.hold(kube)
            down = self.start("down", "--yes")
            wait_for("the deletion of Kueue's namespace", lambda: _is_going(kube) or down.poll() is not None)
        children = psutil.Process(down.pid).children(recursive=True)
        down.kill()
        down.wait()
        for child in children:
            child.kill()

    def hold(self, kube: Kube) -> None:
        metadata = {"name": "hold", "namespace": SPACE, "finalizers": ["mlcluster.test/hold"]}
        kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    def release(self) -> None:
        with Kube.from_kubeconfig(self.lab.kubeconfig) as kube:
            kube.patch("v1", "ConfigMap", "hold", {"metadata": {"finalizers": None}}, SPACE)


def _is_going(kube: Kube) -> bool:
    found = kube.get_object("v1", "Namespace", SPACE) or {}
    return bool(found.get("metadata", {}).get("deletionTimestamp"))


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Killed]:
    """Yield a running cluster; deleted at the end in any state."""
    made = Killed(tmp_path)
    try:
        made.run("up", "--yes")
        yield made
    finally:
        made.lab.reset(Silent())


def test_a_removal_that_was_killed_is_continued_by_every_command(killed: Killed) -> None:
    killed.kill_down_while_kueue_is_removed()
    assert "nothing was locked" in killed.run("unlock", "--assume-dead")
    up = killed.start("up", "--yes")
    killed.wait_until_said(f"waiting for the deletion of Namespace/{SPACE}", up)
    killed.release()
    assert up.wait(COMMAND_SECONDS) == 0, killed.said()
    assert killed.lab.status().state == "running"

    killed.kill_down_while_kueue_is_removed()
    down = killed.start("down", "--yes")
    killed.wait_until_said(f"waiting for the deletion of Namespace/{SPACE}", down)
    killed.release()
    assert down.wait(COMMAND_SECONDS) == 0, killed.said()
    assert killed.lab.status().state == "absent"
    assert not killed.lab.layout.root.exists()
    assert not (killed.lab.layout.root.parents[1] / "stacks" / "killed").exists()


def test_a_database_that_ends_while_kueue_is_removed_is_named_and_started_by_the_same_command(killed: Killed) -> None:
    with Kube.from_kubeconfig(killed.lab.kubeconfig) as kube:
        killed.hold(kube)
        down = killed.start("down", "--yes")
        wait_for("the deletion of Kueue's namespace", lambda: _is_going(kube))
    os.kill(pids(killed.lab)["etcd"] or 0, signal.SIGKILL)
    assert down.wait(COMMAND_SECONDS) == 1, killed.said()
    assert "etcd" in killed.said()
    assert "ended unexpectedly" in killed.said()
    assert "Run the same command again" in killed.said()
    again = killed.start("down", "--yes")
    killed.wait_until_said(f"waiting for the deletion of Namespace/{SPACE}", again)
    killed.release()
    assert again.wait(COMMAND_SECONDS) == 0, killed.said()
    assert killed.lab.status().state == "absent"


@pytest.fixture
def fresh(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a running lab without controllers; deleted after the test."""
    lab = make_lab("half-started", tied=False)
    lab.start(toolchain, Silent())
    yield lab
    lab.reset(Silent())


def test_a_controller_whose_start_was_killed_starts_and_stops_cleanly(fresh: Lab, toolchain: Toolchain) -> None:
    programs = [str(toolchain.path(name)) for name in toolchain.binaries]
    argv = [sys.executable, "-c", START_KUEUE, str(fresh.layout.root), str(toolchain.chart), *programs]
    with subprocess.Popen([*argv, json.dumps(KUEUE_CONFIG)], cwd=Path(__file__).parents[2]) as starter:
        with Kube.from_kubeconfig(fresh.kubeconfig) as kube:
            wait_for("Kueue's namespace", lambda: kube.get_object("v1", "Namespace", SPACE), pause=0.01)
        starter.kill()
    assert fresh.status().state == "crashed"
    fresh.start(toolchain, Silent())
    assert fresh.status().state == "running"
    fresh.stop_kueue(Silent())
    assert fresh.leftovers() == frozenset()


@pytest.mark.parametrize("component", ["etcd", "kube-apiserver", "kube-controller-manager"])
def test_a_program_that_ends_during_a_command_is_restarted(fresh: Lab, component: str) -> None:
    with Keeper(fresh, Silent()) as keeper:
        before = pids(fresh)
        os.kill(before[component] or 0, signal.SIGKILL)
        wait_for("its start", lambda: (pids(fresh)[component] or before[component]) != before[component])
        wait_for("the lab", lambda: fresh.status().state == "running")
        wait_for("the keeper's word", lambda: keeper.ended() == [component])
        with Kube.from_kubeconfig(fresh.kubeconfig) as kube:
            assert kube.version()


def test_a_crd_that_a_killed_api_server_had_not_established_is_established(fresh: Lab, toolchain: Toolchain) -> None:
    """Seed 5 of the soak: etcd is killed between the two writes by which the API server establishes a definition."""
    name = "halves.test.mlcluster.dev"
    with Kube.from_kubeconfig(fresh.kubeconfig) as kube:
        kube.apply(_crd(name))
        await_established(kube, [name])
    os.kill(pids(fresh)["kube-apiserver"] or 0, signal.SIGKILL)
    _rewrite(fresh, f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}", _without_establishment)
    fresh.start(toolchain, Silent())
    with Kube.from_kubeconfig(fresh.kubeconfig) as kube:
        kube.apply(_crd(name))
        assert not _is_established(kube, name)
        await_established(kube, [name], 60)
        assert _is_established(kube, name)
        found = kube.get_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name) or {}
        assert "annotations" not in found["metadata"]


def _crd(name: str) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": plural.title()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def _rewrite(lab: Lab, key: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change an object in etcd, past the API server."""
    port = next(component.port or 0 for component in lab.status().processes if component.name == "etcd")
    encoded = base64.b64encode(key.encode()).decode()

    def ask(verb: str, body: dict[str, Any]) -> dict[str, Any]:
        path = f"/v3/kv/{verb}"
        status, content = probe.etcd(lab.layout, port, path, body={"key": encoded, **body})
        assert status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    (entry,) = ask("range", {})["kvs"]
    before = base64.b64decode(entry["value"]).decode()
    value = json.loads(before)
    assert _as_stored(value) == before, "the API server would write the object again only to format it"
    change(value)
    ask("put", {"value": base64.b64encode(_as_stored(value).encode()).decode()})


def _as_stored(value: dict[str, Any]) -> str:
    """Return JSON as the API server stores it."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def _without_establishment(crd: dict[str, Any]) -> None:
    """Return the CRD between the two writes: its names are accepted, and it is not established yet."""
    (established,) = [entry for entry in crd["status"]["conditions"] if entry["type"] == "Established"]
    established.update(status="False", reason="Installing", message="the initial names have been accepted")


def _is_established(kube: Kube, name: str) -> bool:
    found = kube.get_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name) or {}
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in found["status"]["conditions"])
