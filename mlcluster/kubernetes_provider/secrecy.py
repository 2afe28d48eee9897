"""Secrecy of secret inputs in outputs, in refreshed inputs, and in messages."""

import base64
import binascii
from typing import Any

from mlcluster.kubernetes_provider.values import Path, Secret, is_unknown, plain, secret_paths, secret_texts

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # kubectl stores the whole Secret in it
Object = dict[str, Any]
_SHORTEST = 6  # characters; shorter texts occur in many places by chance, and marking them would hide public values


def seal(value: Object, like: Object) -> Object:
    """Return `value` with the secret marks of `like`.

    Marks apply by path, or to a whole list whose items may have moved, and then by content, so that copies of a secret
    at other paths are marked too.
    """
    sealed: Any = value
    for path in secret_paths(like):
        sealed = _mark(sealed, path)
    texts = {text for text in secret_texts(like) if len(text) >= _SHORTEST and not is_unknown(text)}
    result: Object = _mark_texts(sealed, texts) if texts else sealed
    return result


def _mark(value: Any, path: Path) -> Any:
    if isinstance(value, Secret):
        return value
    if not path or (isinstance(path[0], int) and isinstance(value, list)):
        return Secret(plain(value))
    key = path[0]
    if isinstance(value, dict) and key in value:
        return {**value, key: _mark(value[key], path[1:])}
    return value


def _mark_texts(value: Any, texts: set[str]) -> Any:
    if isinstance(value, str):
        return Secret(value) if any(text in value for text in texts) else value
    if isinstance(value, dict):
        return {key: _mark_texts(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_mark_texts(item, texts) for item in value]
    return value


def seal_secret_object(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a Secret with its contents marked as secret; other kinds stay unchanged."""
    if manifest.get("kind") != "Secret":
        return manifest
    sealed = dict(manifest)
    for key in ("data", "stringData"):
        if key in sealed and not isinstance(sealed[key], Secret) and sealed[key] is not None:
            sealed[key] = Secret(plain(sealed[key]))
    metadata = sealed.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and isinstance(annotations.get(_LAST_APPLIED), str):
        kept = {**annotations, _LAST_APPLIED: Secret(annotations[_LAST_APPLIED])}
        sealed["metadata"] = {**sealed["metadata"], "annotations": kept}
    return sealed


def censor(message: str, *values: Any) -> str:
    """Return a message without the secrets of `values`, in plain text or base64."""
    texts = set().union(*(secret_texts(value) for value in values))
    for text in sorted(texts | {_from_base64(text) for text in texts}, key=len, reverse=True):
        if len(text) > 2 and not is_unknown(text):
            message = message.replace(text, "[secret]")
    return message


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
