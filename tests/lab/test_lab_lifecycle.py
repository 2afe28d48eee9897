"""The life of a lab on real processes: starts, crashes, ports in use, interrupted starts, stops."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab import probe, process
from mlcluster.lab.components import STOP_ORDER
from mlcluster.lab.failures import StartFailed
from mlcluster.lab.lab import Lab
from mlcluster.lab.ports import LOOPBACK, Ports
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.workloads import config_map, pids
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.lab

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
STARTED_LIKE_KWOK = ("kube-controller-manager", "kube-scheduler")
START = """
import signal, sys
from pathlib import Path
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it, and so would we
root, chart, *programs = map(Path, sys.argv[1:])
toolchain = Toolchain({program.name: program for program in programs}, chart)
Lab("other", root).start(toolchain, Silent(), started_by="a test")
"""


def more_if(value: str, condition: bool) -> pytest.ParameterSet:
    """Return a case of `make soak` where the condition holds, else of every run."""
    return pytest.param(value, marks=[pytest.mark.soak] if condition else [])


def command(lab: Lab, toolchain: Toolchain, text: str = START) -> list[str]:
    programs = [str(toolchain.path(name)) for name in toolchain.binaries]
    return [sys.executable, "-c", text, str(lab.layout.root), str(toolchain.chart), *programs]


def started(lab: Lab, toolchain: Toolchain) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command(lab, toolchain), stderr=subprocess.PIPE, cwd=Path(__file__).parents[2])


def kill(lab: Lab, *components: str) -> None:
    """Kill without warning, and wait for the kernel to be done with it."""
    found = pids(lab)
    for component in components:
        os.kill(found[component] or 0, signal.SIGKILL)
    wait_for("their end", lambda: not any(pids(lab)[component] for component in components), pause=0.01)


def wait_for_start(component: str, lab: Lab) -> None:
    """Wait until the record names the component."""
    name, path = f'"name": "{component}"', lab.layout.record
    wait_for(component, lambda: path.exists() and name in path.read_text(), pause=0.01)


@contextlib.contextmanager
def kube(lab: Lab) -> Iterator[Kube]:
    with Kube.from_kubeconfig(lab.kubeconfig) as client:
        yield client


@pytest.fixture(scope="module")
def own(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a running lab that tests of this module break and repair, with one object in it."""
    lab = make_lab("own")
    lab.start(toolchain, Silent())
    with kube(lab) as client:
        client.create(config_map("kept"))
    yield lab
    lab.reset(Silent())


