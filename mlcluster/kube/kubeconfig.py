"""Kubeconfigs: address, TLS settings and credentials of the API server.

Format: kubernetes.io/docs/reference/config-api/kubeconfig.v1. client-go 1.26 removed basic passwords and
`auth-provider`; they are an error here.
"""

import base64
import binascii
import json
import os
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.exec_credential import ExecCredential
from mlcluster.kube.impersonation import Headers, impersonation

_DOING = "reading the kubeconfig"
_TOKEN_FILE_HINT = "Set `tokenFile` to a readable file."  # noqa: S105 - a hint, not a password


@dataclass(frozen=True)
class Access:
    """The address and credentials of one API server.

    Attributes:
        server: address without a trailing slash.
        token: returns the bearer token for the next request, "" if a certificate authenticates the user.
        document: the kubeconfig reduced to this context, with absolute paths, for tools such as helm.
        impersonation: headers of every request, if the user impersonates another.
    """

    server: str
    context: str
    namespace: str
    tls: ssl.SSLContext | None
    token: Callable[[], str] = field(repr=False)
    proxy: str | None
    server_name: str
    document: dict[str, Any] = field(repr=False)
    impersonation: Headers = ()


def read_kubeconfig(source: Path | str, context: str | None = None) -> Access:
    """Return the access that a kubeconfig describes.

    Args:
        source: a path, its text (YAML or JSON), or "" for `$KUBECONFIG` or `~/.kube/config`.
        context: name of the context; None means `current-context`.

    Raises:
        MlclusterError: unreadable, not a kubeconfig, no such context, or invalid credentials.
    """
    config, name = _documents(source), context
    contexts = _named(config, "contexts", "context")
    name = name or str(config.get("current-context") or "")
    if name not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        what = f"there is no context '{name}'" if name else "no current-context is set"
        raise MlclusterError(_DOING, what, f"Choose one of its contexts: {known}.")
    chosen = contexts[name]
    cluster = _pick(config, "clusters", "cluster", chosen.get("cluster"), name)
    user = _pick(config, "users", "user", chosen.get("user"), name) if chosen.get("user") else {}
    return _access(name, chosen, cluster, user)


def _access(name: str, chosen: dict[str, Any], cluster: dict[str, Any], user: dict[str, Any]) -> Access:
    server = str(cluster.get("server") or "").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise MlclusterError(_DOING, f"context '{name}' has no usable server address: '{server}'")
    tls: ssl.SSLContext | None = _tls(cluster, user) if server.startswith("https://") else None
    return Access(
        server=server,
        context=name,
        namespace=str(chosen.get("namespace") or "default"),
        tls=tls,
        token=_token_source(user, cluster, tls),
        proxy=cluster.get("proxy-url") or None,
        server_name=str(cluster.get("tls-server-name") or ""),
        document={
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": chosen}],
            "clusters": [{"name": chosen.get("cluster"), "cluster": cluster}],
            "users": [{"name": chosen.get("user"), "user": user}] if chosen.get("user") else [],
        },
        impersonation=impersonation(user),
    )


def _documents(source: Path | str) -> dict[str, Any]:
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        return _parse(source, "the text given")
    paths = [Path(source).expanduser()] if str(source) not in {"", "."} else _default_paths()
    merged: dict[str, Any] = {"contexts": [], "clusters": [], "users": []}
    for path in paths:
        config = _absolute(_parse(_text(path), str(path)), path.resolve().parent)
        merged["current-context"] = merged.get("current-context") or config.get("current-context")
        for part in ("contexts", "clusters", "users"):
            merged[part] += config.get(part) or []
    return merged


def _default_paths() -> list[Path]:
    listed = [Path(item) for item in os.environ.get("KUBECONFIG", "").split(os.pathsep) if item]
    return [path for path in listed if path.exists()] or listed[:1] or [Path("~/.kube/config").expanduser()]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise MlclusterError(_DOING, f"{path}: {reason}", "Set KUBECONFIG to a readable file.") from None


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = _yaml(text, where)
    if not isinstance(parsed, dict):
        raise MlclusterError(_DOING, f"{where} is not a kubeconfig")
    return parsed


def _yaml(text: str, where: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        # The parser quotes the line, which can contain a key, so the error contains only its number.
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise MlclusterError(_DOING, f"{where} is not YAML{line}") from None


def _absolute(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    for part, inner, keys in (
        ("clusters", "cluster", ("certificate-authority",)),
        ("users", "user", ("client-certificate", "client-key", "tokenFile")),
    ):
        for item in _named(config, part, inner).values():
            for key in keys:
                if item.get(key):
                    item[key] = str(folder / item[key])
    return config


def _named(config: dict[str, Any], part: str, inner: str) -> dict[str, dict[str, Any]]:
    entries = [item for item in config.get(part) or [] if isinstance(item, dict) and item.get("name")]
    return {str(item["name"]): item.get(inner) or {} for item in reversed(entries)}


def _pick(config: dict[str, Any], part: str, inner: str, name: Any, context: str) -> dict[str, Any]:
    entries = _named(config, part, inner)
    if str(name) not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise MlclusterError(
            _DOING, f"context '{context}' names the {inner} '{name}', which is missing", f"Choose one of {known}."
        )
    return entries[str(name)]


def _tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = _pem(cluster, "certificate-authority")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
        if certificate and key:
            load_client_certificate(context, certificate, key)
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise MlclusterError(_DOING, "its certificates or key are not valid PEM, or do not belong together") from None
    return context


def load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate into a context, through a short-lived file (0600), because Python reads only files."""
    with tempfile.NamedTemporaryFile() as pem:  # created 0600 by the standard library
        pem.write(certificate.rstrip() + b"\n" + key)
        pem.flush()
        context.load_cert_chain(pem.name)


def _pem(entry: dict[str, Any], key: str) -> bytes:
    data, path = entry.get(f"{key}-data"), entry.get(key)
    try:
        if data:
            return base64.b64decode(str(data), validate=True)
        return Path(path).read_bytes() if path else b""
    except binascii.Error:
        raise MlclusterError(_DOING, f"{key}-data is not base64") from None
    except OSError as error:
        raise MlclusterError(_DOING, f"{key}: {path}: {error.strerror}") from None


def _token_source(user: dict[str, Any], cluster: dict[str, Any], tls: ssl.SSLContext | None) -> Callable[[], str]:
    if user.get("auth-provider") or user.get("username"):
        raise MlclusterError(
            _DOING, "Kubernetes no longer supports auth-provider and passwords", "Use an exec plugin or a token."
        )
    if user.get("exec"):

        def certificate(chain: bytes, key: bytes) -> None:
            if tls is not None:
                load_client_certificate(tls, chain, key)

        return ExecCredential(user["exec"], cluster, certificate).token
    if user.get("token"):
        fixed = str(user["token"])
        return lambda: fixed
    if user.get("tokenFile"):  # read each time, because projected tokens are replaced
        path = Path(user["tokenFile"])
        return lambda: _token_file(path)
    return lambda: ""


def _token_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise MlclusterError(_DOING, f"{path}: {error.strerror}", _TOKEN_FILE_HINT) from None
