"""Finds the Pulumi output behind a reference to a resource of this run.

During a preview everything that does not exist yet stays unknown, however deep it lies: nothing here asks a provider's
echo of the inputs for a key that only the finished resource has.
"""

import re
from typing import Any, cast

import pulumi

from mlcluster.plan.values import Ref

SELF = "self"
"""As the output of a reference: the resource itself, where a component takes one (serviceRole of eks:index:Cluster)."""


def steps(path: str) -> list[str | int]:
    """Return the parts of an output's path: "resources[0].name" is ["resources", 0, "name"].

    Raises:
        ValueError: the text is no path.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*(\[\d+\]|\.[A-Za-z_]\w*)*", path):
        raise ValueError(f"{path!r} is no output")
    return [int(part) if part.isdigit() else part for part in re.findall(r"\w+", path)]


def first(ref: Ref) -> str:
    """Return the name of the whole output that a reference reads from."""
    return str(steps(ref.output)[0])


def output_of(resource: pulumi.Resource, ref: Ref) -> Any:
    """What a reference means, on the resource that it names.

    Args:
        resource: registered with `first(ref)` among its properties.
        ref: its output is "id", "self" or a path.

    Raises:
        ValueError: a component was asked for its id.
    """
    top, *rest = steps(ref.output)
    if ref.output == SELF:
        return resource
    if top == "id" and not isinstance(resource, pulumi.CustomResource):
        raise ValueError(f"{ref}: a component has no id")
    value = resource.id if top == "id" else resource.__dict__[str(top)]
    return value.apply(lambda known: _walked(known, rest, ref))


def _walked(value: Any, path: list[str | int], ref: Ref) -> Any:
    """Follows a path into an output, through resources too; what is not there yet is unknown during a preview."""
    for done, step in enumerate(path):
        if isinstance(value, pulumi.Resource):
            return _property(value, str(step)).apply(lambda known, rest=path[done + 1 :]: _walked(known, rest, ref))
        value = _part(value, step)
    if value is None:
        if pulumi.runtime.is_dry_run():
            return pulumi.UNKNOWN
        raise ValueError(f"{ref} has no value: there is no such output, or AWS gave none")
    return int(value) if isinstance(value, float) and value.is_integer() else value  # numbers arrive as floats


def _part(value: Any, step: str | int) -> Any:
    match value, step:
        case dict(), str():
            return value.get(_attribute(type(value), step) or step)
        case list(), int() if step < len(value):
            return value[step]
        case _:
            return None


def _property(resource: pulumi.Resource, name: str) -> pulumi.Output[Any]:
    """Return an output of a resource that a component returned; ValueError when its type has none of this name."""
    if name == "id":
        return resource.id
    attribute = _attribute(type(resource), name)
    if attribute is None:
        raise ValueError(f"{type(resource).__name__} has no output {name}")
    return cast("pulumi.Output[Any]", getattr(resource, attribute))


def _attribute(of: type, name: str) -> str | None:
    """What a class of an SDK calls a property that Pulumi calls `name`; None for plain dicts."""
    for attribute, found in vars(of).items():
        if isinstance(found, property) and (getattr(found.fget, "_pulumi_name", None) or attribute) == name:
            return attribute
    return None
