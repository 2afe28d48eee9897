"""docs/air-gapped.md is made from the catalog: `--update-golden` writes it."""

from pathlib import Path

import pytest

from docs.generators.air_gapped_page import air_gapped_page
from mlcluster.catalog.components import pins

pytestmark = pytest.mark.golden


def test_the_page_is_the_catalogs(project_root: Path, *, update_golden: bool) -> None:
    page = project_root / "docs" / "air-gapped.md"
    if update_golden:
        page.write_text(air_gapped_page(), "utf-8")
    assert page.read_text("utf-8") == air_gapped_page()


def test_the_page_names_every_chart() -> None:
    page = air_gapped_page()
    for pin in pins().values():
        if pin.chart:
            assert f"`{pin.chart.rpartition('/')[2]}` | {pin.version} |" in page
