"""Every broken spec in tests/broken with its full message, word for word."""

from pathlib import Path

import pytest

from mlcluster.report.problems import problems_text
from mlcluster.spec.load import parse
from mlcluster.spec.problems import SpecInvalidError

pytestmark = pytest.mark.unit

BROKEN = Path(__file__).parent.parent.parent / "broken"
NAMES = sorted(path.stem for path in BROKEN.glob("*.yaml"))


def error_of(name: str) -> SpecInvalidError:
    path = BROKEN / f"{name}.yaml"
    with pytest.raises(SpecInvalidError) as caught:
        parse(path.read_bytes(), path.name)
    return caught.value


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_spec_has_the_recorded_message(name: str, update_golden: bool) -> None:
    text = problems_text(error_of(name), color=False)
    golden = BROKEN / f"{name}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_caret_points_into_its_line(name: str) -> None:
    lines = (BROKEN / f"{name}.yaml").read_text(encoding="utf-8").split("\n")
    for problem in error_of(name).problems:
        assert problem.message
        if problem.line is not None and problem.column is not None:
            assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


def test_no_message_is_without_its_spec() -> None:
    assert {path.stem for path in BROKEN.glob("*.txt")} == set(NAMES)
    assert len(NAMES) >= 45
