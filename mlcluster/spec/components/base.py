"""The settings of every component."""

from typing import Annotated, Any

from pydantic import Field

from mlcluster.spec.base import Doc, SpecModel

ChartVersion = Annotated[str, Field(pattern=r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.+-]+)?$", max_length=64)]


class ChartComponent(SpecModel):
    """A component that a Helm chart installs."""

    install: bool = True
    """Install the component. With `false`, mlcluster expects an existing installation and does not change it."""
    version: Annotated[ChartVersion | None, Doc(example="1.2.3", default="the version that the catalog pins")] = None
    """Version of the Helm chart. mlcluster is tested with the pinned version only."""
    values: Annotated[
        dict[str, Any], Field(max_length=200), Doc(example={"resources": {"limits": {"memory": "1Gi"}}}, key="VALUE")
    ] = Field(default_factory=dict)
    """Additional Helm values. Values that mlcluster manages cannot be changed (finding CMP001). Components without a
    chart have no values."""
