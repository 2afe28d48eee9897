"""Values inside inputs and manifests that are known, or take their final form, only when the engine runs.

They stand in the nested dicts of the plan beside plain values. `written` shows them as a reader sees them; `resolved`
turns them into what is sent, with whatever the caller knows of the references.
"""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """An output of another resource of the plan: its id, and the output's name as Pulumi spells it ("arn", "id")."""

    resource: str
    output: str

    def __str__(self) -> str:
        return f"${{{self.resource}.{self.output}}}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Text made of fixed parts and references."""

    parts: tuple["str | Ref", ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class JsonText:
    """A document that is sent as JSON text, e.g. an IAM policy; references may stand in it."""

    document: Any


@dataclass(frozen=True, slots=True)
class Base64Text:
    """Text that is sent in base64, e.g. user data; it holds no references."""

    text: str


Lookup = Callable[[Ref], Any]


def printable(value: Any) -> Any:
    """Return the value for output: `${id.output}` for references, {"$json": ...} and {"$base64": ...} for texts."""
    match value:
        case Ref() | Joined():
            return str(value)
        case JsonText(document):
            return {"$json": printable(document)}
        case Base64Text(text):
            return {"$base64": text}
        case dict():
            return {key: printable(part) for key, part in value.items()}
        case list() | tuple():
            return [printable(part) for part in value]
        case _:
            return value


def references(value: Any) -> Iterator[Ref]:
    """Yield every reference inside a value, in the order of its text."""
    match value:
        case Ref():
            yield value
        case Joined(parts):
            yield from (part for part in parts if isinstance(part, Ref))
        case JsonText(document):
            yield from references(document)
        case dict():
            for part in value.values():
                yield from references(part)
        case list() | tuple():
            for part in value:
                yield from references(part)
        case _:
            return


def resolved(value: Any, lookup: Lookup) -> Any:  # noqa: PLR0911 -- one return for each kind of value
    """Return the value as it is sent, when every reference is known.

    Args:
        lookup: the value of a reference; what it raises comes through.
    """
    match value:
        case Ref():
            return lookup(value)
        case Joined(parts):
            return "".join(part if isinstance(part, str) else str(lookup(part)) for part in parts)
        case JsonText(document):
            return json.dumps(resolved(document, lookup), sort_keys=True)
        case Base64Text(text):
            return base64.b64encode(text.encode()).decode()
        case dict():
            return {key: resolved(part, lookup) for key, part in value.items()}
        case list() | tuple():
            return [resolved(part, lookup) for part in value]
        case _:
            return value
