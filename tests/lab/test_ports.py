"""Attacks of another user of the machine on the ports of a lab: every listening socket and its answers.

A connection to loopback carries no user, so an attack without credentials is the same from each user. A new open port,
or a new answer on a known one, fails these tests until `OPEN` names it with a reason.
"""

import dataclasses
import http.client
import json
import ssl
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab import pki, probe, record
from mlcluster.lab.lab import Lab
from mlcluster.lab.ports import LOOPBACK
from mlcluster.lab.toolchain import Toolchain, ensure_optional
from mlcluster.progress import Silent
from tests.lab.workloads import config_map, pids
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

SECONDS = 5.0
JOB_CONTROLLERS = ("jobset", "kubeflow-trainer", "mpi-operator", "kuberay-operator")
KUEUE_CONFIG = {"integrations": {"frameworks": ["batch/job"]}, "featureGates": {"VisibilityOnDemand": True}}

LISTENERS = {
    "etcd": 2,  # clients, peers
    "kube-apiserver": 1,
    "kube-controller-manager": 1,
    "kube-scheduler": 1,
    "kwok": 0,
    "jobset": 2,  # webhooks, health
    "kubeflow-trainer": 2,
    "mpi-operator": 1,  # health
    "kuberay-operator": 1,
    "kueue": 4,  # webhooks, health, metrics, visibility
}
OK = "says ok"
OPEN = {
    "kube-controller-manager": {"/healthz": OK},
    "kube-scheduler": {"/healthz": OK, "/readyz": OK, "/livez": OK},
    "jobset": {"/healthz": OK, "/readyz": OK},
    "kubeflow-trainer": {"/healthz": OK, "/readyz": OK},
    "mpi-operator": {"/healthz": OK},
    "kuberay-operator": {"/healthz": OK, "/readyz": OK},
    "kueue": {"/healthz": OK, "/readyz": OK, "/livez": OK, "/version": "the version of a library, from visibility"},
}
"""Requests that are answered without credentials, by component and path, with the reason."""

WEBHOOKS = {"jobset", "kubeflow-trainer", "kueue"}
"""Components whose webhooks answer: they take no client certificate. An answer changes nothing that is stored."""

ASKED = (
    "/", "/healthz", "/readyz", "/livez", "/health", "/metrics", "/version", "/configz", "/statusz", "/flagz",
    "/debug/pprof/", "/debug/flags/v", "/debug/vars", "/logs/", "/api", "/apis", "/api/v1/secrets", "/openapi/v2",
    "/members", "/raft/probing", "/v2/keys", "/discovery/prometheus", "/pods", "/stats/summary", "/metrics/resource",
    "/exec/default/a/b", "/attach/default/a/b", "/portForward/default/a", "/containerLogs/default/a/b",
    "/apis/visibility.kueue.x-k8s.io/v1beta2", "/.well-known/openid-configuration", "/openid/v1/jwks",
)  # fmt: skip


@pytest.fixture(scope="module")
def crowded(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a lab with every controller that it can run."""
    lab = make_lab("crowded")
    lab.start(toolchain, Silent())
    for name, program in ensure_optional(JOB_CONTROLLERS, Silent()).items():
        lab.start_controller(name, {}, program, Silent())
    lab.start_kueue(KUEUE_CONFIG, toolchain, Silent())
    yield lab
    lab.reset(Silent())


def listeners(lab: Lab) -> dict[str, list[tuple[str, int]]]:
    """Return address and port of each listening socket of the lab's processes and their children, by component."""
    found: dict[str, list[tuple[str, int]]] = {}
    for component in lab.status().processes:
        root = psutil.Process(component.pid)
        sockets = [c for one in (root, *root.children(recursive=True)) for c in one.net_connections("inet")]
        found[component.name] = [c.laddr[:2] for c in sockets if c.status == psutil.CONN_LISTEN or not c.raddr]
    return found


def ask(
    port: int, path: str, *, tls: bool, certificate: tuple[Path, Path] | None = None, body: bytes | None = None
) -> tuple[int, bytes]:
    """Return status and content; status 0 when the connection or the handshake was refused.

    The caller trusts each server, as an attacker would.
    """
    connection: http.client.HTTPConnection
    if tls:
        context = ssl._create_unverified_context()  # noqa: S323 - what an attacker does
        if certificate is not None:
            context.load_cert_chain(*certificate)
        connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=SECONDS)
    else:
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=SECONDS)
    try:
        connection.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(4096)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def port_of(lab: Lab, name: str) -> int:
    found = record.load(lab.layout)
    assert found is not None
    port: int = getattr(found.ports, name)
    return port


