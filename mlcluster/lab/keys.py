"""The keys that a lab stores in etcd. `down` compares them with a baseline to prove that no resource is left."""

import base64
import json
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.lab import probe
from mlcluster.lab.layout import Layout

IGNORED = ("/registry/events/", "/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/")
"""Prefixes of temporary keys: events expire after an hour, and leases are heartbeats."""

_IN_EVERY_NAMESPACE = ("/registry/serviceaccounts/{}/default", "/registry/configmaps/{}/kube-root-ca.crt")
_FIRST, _END = "/registry/", "/registry0"  # "0" follows "/": everything below the prefix
_PAGE = 5000


def stored(layout: Layout, port: int) -> frozenset[str]:
    """Return every key below /registry/ without its value, from etcd's JSON gateway.

    Raises:
        MlclusterError: etcd returns an error.
    """
    found: set[str] = set()
    start = _FIRST
    while True:
        answer = _range(layout, port, start)
        names = [base64.b64decode(entry["key"]).decode() for entry in answer.get("kvs", [])]
        found.update(names)
        if not answer.get("more") or not names:
            return frozenset(found)
        start = f"{names[-1]}\0"


def lasting(names: frozenset[str]) -> frozenset[str]:
    """Return the names without temporary keys."""
    return frozenset(name for name in names if not name.startswith(IGNORED))


def has_whole_namespaces(names: frozenset[str]) -> bool:
    """Return whether there are namespaces, each with the objects that controllers create in every namespace."""
    spaces = [name.rpartition("/")[2] for name in names if name.startswith("/registry/namespaces/")]
    return bool(spaces) and all(place.format(space) in names for space in spaces for place in _IN_EVERY_NAMESPACE)


def _range(layout: Layout, port: int, start: str) -> dict[str, Any]:
    body = {"key": _text(start), "range_end": _text(_END), "keys_only": True, "limit": _PAGE}
    try:
        status, content = probe.etcd(layout, port, "/v3/kv/range", body=body, seconds=60)
    except OSError as error:
        raise MlclusterError("listing what the lab stores", f"etcd does not respond: {error}") from error
    if status != 200:
        raise MlclusterError("listing what the lab stores", f"etcd returned HTTP {status}: {content[:300]!r}")
    answer: dict[str, Any] = json.loads(content)
    return answer


def _text(key: str) -> str:
    return base64.b64encode(key.encode()).decode()
