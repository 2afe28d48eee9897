"""The RPC Check: the program's inputs in the form that the state stores. Pure."""

import base64
import hashlib
from typing import Any, NamedTuple

from mlcluster.kubernetes_provider.preview import AUTONAMED
from mlcluster.kubernetes_provider.secrecy import seal_secret_object
from mlcluster.kubernetes_provider.shape import to_sdk
from mlcluster.kubernetes_provider.values import UNKNOWN, Secret, is_unknown, plain

Object = dict[str, Any]
Problem = tuple[str, str]  # property, reason


class Checked(NamedTuple):
    inputs: Object
    problems: list[Problem]


def check(type_token: str, urn: str, inputs: Object, old_inputs: Object, seed: bytes) -> Checked:
    """Fill in kind and name, normalize the spelling of CRDs, and mark the contents of a Secret as secret.

    Args:
        type_token: `kubernetes:apps/v1:Deployment`.
        urn: its last part is the resource's name in the program.
        inputs: the inputs, with secret marks.
        old_inputs: the inputs of the last run; a generated name does not change.
        seed: the engine's random seed, with which preview and up generate the same name.
    """
    result = {**kind_of(type_token), **inputs}
    problems = [(key, "is missing") for key in ("apiVersion", "kind") if not result.get(key)]
    if type_token.endswith("Patch"):
        problems.append(("kind", "Patch resources are not supported by the built-in provider"))
    if result.get("kind") == "CustomResourceDefinition" or not result.get("status"):
        result.pop("status", None)  # generators write an empty one, and the server owns the status of a CRD
    metadata = result.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        named, wrong = _named(metadata or {}, urn, plain(old_inputs), seed)
        result["metadata"] = named
        problems += wrong
    result = to_sdk(result)
    if result.get("kind") == "Secret":
        result = seal_secret_object(_one_data(result))
    return Checked(result, problems)


def kind_of(type_token: str) -> Object:
    """Return apiVersion and kind of a type token; {} for a CustomResource."""
    _, _, rest = type_token.partition(":")
    group, _, kind = rest.rpartition(":")
    if not kind or "/" not in group:
        return {}  # the inputs of a CustomResource contain both
    return {"apiVersion": group.removeprefix("core/"), "kind": kind}


def _named(metadata: Object, urn: str, old: Object, seed: bytes) -> tuple[Object, list[Problem]]:
    if metadata.get("name"):
        return metadata, []
    if metadata.get("generateName"):
        return metadata, [("metadata.generateName", "is not supported by the built-in provider; set a name")]
    earlier = old.get("metadata")
    earlier = earlier if isinstance(earlier, dict) else {}
    automatic = (earlier.get("annotations") or {}).get(AUTONAMED) == "true"
    name = str(earlier.get("name") or "") if automatic else ""
    annotations = metadata.get("annotations")
    marked = {**(annotations if isinstance(annotations, dict) else {}), AUTONAMED: "true"}
    return {**metadata, "name": name or _automatic(urn, seed), "annotations": marked}, []


def _automatic(urn: str, seed: bytes) -> str:
    word = hashlib.sha256(seed or urn.encode()).hexdigest()[:8]
    return f"{urn.rpartition('::')[2]}-{word}".lower()


def _one_data(manifest: Object) -> Object:
    """Move `stringData` into `data` as the API server does, because drift in it would be invisible otherwise."""
    texts = plain(manifest.get("stringData"))
    if not isinstance(texts, dict) or is_unknown(plain(manifest.get("data"))):
        return manifest
    encoded = {key: UNKNOWN if is_unknown(text) else _base64(text) for key, text in texts.items()}
    merged = {**(plain(manifest.get("data")) or {}), **encoded}
    kept = {key: value for key, value in manifest.items() if key != "stringData"}
    return {**kept, "data": Secret(merged)}


def _base64(text: Any) -> str:
    return base64.b64encode(str(text).encode()).decode()
