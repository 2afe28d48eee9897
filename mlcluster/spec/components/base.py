"""What every component of a spec can say."""

from typing import Annotated, Any

from pydantic import Field

from mlcluster.spec.base import SpecModel

ChartVersion = Annotated[str, Field(pattern=r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.+-]+)?$", max_length=64)]


class ChartComponent(SpecModel):
    """A component that a Helm chart brings."""

    install: bool = True
    """false: it is there already, and mlcluster works with it and leaves it alone."""
    version: ChartVersion | None = None
    """Version of the chart; default: the catalogue's pin, whose facts were checked."""
    values: Annotated[dict[str, Any], Field(max_length=200)] = Field(default_factory=dict)
    """More Helm values; those that mlcluster sets itself cannot be changed."""
