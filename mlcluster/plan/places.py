"""Spec paths as the plan writes them ("teams[0].guarantee"), as the tuples that findings carry."""

import re

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def place(spec_path: str) -> tuple[str | int, ...]:
    """("teams", 0, "guarantee") for "teams[0].guarantee"."""
    return tuple(key or int(index) for key, index in _PART.findall(spec_path))
