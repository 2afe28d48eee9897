"""Files of a lab that another user of the machine can read, and requests that an impostor on its ports receives."""

import base64
import contextlib
import os
import re
import signal
import socket
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.lab import pki, record
from mlcluster.lab.lab import Lab
from mlcluster.lab.ports import LOOPBACK
from mlcluster.lab.process import _INHERITED
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.conftest import KUEUE_CONFIG
from tests.strangers import as_root, shell_as_stranger
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def guarded(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a lab with Kueue that was started with an open umask and a secret in the environment."""
    lab = make_lab("guarded")
    os.environ["SECRET_OF_THE_CALLER"] = "open sesame"
    before = os.umask(0)
    try:
        lab.start(toolchain, Silent())
        lab.start_kueue(KUEUE_CONFIG, toolchain, Silent())
    finally:
        os.umask(before)
        del os.environ["SECRET_OF_THE_CALLER"]
    yield lab
    lab.reset(Silent())


def files_of(lab: Lab) -> list[Path]:
    return [path for path in lab.layout.root.rglob("*") if path.is_file()]


def secrets_of(lab: Lab) -> set[str]:
    """Return lines of private keys, plain and as kubeconfigs hold them, and tokens."""
    keys = [path for path in files_of(lab) if path.suffix == ".key"]
    lines = {line for path in keys for line in path.read_text().splitlines() if "-----" not in line and len(line) > 30}
    whole = {base64.b64encode(path.read_bytes()).decode()[:60] for path in keys}
    configs = "".join(path.read_text() for path in lab.layout.root.glob("*.kubeconfig"))
    tokens = set(re.findall(r'"token": "([^"]+)', configs))
    assert lines
    assert tokens
    return lines | whole | tokens


def processes_of(lab: Lab) -> list[psutil.Process]:
    return [psutil.Process(found.pid) for found in lab.status().processes]


# --- files and processes


def test_only_the_owner_can_enter_the_directory_and_no_file_is_open_to_all(guarded: Lab) -> None:
    assert stat.S_IMODE(guarded.layout.root.stat().st_mode) == 0o700
    assert not [path for path in files_of(guarded) if path.stat().st_mode & 0o002]
    closed = [*guarded.layout.pki.iterdir(), *guarded.layout.logs.iterdir(), *guarded.layout.root.glob("*.kubeconfig")]
    closed += [path for path in files_of(guarded) if path.suffix in {".key", ".json"}]
    assert {stat.S_IMODE(path.stat().st_mode) for path in closed} == {0o600}


def test_no_command_line_and_no_environment_holds_a_secret(guarded: Lab) -> None:
    secrets = secrets_of(guarded)
    for one in processes_of(guarded):
        said = " ".join(one.cmdline())
        assert not [secret for secret in secrets if secret in said]
        assert set(one.environ()) <= {*_INHERITED, "PWD", "SHLVL", "_", "OLDPWD"}
        assert "open sesame" not in str(one.environ())


def test_no_log_and_no_record_holds_a_secret(guarded: Lab) -> None:
    secrets = secrets_of(guarded)
    for path in [*guarded.layout.logs.iterdir(), guarded.layout.record, guarded.layout.scheduler_config]:
        text = path.read_text(errors="replace")
        assert not [secret for secret in secrets if secret in text], path


@as_root
def test_another_user_reads_no_file_of_a_lab_and_no_environment(guarded: Lab) -> None:
    for parent in guarded.layout.root.parents:
        if "pytest" in str(parent):
            parent.chmod(0o711)
    pid = processes_of(guarded)[0].pid
    wanted = [guarded.kubeconfig, guarded.layout.key("admin"), guarded.layout.record, Path(f"/proc/{pid}/environ")]
    for path in [*wanted, guarded.layout.root]:
        done = shell_as_stranger('if [ -d "$1" ]; then ls "$1"; else cat "$1"; fi', str(path))
        assert (done.returncode != 0, done.stdout) == (True, ""), path
        assert "Permission denied" in done.stderr


@as_root
def test_another_user_can_neither_end_nor_trace_a_process_of_a_lab(guarded: Lab) -> None:
    for one in processes_of(guarded):
        done = shell_as_stranger('kill -TERM "$1"; kill -STOP "$1"; cat /proc/"$1"/mem', str(one.pid))
        assert done.stderr.lower().count("not permitted") == 2, done.stderr
        assert done.returncode != 0
    assert guarded.status().state == "running"


# --- impostors


@dataclass
class Impostor:
    """A TLS server on a former port of a lab component that keeps the requests it receives."""

    port: int
    certificate: Path
    key: Path
    connections: int = 0
    heard: list[bytes] = field(default_factory=list)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        with socket.create_server((LOOPBACK, self.port)) as listener:
            listener.settimeout(0.2)
            over = threading.Event()
            thread = threading.Thread(target=self._listen, args=(listener, context, over))
            thread.start()
            yield
            over.set()
            thread.join(PATIENCE_SECONDS)

    def _listen(self, listener: socket.socket, context: ssl.SSLContext, over: threading.Event) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                accepted, _ = listener.accept()
                self.connections += 1
                accepted.settimeout(2)
                with context.wrap_socket(accepted, server_side=True) as talk:
                    self.heard.append(talk.recv(4096))


def impostor(directory: Path, port: int) -> Impostor:
    """Return one whose certificate has the right names, from an authority of its own."""
    authority = pki.Authority("lab-ca")
    certificate, key = authority.issue(pki.SERVING["apiserver"])
    pki.write(directory, {"a.crt": pki.pem(certificate), "a.key": pki.private_pem(key)})
    return Impostor(port, directory / "a.crt", directory / "a.key")


def test_an_impostor_on_the_port_of_a_dead_webhook_sees_no_object(guarded: Lab, tmp_path: Path) -> None:
    current = record.load(guarded.layout)
    assert current is not None
    known, running = current.controller("kueue"), current.process("kueue")
    assert known is not None
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(running.pid)] if psutil.pid_exists(running.pid) else [], PATIENCE_SECONDS)
    false = impostor(tmp_path, known.ports["webhook"])
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "secret-name"}}
    with false.at_work(), Kube.from_kubeconfig(guarded.kubeconfig) as kube, pytest.raises(MlclusterError, match="x509"):
        kube.create(flavor)
    assert false.connections
    assert not b"".join(false.heard)


def test_an_impostor_on_the_port_of_a_kubelet_receives_no_request(guarded: Lab, tmp_path: Path) -> None:
    """Simulated nodes have no kubelet, so each user could listen where the API server looks for one."""
    with socket.create_server((LOOPBACK, 0)) as free:
        port: int = free.getsockname()[1]
    false = impostor(tmp_path, port)
    addresses = [{"type": "InternalIP", "address": LOOPBACK}]
    status = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "false"}, "status": status}
    spec = {"nodeName": "false", "containers": [{"name": "main", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "false", "namespace": "default"}, "spec": spec}
    with Kube.from_kubeconfig(guarded.kubeconfig) as kube:
        kube.create(node)
        kube.create(pod)
        with false.at_work(), pytest.raises(MlclusterError, match="x509"):
            kube.request("GET", "/api/v1/namespaces/default/pods/false/log")
        kube.delete("v1", "Pod", "false", "default")
        kube.delete("v1", "Node", "false")
    assert false.connections
    assert not b"".join(false.heard)


def test_an_impostor_on_the_port_of_a_stopped_api_server_gets_no_credentials(guarded: Lab, tmp_path: Path) -> None:
    current = record.load(guarded.layout)
    assert current is not None
    guarded.stop(Silent())
    false = impostor(tmp_path, current.ports.api)
    with false.at_work():
        for user in ("admin", "kueue"):  # one has a certificate, the other a token
            with Kube.from_kubeconfig(guarded.layout.kubeconfig(user)) as kube, pytest.raises(MlclusterError):
                kube.version()
    assert false.connections >= 2
    assert not b"".join(false.heard)
