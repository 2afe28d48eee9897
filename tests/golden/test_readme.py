"""The README's first screen: its spec is valid, and the plan that it shows is the plan that it gets."""

import re
from pathlib import Path

import pytest

from mlcluster.plan import build
from mlcluster.report.plan_text import plan_text
from mlcluster.spec.load import parse
from tests.golden.test_eks_documentation import PAGES as WITHOUT_A_LAB
from tests.lab.test_documentation import PAGES as IN_A_LAB
from tests.lab.test_documentation import TUTORIAL

pytestmark = pytest.mark.golden


def test_first_screen_is_true(project_root: Path) -> None:
    readme = (project_root / "README.md").read_text("utf-8")
    spec = re.search(r"^```yaml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    shown = re.search(r"^```\n\$ mlcluster plan\n(.*?)^\.\.\.\n```", readme, re.MULTILINE | re.DOTALL)
    assert spec is not None
    assert shown is not None
    plan = build(parse(spec[1].encode(), "README.md").spec)
    assert shown[1] in plan_text(plan, width=132)


def test_every_page_with_commands_is_run_by_a_test(project_root: Path) -> None:
    pages = [project_root / "README.md", *(project_root / "docs").rglob("*.md")]
    with_commands = {str(page.relative_to(project_root)) for page in pages if "```sh\n" in page.read_text("utf-8")}
    assert with_commands <= {*IN_A_LAB, *WITHOUT_A_LAB, TUTORIAL}
    assert {*WITHOUT_A_LAB, TUTORIAL, "README.md", "docs/lab.md"} <= with_commands