@pytest.fixture
def fresh(make_lab: Callable[..., Lab], request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Yield a lab that is not started; deleted after the test."""
    lab = make_lab("fresh", tied=False)
    yield lab
    lab.reset(Silent())


def assert_whole(lab: Lab) -> None:
    found = lab.status()
    assert (found.state, found.note) == ("running", "")
    with kube(lab) as client:
        assert client.get_object("v1", "ConfigMap", "kept", "default") is not None


# --- a running lab


def test_a_bare_lab_is_ready(lab: Lab) -> None:
    found = lab.status()
    assert found.state == "running"
    assert [component.name for component in found.processes] == [*COMPONENTS]
    assert all(component.ready and component.memory_mib > 10 for component in found.processes)
    with kube(lab) as client:
        assert client.version().startswith("v1.36.")
        assert client.get_object("v1", "ServiceAccount", "default", "default") is not None


def test_files_are_private(lab: Lab) -> None:
    assert stat.S_IMODE(lab.layout.root.stat().st_mode) == 0o700
    secret = [lab.kubeconfig, lab.layout.record, *lab.layout.pki.iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}


def test_requests_without_a_certificate_are_rejected(lab: Lab) -> None:
    context = ssl.create_default_context(cafile=str(lab.layout.certificate("ca")))
    database = ssl.create_default_context(cafile=str(lab.layout.certificate("etcd-ca")))
    ports = {component.name: component.port for component in lab.status().processes}
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"https://{LOOPBACK}:{ports['kube-apiserver']}/api", context=context, timeout=10)
    with pytest.raises((ssl.SSLError, OSError)):
        urllib.request.urlopen(f"https://{LOOPBACK}:{ports['etcd']}/health", context=database, timeout=10)


def test_the_simulator_may_not_read_secrets(lab: Lab) -> None:
    port = next(component.port or 0 for component in lab.status().processes if component.name == "kube-apiserver")
    assert probe.https(lab.layout, port, "/api/v1/nodes", user="kwok")[0] == 200
    assert probe.https(lab.layout, port, "/api/v1/secrets", user="kwok")[0] == 403


def test_a_second_start_changes_nothing(lab: Lab, toolchain: Toolchain) -> None:
    before = pids(lab)
    lab.start(toolchain, Silent(), started_by="somebody else")
    assert pids(lab) == before
    assert lab.status().started_by == "lab start"


# --- simulated nodes and pods


def test_pods_run_on_simulated_nodes_and_end_after_their_annotated_time(lab: Lab) -> None:
    room = {"cpu": "8", "memory": "64Gi", "pods": "20"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "simulated", "labels": {"type": "kwok", "test": "pods"}},
        "status": {"capacity": room, "allocatable": room},
    }
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}

    def pod(name: str, **annotations: str) -> dict[str, Any]:
        spec = {
            "nodeSelector": {"test": "pods"},
            "containers": [container],
            "initContainers": [container | {"name": "i"}],
        }
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    with kube(lab) as client:
        for item in (node, pod("lasting"), pod("short", **{"mlcluster.dev/run-for": "500ms"})):
            client.create(item)
        wanted = {"lasting": "Running", "short": "Succeeded"}

        def phases() -> dict[str, str]:
            found = client.list("v1", "Pod", "default")
            return {item["metadata"]["name"]: item["status"]["phase"] for item in found}

        wait_for(f"{wanted}", lambda: phases() == wanted)
        for name in wanted:
            client.delete("v1", "Pod", name, "default")
        client.delete("v1", "Node", "simulated")


# --- crashes


@pytest.mark.parametrize("component", [more_if(name, name in STARTED_LIKE_KWOK) for name in COMPONENTS])
def test_a_crashed_component_is_reported_and_restarted(own: Lab, toolchain: Toolchain, component: str) -> None:
    before = pids(own)
    kill(own, component)
    found = own.status()
    assert found.state == "crashed"
    assert component in found.note
    own.start(toolchain, Silent())
    assert_whole(own)
    after = pids(own)
    assert after[component] != before[component]
    assert {name for name in after if after[name] != before[name]} == {component}


def test_a_lab_without_processes_starts_with_its_data(own: Lab, toolchain: Toolchain) -> None:
    kill(own, *COMPONENTS)
    own.start(toolchain, Silent())
    assert_whole(own)


# --- stop and start


def test_stop_keeps_the_data(own: Lab, toolchain: Toolchain) -> None:
    running = pids(own)
    own.stop(Silent())
    assert own.status().state == "stopped"
    assert not [pid for pid in running.values() if pid and psutil.pid_exists(pid)]
    own.start(toolchain, Silent())
    assert_whole(own)
    assert own.leftovers() == {"/registry/configmaps/default/kept"}


def test_a_port_in_use_is_replaced_and_the_data_stays(own: Lab, toolchain: Toolchain) -> None:
    own.stop(Silent())
    ports = json.loads(own.layout.record.read_text())["ports"]
    with contextlib.ExitStack() as stack:
        for port in (ports["api"], ports["etcd_peer"]):
            taken = stack.enter_context(socket.socket())
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((LOOPBACK, port))
            taken.listen()
        own.start(toolchain, Silent())
        assert_whole(own)
    after = json.loads(own.layout.record.read_text())["ports"]
    assert after["api"] != ports["api"]


def test_ports_in_use_of_a_new_lab_are_replaced(make_lab: Callable[..., Lab], toolchain: Toolchain) -> None:
    """At the second attempt another port is in use."""
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        unlucky = [dataclasses.replace(Ports.free(), **{name: taken.getsockname()[1]}) for name in ("api", "scheduler")]
        chosen = iter(unlucky)
        lab = make_lab("unlucky", choose_ports=lambda: next(chosen, None) or Ports.free())
        lab.start(toolchain, Silent())
    assert next(chosen, None) is None
    assert lab.status().state == "running"
    lab.reset(Silent())


# --- starts that do not end well


@pytest.mark.parametrize("component", [more_if(name, name != "kwok") for name in ("etcd", "kube-apiserver", "kwok")])
def test_a_killed_start_is_reported_and_repeated(fresh: Lab, toolchain: Toolchain, component: str) -> None:
    with started(fresh, toolchain) as starter:
        wait_for_start(component, fresh)
        starter.kill()
    found = fresh.status()
    assert (found.state, found.note.partition(";")[0]) == ("crashed", "a start did not end")
    orphans = process.strays(fresh.layout.root, STOP_ORDER)
    assert orphans
    fresh.start(toolchain, Silent())
    assert fresh.status().state == "running"
    assert not [orphan for orphan in orphans if process.alive(orphan)]
    assert len(process.strays(fresh.layout.root, STOP_ORDER)) == len(COMPONENTS)


def test_ctrl_c_stops_the_processes_of_a_start(fresh: Lab, toolchain: Toolchain) -> None:
    with started(fresh, toolchain) as starter:
        wait_for_start("kube-apiserver", fresh)
        starter.send_signal(signal.SIGINT)
        _, said = starter.communicate(timeout=PATIENCE_SECONDS)
    assert b"InterruptedByUserError: starting lab other: the started processes were stopped again" in said
    assert process.strays(fresh.layout.root, STOP_ORDER) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_start_that_receives_sigterm_stops_its_processes(tmp_path: Path, number: signal.Signals) -> None:
    """The command itself; a start that is killed leaves processes, which the next one ends."""
    lab = Lab("told", tmp_path / "labs" / "told")
    command_line = [sys.executable, "-m", "mlcluster", "lab", "start", "--name", "told"]
    environment = {**os.environ, "MLCLUSTER_STATE_DIR": str(tmp_path)}
    with subprocess.Popen(
        command_line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, cwd=Path(__file__).parents[2]
    ) as starter:
        wait_for_start("kube-apiserver", lab)
        starter.send_signal(number)
        _, said = starter.communicate(timeout=PATIENCE_SECONDS)
    assert (starter.returncode, b"the started processes were stopped again" in said) == (130, True), said
    assert process.strays(lab.layout.root, STOP_ORDER) == []
    lab.reset(Silent())


def test_two_starts_at_once_make_one_lab_and_reset_leaves_nothing(fresh: Lab, toolchain: Toolchain) -> None:
    with started(fresh, toolchain) as first, started(fresh, toolchain) as second:
        assert [start.wait(PATIENCE_SECONDS) for start in (first, second)] == [0, 0]
    assert fresh.status().state == "running"
    assert fresh.status().started_by == "a test"
    running = process.strays(fresh.layout.root, STOP_ORDER)
    assert len(running) == len(COMPONENTS)
    fresh.reset(Silent())
    assert not fresh.layout.root.exists()
    assert fresh.status().state == "absent"
    assert not [found for found in running if process.alive(found)]


def test_a_component_that_does_not_start_is_named_with_its_log(
    fresh: Lab, toolchain: Toolchain, tmp_path: Path
) -> None:
    broken = tmp_path / "kube-scheduler"
    broken.write_text("#!/bin/sh\necho no such feature gate >&2\nexit 4\n")
    broken.chmod(0o755)
    faulty = dataclasses.replace(toolchain, binaries={**toolchain.binaries, "kube-scheduler": broken})
    with pytest.raises(StartFailed, match="no such feature gate") as caught:
        fresh.start(faulty, Silent())
    assert (caught.value.component, caught.value.code) == ("kube-scheduler", 4)
    assert caught.value.log.exists()
    assert process.strays(fresh.layout.root, STOP_ORDER) == []
    fresh.start(toolchain, Silent())
    assert fresh.status().state == "running"


# --- who may


@pytest.mark.skipif(
    os.getuid() != 0, reason="Expected for a user who is not root: the other tests of this module run as such a user"
)
def test_a_user_without_rights_can_run_a_lab(toolchain: Toolchain, tmp_path: Path) -> None:
    """As uid 65534, which may read the programs in any place; that proves nothing about the files that it writes."""
    setpriv = shutil.which("setpriv")
    assert setpriv is not None, "util-linux is needed to become another user"
    place = tmp_path / "nobody"
    place.mkdir()
    for directory in (place, *place.parents):
        if directory.owner() == "root" and "pytest" in directory.name:
            directory.chmod(0o711)
    os.chown(place, 65534, 65534)
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    user = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", *reading]
    lab = Lab("nobody", place / "lab")
    lines = [
        "lab = Lab('other', root)",
        "lab.start_kueue({'integrations': {'frameworks': ['batch/job']}}, toolchain, Silent())",
        "print(lab.status().state, *[found.name for found in lab.status().processes if found.ready])",
        "lab.reset(Silent())",
    ]
    answer = subprocess.run(
        [*user, *command(lab, toolchain, START + "\n".join(lines))],
        env={"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    assert set(answer.stdout.split()) == {"running", *COMPONENTS, "kueue"}
    assert not (place / "lab").exists()
