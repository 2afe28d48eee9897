"""Subjects of practical guides to machine learning on Kubernetes, and the spec entries for each (guide.json)."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Topic:
    """A tool or setting that guides recommend.

    Attributes:
        name: as guides call it.
        components: names of the components that provide it.
        asks: the spec entries for it, as YAML.
        spec: the whole spec that a test takes through `validate` and `plan`, relative to the project's root.
        shows: part of the plan -> text in it that proves the effect.
        tested: test files that try it, relative to the project's root.
    """

    name: str
    components: tuple[str, ...]
    asks: str
    spec: str
    shows: dict[str, Any]
    tested: tuple[str, ...]


@cache
def topics() -> tuple[Topic, ...]:
    """Return every topic, in the order of the page."""
    text = Path(__file__).with_name("guide.json").read_text("utf-8")
    return tuple(
        Topic(
            entry["name"],
            tuple(entry["components"]),
            entry["asks"],
            entry["spec"],
            entry["shows"],
            tuple(entry["tested"]),
        )
        for entry in json.loads(text)
    )
