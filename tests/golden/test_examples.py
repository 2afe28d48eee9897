"""Output of `validate` and `plan` for every example, byte for byte. `--update-golden` rewrites the expected output.

Two plans are kept whole. For the others, a text and digests are kept: a digest that changes names the part of the plan.
Compare `mlcluster plan FILE -o json` before and after to see the change.
"""

import json
from pathlib import Path

import pytest

from mlcluster.commands.plan import plan
from mlcluster.commands.validate import validate
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.plan_text import plan_text
from tests.golden.digests import plan_digests

pytestmark = pytest.mark.golden

HERE = Path(__file__).parent
EXAMPLES = sorted(path.stem for path in (HERE.parents[1] / "examples").glob("*.yaml"))
WHOLE = ("eks-minimal", "lab")


@pytest.fixture
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, project_root: Path) -> Path:
    """Return the example of the test's parameter, as a path relative to the project: messages repeat it."""
    monkeypatch.chdir(project_root)
    monkeypatch.setenv("NO_COLOR", "1")
    return Path("examples") / f"{request.param}.yaml"


def compare(example: Path, kind: str, text: str, *, update: bool) -> None:
    golden = HERE / f"{example.stem}.{kind}"
    if update:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_plan_as_json(example: Path, update_golden: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(example, "json") is ExitCode.OK
    text = capsys.readouterr().out
    if example.stem in WHOLE:
        compare(example, "plan.json", text, update=update_golden)
    else:
        compare(example, "plan.digests", plan_digests(text), update=update_golden)


@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_plan_as_text(example: Path, update_golden: bool) -> None:
    text = plan_text(load_workspace(example).plan, width=132)
    assert all(len(line) <= 132 for line in text.splitlines())
    compare(example, "plan.txt", text, update=update_golden)


@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_validate_as_text(example: Path, update_golden: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate(example, "text", "error") is ExitCode.OK
    compare(example, "validate.txt", capsys.readouterr().out, update=update_golden)


def test_no_golden_is_without_its_example() -> None:
    files = {path.name for path in HERE.iterdir() if path.suffix in {".json", ".txt", ".digests"}}
    plans = {f"{name}.plan.{'json' if name in WHOLE else 'digests'}" for name in EXAMPLES}
    assert files == plans | {f"{name}.{kind}" for name in EXAMPLES for kind in ("plan.txt", "validate.txt")}
    assert len(EXAMPLES) >= 4


def test_digests_show_which_part_changed() -> None:
    document = json.loads((HERE / "lab.plan.json").read_text("utf-8"))
    before = plan_digests(json.dumps(document)).splitlines()
    queue = next(entry for entry in document["objects"] if entry["manifest"]["kind"] == "ClusterQueue")
    queue["manifest"]["spec"]["stopPolicy"] = "Hold"
    after = plan_digests(json.dumps(document)).splitlines()
    (changed,) = [line for line, was in zip(after, before, strict=True) if line != was]
    assert changed.startswith("objects ClusterQueue 3 ")
