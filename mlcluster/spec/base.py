"""The base of every spec model, and the field types that several models share."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
DURATION = r"^([0-9]+(s|m|h))+$"
RESOURCE_NAME = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"


class UnknownValueError(Exception):
    """A field was read whose value has a wrong shape; only models of `spec.partial` have such fields."""


class SpecModel(BaseModel):
    """Strict, frozen, camelCase, and closed: an unknown key is an error.

    The text below a field describes it; `spec.schema` reads these texts, which takes pydantic too long at every start.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        defer_build=True,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=False,
    )

    if not TYPE_CHECKING:  # a type checker would take every attribute for known

        def __getattr__(self, name: str) -> Any:
            """Raise `UnknownValueError` for a field that has no value."""
            if name in type(self).model_fields:
                raise UnknownValueError(name)
            return super().__getattr__(name)


Name = Annotated[str, Field(pattern=LABEL, min_length=1, max_length=40)]
"""A name that becomes a Kubernetes name and part of longer ones: DNS label, at most 40 characters."""

Quantity = Annotated[str, Field(pattern=QUANTITY, max_length=32)]
"""A Kubernetes quantity as a string: "1500m", "64Gi"."""

Duration = Annotated[str, Field(pattern=DURATION, max_length=32)]
"""A Go duration in seconds, minutes, hours: "90s", "5m", "1h30m"."""

KubernetesVersion = Annotated[str, Field(pattern=r"^1\.[0-9]{2}$")]
"""A minor version as a string: "1.34"."""

ZoneName = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$")]
"""An availability zone by name: us-west-2a."""

KubernetesProvider = Literal["official", "builtin"]
"""Which Pulumi provider writes the Kubernetes objects of a stack; a stack never changes from one to the other."""

Count = Annotated[int, Field(ge=0, le=1_000_000)]


def shape_of(value: Any) -> str:
    """Which branch of a "word, list or mapping" union a value belongs to, so that only its errors are told.

    The tags stand in the paths of pydantic's errors; no key of a spec looks like one.
    """
    if isinstance(value, str):
        return "<word>"
    return "<list>" if isinstance(value, list) else "<mapping>"


BY_SHAPE = Discriminator(shape_of)
WORD = Tag("<word>")
LIST = Tag("<list>")
MAPPING = Tag("<mapping>")
