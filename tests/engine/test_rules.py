"""The rules of `plan.observe` under promtool: they parse, and each alert fires when it should and only then.

tests/rules holds promtool's own test files, one for each group of alerts, for the cluster of `tests.observed`. There is
no list of rule files in them: this module renders the rules, and puts their names and order in.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.lab.toolchain import ensure_optional
from mlcluster.plan.observe.dashboards import dashboards
from mlcluster.plan.observe.rules import rule_spec
from mlcluster.report.progress import for_terminal
from tests.observed import Watched

RULES = Path(__file__).parents[1] / "rules"
FILES = sorted(RULES.glob("*.yaml"))
VARIABLES = {"$__range": "1d", "$team": ".*", "$queue": ".*"}

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def promtool() -> Path:
    """Return the program from the cache, or build it."""
    return ensure_optional(["promtool"], for_terminal())["promtool"].path


def run(promtool: Path, place: Path, *arguments: str) -> str:
    """Return the output of promtool; fail if promtool reports an error."""
    answer = subprocess.run([promtool, *arguments], cwd=place, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def rendered(*, whole: bool) -> dict[str, Any]:
    """Write rules to a file; unless `whole`, without the annotations that promtool would compare word by word."""
    spec = rule_spec(Watched())
    for rule in (rule for group in spec["groups"] for rule in group["rules"] if not whole):
        if "annotations" in rule:
            rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    return spec


def test_the_rules_parse(promtool: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rendered(whole=True)))
    assert "SUCCESS" in run(promtool, tmp_path, "check", "rules", "--lint-fatal", "rules.yaml")


def test_promtool_rejects_rules_that_do_not_parse(promtool: Path, tmp_path: Path) -> None:
    group = {"name": "broken", "rules": [{"record": "a:b:c", "expr": "sum by (team ("}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    with pytest.raises(AssertionError, match="broken"):
        run(promtool, tmp_path, "check", "rules", "rules.yaml")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should(promtool: Path, tmp_path: Path, path: Path) -> None:
    rules = rendered(whole=False)
    order = [group["name"] for group in rules["groups"]]
    head = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "group_eval_order": order}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump({**head, **yaml.safe_load(path.read_text())}))
    assert "SUCCESS" in run(promtool, tmp_path, "test", "rules", "tests.yaml")


def test_every_query_of_a_dashboard_parses(promtool: Path, tmp_path: Path) -> None:
    queries = [
        target["expr"]
        for dashboard in dashboards(gpus=True).values()
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]
    for name, value in VARIABLES.items():
        queries = [query.replace(name, value) for query in queries]
    rules = [{"record": f"panel:query:number{index}", "expr": query} for index, query in enumerate(queries)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(queries)} rules found" in run(promtool, tmp_path, "check", "rules", "rules.yaml")
