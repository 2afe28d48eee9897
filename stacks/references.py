"""Replaces references of the plan by values: outputs of this run, or exports of another stack."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pulumi

from mlcluster.plan.values import Joined, JsonText, Ref, references, resolved

Find = Callable[[Ref], Any]
"""The value of a reference: a plain value, a pulumi.Output, or a resource."""

Values = Mapping[str, Mapping[str, Any]]
"""The export `values` of the AWS stack: {resource id: {output: value}}."""


def sent(value: Any, find: Find) -> Any:
    """Return a value of the plan for the SDK: plain data, with outputs for values that are not known yet.

    Args:
        find: its exceptions are not caught.
    """
    if not any(isinstance(find(ref), pulumi.Output | pulumi.Resource) for ref in references(value)):
        return resolved(value, find)
    match value:
        case Ref():
            return find(value)
        case Joined(parts):
            known = [part if isinstance(part, str) else find(part) for part in parts]
            return pulumi.Output.from_input(known).apply(_as_text)
        case JsonText(document):
            return pulumi.Output.from_input(sent(document, find)).apply(_as_json)
        case dict():
            return {key: sent(part, find) for key, part in value.items()}
        case _:
            return [sent(part, find) for part in value]


def _as_text(parts: Iterable[Any]) -> str:
    return "".join(map(str, parts))  # the SDK's concat takes no numbers


def _as_json(document: Any) -> str:
    return json.dumps(document, sort_keys=True)


def exported(values: Values) -> Find:
    """Looks up references in the exports of the AWS stack.

    During a preview, a value that is not exported yet is unknown: its change is part of the preview.

    Raises:
        ValueError: from the function, outside of a preview.
    """

    def find(ref: Ref) -> Any:
        if ref.output in values.get(ref.resource, {}):
            return values[ref.resource][ref.output]
        if pulumi.runtime.is_dry_run():
            return pulumi.Output.from_input(pulumi.UNKNOWN)
        raise ValueError(f"the stack of the cloud has not exported {ref}")

    return find
