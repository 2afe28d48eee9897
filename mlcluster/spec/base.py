"""The base of every spec model, and the field types that several models share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
DURATION = r"^([0-9]+(s|m|h))+$"
RESOURCE_NAME = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"


TargetKind = Literal["eks", "existing", "local"]


class UnknownValueError(Exception):
    """A field without a valid value was read; only models of `spec.partial` have such fields."""


@dataclass(frozen=True, slots=True, eq=False)
class Doc:
    """Facts about a field that its type does not express; the reference page and the JSON Schema show them.

    Attributes:
        example: a valid value; None without an example.
        unit: the unit of a number, in the plural: "MiB", "seconds".
        default: the effective default in words, if it is computed.
        targets: the targets that support the field; empty for every target.
        key: the placeholder for the keys of a mapping: "POOL".
    """

    example: Any = None
    unit: str = ""
    default: str = ""
    targets: tuple[TargetKind, ...] = ()
    key: str = ""


def doc_of(field: FieldInfo) -> Doc:
    """Return the `Doc` of a field; an empty `Doc` if the field has none."""
    return next((entry for entry in field.metadata if isinstance(entry, Doc)), Doc())


Gp3Iops = Annotated[
    Annotated[int, Field(ge=3000, le=80_000)] | None, Doc(example=6000, unit="IOPS", default="3000, set by AWS")
]
"""Provisioned I/O operations of an EBS gp3 volume (EBS user guide, "General Purpose SSD volumes")."""

Gp3Throughput = Annotated[
    Annotated[int, Field(ge=125, le=2000)] | None, Doc(example=500, unit="MiB/s", default="125, set by AWS")
]
"""Provisioned throughput of an EBS gp3 volume."""


class SpecModel(BaseModel):
    """Base of the spec models: strict types, frozen, camelCase keys, and no unknown keys.

    The string below a field is its description. `spec.schema` reads these strings from the source code when they are
    needed, because pydantic would read them at every start.
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

    if not TYPE_CHECKING:  # otherwise a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            """Raise `UnknownValueError` for a field without a value."""
            if name in type(self).model_fields:
                raise UnknownValueError(name)
            return super().__getattr__(name)


Name = Annotated[str, Field(pattern=LABEL, min_length=1, max_length=40)]
"""A DNS label of at most 40 characters: it becomes a Kubernetes name and a part of longer names."""

Quantity = Annotated[str, Field(pattern=QUANTITY, max_length=32)]
"""A Kubernetes quantity as a string: "1500m" or "64Gi"."""

Duration = Annotated[str, Field(pattern=DURATION, max_length=32)]
"""A Go duration in hours, minutes and seconds: "90s", "5m" or "1h30m"."""

KubernetesVersion = Annotated[str, Field(pattern=r"^1\.[0-9]{2}$")]
"""A minor version of Kubernetes as a string: "1.34"."""

ZoneName = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$")]
"""The name of an availability zone: us-west-2a."""

KubernetesProvider = Literal["official", "builtin"]
"""The Pulumi provider that applies the Kubernetes objects of a stack; it cannot change for an existing stack."""

Count = Annotated[int, Field(ge=0, le=1_000_000)]


def shape_of(value: Any) -> str:
    """Return the tag of the union branch for a value: word, list or mapping, so that only its errors are reported.

    The tags are parts of the paths in pydantic's errors; no key of a spec can equal a tag.
    """
    if isinstance(value, str):
        return "<word>"
    return "<list>" if isinstance(value, list) else "<mapping>"


BY_SHAPE = Discriminator(shape_of)
WORD = Tag("<word>")
LIST = Tag("<list>")
MAPPING = Tag("<mapping>")
