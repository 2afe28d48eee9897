"""Certificates of a lab."""

import ipaddress
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from mlcluster.lab import pki

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return pki.files()


@pytest.fixture(scope="module")
def kueue_files() -> dict[str, bytes]:
    return pki.kueue_files()


def certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def names(found: x509.Certificate) -> tuple[list[str], list[str]]:
    served = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = served.get_values_for_type(x509.IPAddress)
    return served.get_values_for_type(x509.DNSName), [str(address) for address in addresses]


@pytest.mark.parametrize("name", [*pki.SERVING, *pki.CLIENTS])
def test_every_certificate_is_signed_by_the_authority_and_matches_its_key(files: dict[str, bytes], name: str) -> None:
    found = certificate(files[f"{name}.crt"])
    found.verify_directly_issued_by(certificate(files["ca.crt"]))
    key = load_pem_private_key(files[f"{name}.key"], None)
    assert key.public_key() == found.public_key()
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(("name", "user", "groups"), [
    ("admin", "lab-admin", ["system:masters"]),
    ("controllers", "system:kube-controller-manager", []),
    ("scheduler", "system:kube-scheduler", []),
])  # fmt: skip
def test_the_subject_contains_the_rbac_user_and_groups(
    files: dict[str, bytes], name: str, user: str, groups: list[str]
) -> None:
    subject = certificate(files[f"{name}.crt"]).subject
    assert [entry.value for entry in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [user]
    assert sorted(str(entry.value) for entry in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)) == groups


def test_the_front_proxy_has_its_own_authority(files: dict[str, bytes]) -> None:
    """Its certificates allow impersonation of any user, so it must not be the main authority."""
    found = certificate(files["front-proxy.crt"])
    found.verify_directly_issued_by(certificate(files["front-proxy-ca.crt"]))
    assert files["front-proxy-ca.crt"] != files["ca.crt"]


def test_the_private_key_of_an_authority_is_not_stored(files: dict[str, bytes]) -> None:
    assert not {"ca.key", "front-proxy-ca.key"} & set(files)


@pytest.mark.parametrize("name", pki.SERVING)
def test_server_certificates_are_for_loopback(files: dict[str, bytes], name: str) -> None:
    dns, addresses = names(certificate(files[f"{name}.crt"]))
    assert "localhost" in dns
    assert "127.0.0.1" in addresses
    assert all(ipaddress.ip_address(address).is_private for address in addresses)


def test_kueues_rotator_accepts_its_certificate(kueue_files: dict[str, bytes]) -> None:
    authority, found = certificate(kueue_files["ca.crt"]), certificate(kueue_files["tls.crt"])
    assert names(authority) == (["kueue-ca"], [])
    dns, addresses = names(found)
    assert "kueue-webhook-service.kueue-system.svc" in dns
    assert addresses == ["127.0.0.1"]
    found.verify_directly_issued_by(authority)


@pytest.mark.parametrize("name", ["ca.key", "tls.key"])
def test_kueues_keys_are_rsa_in_pkcs1(kueue_files: dict[str, bytes], name: str) -> None:
    assert kueue_files[name].startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert isinstance(load_pem_private_key(kueue_files[name], None), rsa.RSAPrivateKey)


def test_files_are_private(tmp_path: Path) -> None:
    pki.write(tmp_path / "pki", {"a.key": b"x"})
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "pki" / "a.key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "pki").iterdir()] == ["a.key"]


def test_a_readable_file_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o644)
    pki.write_private(tmp_path / "a", b"new")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", pki.ETCD)
def test_the_authorities_of_etcd_sign_only_for_etcd(files: dict[str, bytes], name: str) -> None:
    """Etcd accepts every certificate of its trusted authority."""
    own, _ = pki.ETCD[name]
    found = certificate(files[f"{name}.crt"])
    found.verify_directly_issued_by(certificate(files[f"{own}.crt"]))
    for other in {"ca", "front-proxy-ca", pki.ETCD_AUTHORITY, pki.ETCD_PEER_AUTHORITY} - {own}:
        with pytest.raises((InvalidSignature, ValueError)):
            found.verify_directly_issued_by(certificate(files[f"{other}.crt"]))


def test_a_directory_of_an_older_version_gets_etcd_certificates_once(tmp_path: Path) -> None:
    former = {"ca.crt": b"kept", "etcd.crt": b"a", "etcd.key": b"b", "etcd-client.crt": b"c", "etcd-client.key": b"d"}
    pki.write(tmp_path, former)
    pki.complete(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made.pop("ca.crt") == b"kept"
    assert set(made) == set(pki.etcd_files())
    pki.complete(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in made} == made


@pytest.mark.parametrize("lost", ["etcd-ca.crt", "etcd-peer.key", "etcd-server.key"])
def test_an_incomplete_set_is_replaced_as_a_whole(tmp_path: Path, lost: str) -> None:
    pki.complete(tmp_path)
    before = (tmp_path / "etcd-peer.crt").read_bytes()
    (tmp_path / lost).unlink()
    pki.complete(tmp_path)
    assert (tmp_path / "etcd-peer.crt").read_bytes() != before
    assert (tmp_path / lost).exists()
