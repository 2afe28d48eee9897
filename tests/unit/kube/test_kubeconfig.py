import base64
import datetime as dt
import json
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mlcluster.errors import MlclusterError
from mlcluster.kube.kubeconfig import read_kubeconfig

pytestmark = pytest.mark.unit


def config(user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "home"}},
            {"name": "two", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def text(user: dict[str, Any] | None = None, **cluster: Any) -> str:
    return json.dumps(config(user, **cluster))


def certificate() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "someone")])
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    form, no = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return pem, key.private_bytes(serialization.Encoding.PEM, form, no)


def test_the_current_context_and_a_chosen_one() -> None:
    one, two = read_kubeconfig(text()), read_kubeconfig(text(), "two")
    assert (one.server, one.context, one.namespace) == ("https://127.0.0.1:6443", "one", "home")
    assert (two.context, two.namespace) == ("two", "default")
    assert two.document["current-context"] == "two"


def test_a_wrong_context_has_a_hint_with_the_existing_ones() -> None:
    with pytest.raises(MlclusterError, match="no context 'three'") as caught:
        read_kubeconfig(text(), "three")
    assert caught.value.hint == "Choose one of its contexts: one, two."


def test_yaml_text_and_a_broken_one_that_does_not_quote_its_lines() -> None:
    assert read_kubeconfig("\n" + text()).context == "one"
    with pytest.raises(MlclusterError, match="not YAML at line 2") as caught:
        read_kubeconfig("a: 1\n  b: [hunter2\n")
    assert "hunter2" not in str(caught.value)


def test_relative_paths_belong_to_the_file(tmp_path: Path) -> None:
    pem, key = certificate()
    (tmp_path / "pki").mkdir()
    for name, content in (("ca", pem), ("crt", pem), ("key", key)):
        (tmp_path / "pki" / name).write_bytes(content)
    user = {"client-certificate": "pki/crt", "client-key": "pki/key"}
    (tmp_path / "config").write_text(text(user, **{"certificate-authority": "pki/ca"}))
    access = read_kubeconfig(tmp_path / "config")
    assert isinstance(access.tls, ssl.SSLContext)
    assert access.tls.cert_store_stats()["x509"] == 1
    assert access.document["users"][0]["user"]["client-key"] == str(tmp_path / "pki/key")


def test_certificate_data_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pem, key = (base64.b64encode(item).decode() for item in certificate())
    read_kubeconfig(text({"client-certificate-data": pem, "client-key-data": key}))
    assert list(tmp_path.iterdir()) == []


def test_insecure_skips_the_check() -> None:
    access = read_kubeconfig(text(None, **{"insecure-skip-tls-verify": True}))
    assert access.tls is not None
    assert access.tls.verify_mode == ssl.CERT_NONE


def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    access = read_kubeconfig(text({"tokenFile": str(path)}))
    assert access.token() == "first"
    path.write_text("second")
    assert access.token() == "second"
    assert "second" not in repr(access)


def plugin(tmp_path: Path, status: str, exit_code: int = 0) -> dict[str, Any]:
    script = tmp_path / "plugin.py"
    counter = tmp_path / "count"
    script.write_text(
        f"import json, os, sys\nfrom pathlib import Path\ncount = Path({str(counter)!r})\n"
        f"n = int(count.read_text()) + 1\ncount.write_text(str(n))\n"
        f"assert json.loads(os.environ['KUBERNETES_EXEC_INFO'])['kind'] == 'ExecCredential'\n"
        f"print(json.dumps({{'status': {status}}}))\nprint('it broke', file=sys.stderr)\nsys.exit({exit_code})\n"
    )
    counter.write_text("0")
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(script)],
        "env": [{"name": "SALT", "value": "s"}],
    }


@pytest.mark.parametrize(("expires", "runs"), [("2999-01-01T00:00:00Z", "1"), ("2000-01-01T00:00:00Z", "2")])
def test_an_exec_token_is_kept_until_it_expires(tmp_path: Path, expires: str, runs: str) -> None:
    spec = plugin(tmp_path, f"{{'token': os.environ['SALT'] + str(n), 'expirationTimestamp': '{expires}'}}")
    access = read_kubeconfig(text({"exec": spec}))
    assert access.token() == "s1"
    assert access.token() == f"s{runs}"
    assert (tmp_path / "count").read_text() == runs


def test_a_failing_or_missing_exec_plugin_is_an_error(tmp_path: Path) -> None:
    failing = read_kubeconfig(text({"exec": plugin(tmp_path, "{}", exit_code=3)}))
    with pytest.raises(MlclusterError, match="failed with exit code 3: it broke"):
        failing.token()
    missing = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin", "installHint": "get it"}
    with pytest.raises(MlclusterError, match="not installed") as caught:
        read_kubeconfig(text({"exec": missing})).token()
    assert caught.value.hint == "get it"


def test_files_of_kubeconfig_are_merged_and_the_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = config()
    second["contexts"][1]["name"], second["current-context"] = "three", "three"
    (tmp_path / "a").write_text(text())
    (tmp_path / "b").write_text(json.dumps(second))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert read_kubeconfig("").context == "one"
    assert read_kubeconfig("", "three").context == "three"


@pytest.mark.parametrize(
    ("user", "cluster", "sentence"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, "no longer supports"),
        ({}, {"server": "127.0.0.1"}, "no usable server address"),
        ({"client-certificate-data": "%%"}, {}, "not base64"),
        ({"client-certificate-data": "QQ==", "client-key-data": "QQ=="}, {}, "not valid PEM"),
    ],
)
def test_unusable_kubeconfigs_are_refused(user: dict[str, Any], cluster: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MlclusterError, match=sentence):
        read_kubeconfig(text(user, **cluster))
