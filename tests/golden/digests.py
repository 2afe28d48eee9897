"""A plan in a few dozen lines that show which part of it changed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_NAMED_BY = {"objects": "manifest.kind", "resources": "type", "pods": "owner", "arithmetic": "pool"}
"""Section -> the field by which its entries are grouped; that of the others is `name`."""


def plan_digests(document: str) -> str:
    """Return a line for each group of entries of a plan: section, group, number of entries, and digest.

    Args:
        document: the plan as JSON.
    """
    return "".join(f"{line}\n" for line in _lines(json.loads(document)))


def _lines(plan: Mapping[str, Any]) -> Iterator[str]:
    for section, content in plan.items():
        if not isinstance(content, list):
            yield f"{section} {_digest(content)}"
            continue
        groups: dict[str, list[Any]] = {}
        for entry in content:
            groups.setdefault(_group(section, entry), []).append(entry)
        for name, entries in sorted(groups.items()):
            yield f"{section} {name} {len(entries)} {_digest(entries)}"


def _group(section: str, entry: Mapping[str, Any]) -> str:
    found: Any = entry
    for key in _NAMED_BY.get(section, "name").split("."):
        found = found[key]
    return str(found)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
