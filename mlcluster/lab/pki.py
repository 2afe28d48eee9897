"""Certificates of a lab: one authority, client certificates for each process, and those of webhooks.

The subject of a client certificate contains the user name and the groups that RBAC uses.
"""

import datetime as dt
import ipaddress
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mlcluster.lab.ports import LOOPBACK

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
FIRST_SERVICE_ADDRESS = "10.96.0.1"
WEBHOOK_SECRET_FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")
_LOCAL = (LOOPBACK, "localhost")
_FORMER = tuple(f"{name}.{kind}" for name in ("etcd", "etcd-client", "kwok-server") for kind in ("crt", "key"))
"""Files that the authority of the API server signed for etcd and kwok in an older mlcluster."""
_YEARS_10 = dt.timedelta(days=3650)
_CLOCK_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class Subject:
    """The subject of a certificate: common name (user), organizations (groups), and the names that it serves."""

    user: str
    groups: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()


SERVING = {
    # Also the serving certificate of the controller manager and the scheduler.
    "apiserver": Subject(
        "kube-apiserver",
        serves=(
            *_LOCAL,
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            FIRST_SERVICE_ADDRESS,
        ),
    ),
}
CLIENTS = {
    "kubelet-client": Subject("kube-apiserver-kubelet-client", ("system:masters",)),
    "admin": Subject("lab-admin", ("system:masters",)),
    "controllers": Subject("system:kube-controller-manager"),
    "scheduler": Subject("system:kube-scheduler"),
    "kwok": Subject("lab:kwok", ("lab:simulators",)),
}
USERS = ("admin", "controllers", "scheduler", "kwok")  # the users with a kubeconfig

ETCD_AUTHORITY, ETCD_PEER_AUTHORITY = "etcd-ca", "etcd-peer-ca"
ETCD_CLIENT = "apiserver-etcd-client"
ETCD = {
    "etcd-server": (ETCD_AUTHORITY, Subject("etcd", serves=_LOCAL)),
    ETCD_CLIENT: (ETCD_AUTHORITY, Subject("kube-apiserver-etcd-client")),
    "etcd-peer": (ETCD_PEER_AUTHORITY, Subject("etcd-peer", serves=_LOCAL)),
}
"""Certificates of etcd by file name, each with its authority.

etcd has no users: each certificate of its authorities gives access to the whole database. Therefore these authorities
sign no other certificates, and the authority of the API server signs none for etcd.
"""


class Authority:
    """A certificate authority with a new EC P-256 key, or the given one."""

    def __init__(self, name: str, *, key: Key | None = None, serves: Iterable[str] = ()) -> None:
        self.key: Key = key or ec.generate_private_key(ec.SECP256R1())
        self.name = _name(Subject(name))
        builder = _builder(self.name, self.name, self.key, serves)
        self.certificate = (
            builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def issue(self, subject: Subject, *, key: Key | None = None) -> tuple[x509.Certificate, Key]:
        """Return a certificate for client and server use, and its private key."""
        own: Key = key or ec.generate_private_key(ec.SECP256R1())
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        certificate = (
            _builder(_name(subject), self.name, own, subject.serves)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return certificate, own


def files() -> dict[str, bytes]:
    """Return new contents of all files of a lab's `pki/` directory, name -> PEM."""
    authority, front_proxy = Authority("lab-ca"), Authority("lab-front-proxy-ca")
    made = {"ca.crt": pem(authority.certificate), "front-proxy-ca.crt": pem(front_proxy.certificate)}
    for name, subject in (SERVING | CLIENTS).items():
        made |= _pair(name, *authority.issue(subject))
    made |= _pair("front-proxy", *front_proxy.issue(Subject("front-proxy-client")))
    signer = rsa.generate_private_key(65537, 2048)  # the API server signs service account tokens with RS256
    public = signer.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return made | etcd_files() | {"sa.key": private_pem(signer), "sa.pub": public}


def etcd_files() -> dict[str, bytes]:
    """Return new contents of the files of `ETCD` and of its two authorities, name -> PEM."""
    authorities = {name: Authority(f"lab-{name}") for name in (ETCD_AUTHORITY, ETCD_PEER_AUTHORITY)}
    made = {f"{name}.crt": pem(authority.certificate) for name, authority in authorities.items()}
    for name, (authority, subject) in ETCD.items():
        made |= _pair(name, *authorities[authority].issue(subject))
    return made


def complete(directory: Path) -> None:
    """Add the certificates of etcd to the `pki/` directory of a lab that an older mlcluster created.

    If a file is missing, the whole set is replaced, because the keys of its authorities are not stored.
    """
    certificates = [f"{name}.crt" for name in (ETCD_AUTHORITY, ETCD_PEER_AUTHORITY, *ETCD)]
    if not all((directory / name).exists() for name in (*certificates, *(f"{name}.key" for name in ETCD))):
        write(directory, etcd_files())
    for name in _FORMER:
        (directory / name).unlink(missing_ok=True)


def webhook_files() -> dict[str, bytes]:
    """Return the certificate of a webhook server on this host (tls.crt, tls.key), with its authority (ca.crt)."""
    authority = Authority("lab-webhook-ca")
    certificate, key = authority.issue(Subject("lab-webhook", serves=_LOCAL))
    return {"ca.crt": pem(authority.certificate), "tls.crt": pem(certificate), "tls.key": private_pem(key)}


def kueue_files() -> dict[str, bytes]:
    """Return Kueue's webhook certificate, by the names of its Secret.

    Kueue's certificate rotator keeps existing files only if the authority serves the DNS name `kueue-ca`, the
    certificate is for the webhook service, and the keys are RSA in PKCS#1. The API server calls 127.0.0.1.
    """
    authority = Authority("kueue-ca", key=rsa.generate_private_key(65537, 2048), serves=["kueue-ca"])
    service = "kueue-webhook-service.kueue-system.svc"
    certificate, key = authority.issue(
        Subject(service, serves=(service, *_LOCAL)), key=rsa.generate_private_key(65537, 2048)
    )
    pkcs1 = serialization.PrivateFormat.TraditionalOpenSSL
    contents = pem(authority.certificate), private_pem(authority.key, pkcs1), pem(certificate), private_pem(key, pkcs1)
    return dict(zip(WEBHOOK_SECRET_FILES, contents, strict=True))


def write(directory: Path, contents: Mapping[str, bytes]) -> None:
    """Write files that only their owner can read into a directory that only its owner can access."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, content in contents.items():
        write_private(directory / name, content)


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically with mode 0600, independent of the umask."""
    fresh = path.with_name(f".{path.name}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    fresh.replace(path)


def pem(certificate: x509.Certificate) -> bytes:
    """Return the certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def private_pem(key: Key, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8) -> bytes:
    """Return the private key as unencrypted PEM; the file's mode protects it."""
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _pair(name: str, certificate: x509.Certificate, key: Key) -> dict[str, bytes]:
    return {f"{name}.crt": pem(certificate), f"{name}.key": private_pem(key)}


def _name(subject: Subject) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, subject.user)])


def _builder(subject: x509.Name, issuer: x509.Name, key: Key, serves: Iterable[str]) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _YEARS_10)
    )
    names = [_general_name(name) for name in serves]
    return builder.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else builder


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
