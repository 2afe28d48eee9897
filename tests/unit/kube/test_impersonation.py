"""Impersonation by a kubeconfig: all requests carry its headers, also those of the built-in provider and of Helm."""

import json
from typing import Any

import httpx
import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.impersonation import impersonation
from mlcluster.kube.kubeconfig import read_kubeconfig
from mlcluster.kubernetes_provider.configuration import Settings
from mlcluster.kubernetes_provider.servicer import open_kube
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit
EVE = {
    "as": "eve",
    "as-uid": "1234",
    "as-groups": ["ml", "all"],
    "as-user-extra": {"scopes": ["a", "b"], "acme.com/project": ["x"]},
}
HEADERS = (
    ("Impersonate-User", "eve"),
    ("Impersonate-Uid", "1234"),
    ("Impersonate-Group", "ml"),
    ("Impersonate-Group", "all"),
    ("Impersonate-Extra-scopes", "a"),
    ("Impersonate-Extra-scopes", "b"),
    ("Impersonate-Extra-acme.com%2Fproject", "x"),
)


def config(user: dict[str, Any]) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": user}],
    }
    return json.dumps(document)


def test_a_user_impersonates_another() -> None:
    assert read_kubeconfig(config({**EVE, "token": "t"})).impersonation == HEADERS
    assert read_kubeconfig(config({"token": "t"})).impersonation == ()


@pytest.mark.parametrize(("key", "name"), [("a%b", "a%25b"), ("ä b", "%C3%A4%20b"), ("a_b-c~", "a_b-c~")])
def test_a_key_is_escaped_for_the_server(key: str, name: str) -> None:
    found = impersonation({"as": "eve", "as-user-extra": {key: ["x"]}})
    assert found[1:] == ((f"Impersonate-Extra-{name}", "x"),)


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"as-groups": ["ml"]}, "without `as`"),
        ({"as-uid": "1"}, "without `as`"),
        ({"as-user-extra": {"a": ["b"]}}, "without `as`"),
        ({"as": 5}, "`as` of its user"),
        ({"as": "eve\r\nImpersonate-Group: system:masters"}, "`as` of its user"),
        ({"as": "eve", "as-groups": "ml"}, "`as-groups` of its user"),
        ({"as": "eve", "as-groups": [["ml"]]}, "`as-groups` of its user"),
        ({"as": "eve", "as-user-extra": ["a"]}, "`as-user-extra` of its user"),
        ({"as": "eve", "as-user-extra": {"a": "b"}}, "`as-user-extra` of its user"),
    ],
)
def test_invalid_impersonation_is_refused(user: dict[str, Any], words: str) -> None:
    with pytest.raises(MlclusterError, match=words):
        read_kubeconfig(config(user))


def test_every_request_impersonates_and_one_may_override_it() -> None:
    server = FakeApiServer()
    with server.kube(impersonation=HEADERS) as kube:
        kube.can("get", "", "pods")
        kube.list("v1", "Node")
        kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
        kube.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}}, as_user="ann"
        )
    *ours, last = server.calls
    assert len(ours) > 3
    for call in ours:
        told = [(name.title(), value) for name, value in call.headers.multi_items() if name.startswith("impersonate-")]
        assert told == [(name.title(), value) for name, value in HEADERS]
    assert last.headers.get_list("Impersonate-User") == ["ann"]
    assert "Impersonate-Group" not in last.headers


def test_a_user_name_outside_ascii() -> None:
    server = FakeApiServer()
    with server.kube(impersonation=(("Impersonate-User", "jürgen"),)) as kube:
        kube.list("v1", "Node")
    assert dict(server.calls[-1].headers.raw)[b"Impersonate-User"] == "jürgen".encode()


def test_the_built_in_provider_and_helm_impersonate_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[httpx.Headers] = []

    def answer(_: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200, json={"gitVersion": "v1.36.3"})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    kube: Kube = open_kube(Settings(kubeconfig=config(EVE)))
    with kube:
        assert kube.version() == "v1.36.3"
        (user,) = json.loads(kube.kubeconfig_text())["users"]
    assert seen[0]["Impersonate-User"] == "eve"
    assert seen[0].get_list("Impersonate-Group") == ["ml", "all"]
    assert user["user"] == EVE, "helm reads these fields itself"