def certificate(lab: Lab, name: str) -> tuple[Path, Path]:
    return lab.layout.certificate(name), lab.layout.key(name)


# --- everything that listens


def test_each_component_listens_only_on_documented_ports(crowded: Lab) -> None:
    found = listeners(crowded)
    assert {name: len(sockets) for name, sockets in found.items()} == LISTENERS
    assert {address for sockets in found.values() for address, _ in sockets} == {LOOPBACK}


def test_requests_without_credentials_get_only_documented_answers(crowded: Lab) -> None:
    answered: dict[str, set[str]] = {}
    for name, sockets in listeners(crowded).items():
        for _, port in sockets:
            for tls in (True, False):
                found = {path for path in ASKED if 200 <= ask(port, path, tls=tls)[0] < 400}
                answered[name] = answered.get(name, set()) | found
    allowed = {name: set(paths) for name, paths in OPEN.items()}
    assert {name: paths for name, paths in answered.items() if paths} == allowed


def test_open_endpoints_disclose_nothing_about_the_cluster(crowded: Lab) -> None:
    for name, sockets in listeners(crowded).items():
        for path in (path for path, reason in OPEN.get(name, {}).items() if reason == OK):
            for _, port in sockets:
                for tls in (True, False):
                    status, content = ask(port, path, tls=tls)
                    assert status != 200 or len(content) <= 4, (name, path, content)  # "ok" or nothing


def test_webhooks_answer_a_stranger_and_change_nothing(crowded: Lab) -> None:
    """Known exception: other users learn whether a webhook would admit an object. No other program has such a port."""
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "a"}}
    with Kube.from_kubeconfig(crowded.kubeconfig) as kube:
        hooks = [
            hook["clientConfig"]["url"]
            for kind in ("Mutating", "Validating")
            for item in kube.list("admissionregistration.k8s.io/v1", f"{kind}WebhookConfiguration")
            for hook in item["webhooks"]
        ]
        before = crowded.keys()
        paths = {url.partition(f"{LOOPBACK}:")[2].partition("/")[2] for url in hooks}
        answered = {
            name
            for name, sockets in listeners(crowded).items()
            for _, port in sockets
            for path in paths
            if ask(port, f"/{path}", tls=True, body=json.dumps(review).encode())[0] == 200
        }
        assert answered == WEBHOOKS
        assert {key for key in crowded.keys() ^ before if not key.startswith("/registry/leases/")} == set()


def test_metrics_of_kueue_and_the_control_plane_need_a_login(crowded: Lab) -> None:
    refused: dict[str, set[int]] = {}
    for name, sockets in listeners(crowded).items():
        refused[name] = {ask(port, "/metrics", tls=True)[0] for _, port in sockets}
    assert all(200 not in statuses for statuses in refused.values()), refused


# --- etcd

STRANGERS = ("nobody", "admin", "kwok", "controllers", "scheduler", "kubelet-client", "apiserver", "front-proxy")
RANGE = json.dumps({"key": "AA==", "range_end": "AA==", "keys_only": True}).encode()


@pytest.mark.parametrize("stranger", [*STRANGERS, "etcd-peer"])
def test_only_the_api_server_has_access_to_etcd(lab: Lab, stranger: str) -> None:
    """The certificate of each kubeconfig opened it: the API server's authority was the database's, too."""
    given = None if stranger == "nobody" else certificate(lab, stranger)
    port = port_of(lab, "etcd")
    for path, body in (("/v3/kv/range", RANGE), ("/metrics", None), ("/version", None), ("/health", None)):
        assert ask(port, path, tls=True, certificate=given, body=body) == (0, b""), path
        assert ask(port, path, tls=False, body=body)[0] in {0, 400}, path
    assert ask(port, "/v3/kv/range", tls=True, certificate=certificate(lab, pki.ETCD_CLIENT), body=RANGE)[0] == 200


