"""docs/spec.md: generated from the models, complete, and with an anchor for every field."""

from collections import Counter
from pathlib import Path

import pytest

from docs.generators.spec_page import anchor, headings, spec_page
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.field_reference import all_fields

pytestmark = pytest.mark.golden


def test_the_page_is_up_to_date(project_root: Path, *, update_golden: bool) -> None:
    page = project_root / "docs" / "spec.md"
    if update_golden:
        page.write_text(spec_page(), "utf-8")
    assert page.read_text("utf-8") == spec_page()


def test_every_field_has_a_heading() -> None:
    lines = spec_page().splitlines()
    shown = {line.strip("# `").partition(" (")[0] for line in lines if line.startswith("#")}
    common = {f"components.{field.key}" for field in all_fields() if len(field.path) == 2}
    for field in all_fields():
        in_common = (
            len(field.path) == 3
            and f"components.{field.path[1]}" in common
            and field.key in ChartComponent.model_fields
        )
        name = f"components.COMPONENT.{field.key}" if in_common and field.path[0] == "components" else field.name
        assert name in shown, field.name


def test_anchors_are_unique() -> None:
    assert [name for name, count in Counter(map(anchor, headings())).items() if count > 1] == []
