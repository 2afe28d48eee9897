"""The README's first screen: its spec is valid, and the plan that it shows is the plan that it gets."""

import re
from pathlib import Path

import pytest

from mlcluster.plan import build
from mlcluster.report.plan_text import plan_text
from mlcluster.spec.load import parse

pytestmark = pytest.mark.golden


def test_first_screen_is_true(project_root: Path) -> None:
    readme = (project_root / "README.md").read_text("utf-8")
    spec = re.search(r"^```yaml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    shown = re.search(r"^```\n\$ mlcluster plan\n(.*?)^\.\.\.\n```", readme, re.MULTILINE | re.DOTALL)
    assert spec is not None
    assert shown is not None
    plan = build(parse(spec[1].encode(), "README.md").spec)
    assert shown[1] in plan_text(plan, width=132)