@pytest.mark.parametrize("stranger", [*STRANGERS, pki.ETCD_CLIENT, "etcd-server"])
def test_only_etcd_is_accepted_as_a_peer_of_etcd(lab: Lab, stranger: str) -> None:
    """One forged message at /raft made each user of the machine the administrator of the cluster."""
    given = None if stranger == "nobody" else certificate(lab, stranger)
    port = port_of(lab, "etcd_peer")
    for path, body in (("/raft", b"forged"), ("/members", None), ("/version", None), ("/raft/probing", None)):
        assert ask(port, path, tls=True, certificate=given, body=body) == (0, b""), path
        assert ask(port, path, tls=False, body=body)[0] in {0, 400}, path
    assert ask(port, "/version", tls=True, certificate=certificate(lab, "etcd-peer"))[0] == 200


@pytest.mark.parametrize("client", ["etcd-peer", pki.ETCD_CLIENT, "etcd-server", "front-proxy"])
def test_certificates_of_other_authorities_are_no_login_at_the_api_server(lab: Lab, client: str) -> None:
    status, _ = ask(port_of(lab, "api"), "/api", tls=True, certificate=certificate(lab, client))
    assert status in {0, 401}


def test_headers_of_the_front_proxy_need_its_certificate(lab: Lab) -> None:
    """An administrator by header alone; the holder of a client certificate may not claim to be the front proxy."""
    context = ssl.create_default_context(cafile=str(lab.layout.certificate("ca")))
    context.load_cert_chain(*certificate(lab, "kwok"))
    connection = http.client.HTTPSConnection(LOOPBACK, port_of(lab, "api"), context=context, timeout=SECONDS)
    connection.request("GET", "/api/v1/secrets", headers={"X-Remote-User": "eve", "X-Remote-Group": "system:masters"})
    assert connection.getresponse().status == 403
    connection.close()


# --- labs that an older mlcluster made


@pytest.fixture
def old(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a running lab with one object."""
    lab = make_lab("old")
    lab.start(toolchain, Silent())
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        kube.create(config_map("kept"))
    yield lab
    lab.reset(Silent())


def assert_protected_and_whole(lab: Lab) -> None:
    assert (lab.status().state, lab.status().note) == ("running", "")
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        assert kube.get_object("v1", "ConfigMap", "kept", "default") is not None
    assert ask(port_of(lab, "etcd_peer"), "/members", tls=False)[0] in {0, 400}
    assert {stat.S_IMODE(path.stat().st_mode) for path in lab.layout.pki.iterdir()} == {0o600}


def test_a_stopped_lab_without_etcd_certificates_creates_them_at_start(old: Lab, toolchain: Toolchain) -> None:
    old.stop(Silent())
    for name in pki.etcd_files():
        (old.layout.pki / name).unlink()
    old.start(toolchain, Silent())
    assert_protected_and_whole(old)


def test_a_running_lab_with_outdated_command_lines_is_reported_and_restarted(old: Lab, toolchain: Toolchain) -> None:
    """As after an upgrade of mlcluster: its etcd listens to peers without TLS, and its kwok has a port."""
    current = record.load(old.layout)
    assert current is not None
    former = [
        dataclasses.replace(known, argv=tuple(argument for argument in known.argv if "peer-" not in argument))
        if known.name == "etcd"
        else known
        for known in current.processes
    ]
    record.save(old.layout, dataclasses.replace(current, processes=tuple(former)))
    found, before = old.status(), pids(old)
    assert found.state == "degraded"
    assert "an older mlcluster started etcd; `mlcluster lab start" in found.note
    old.start(toolchain, Silent())
    assert {name for name, pid in pids(old).items() if pid != before[name]} == {"etcd"}
    wait_for("the API server finds its database", lambda: not probe_trouble(old))
    assert_protected_and_whole(old)


def probe_trouble(lab: Lab) -> bool:
    return probe.https(lab.layout, port_of(lab, "api"), "/readyz")[0] != 200
