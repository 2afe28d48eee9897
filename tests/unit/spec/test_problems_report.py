"""Problems as text and as data."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster.report.problems import WIDTH, cells, problem_text, problems_json, problems_text, window
from mlcluster.spec.load import parse
from mlcluster.spec.problems import LocatedProblem, SpecInvalidError

pytestmark = pytest.mark.unit

PROBLEM = LocatedProblem("c.yaml", 12, 5, "nodePools[0] (train).maxSize", "    maxSize: -1", "is wrong", "be right", 5)


def test_a_problem_has_place_line_caret_and_hint() -> None:
    assert problem_text(PROBLEM, color=False) == (
        "c.yaml:12:5: nodePools[0] (train).maxSize: is wrong\n"
        "    12 |     maxSize: -1\n"
        "       |     ^\n"
        "         be right\n"
    )


def test_a_file_without_lines_has_only_its_name() -> None:
    problem = LocatedProblem("c.yaml", None, None, "", "", "the file is empty", "")
    assert problem_text(problem, color=False) == "c.yaml: the file is empty\n"


def test_colors_are_used_only_if_enabled() -> None:
    assert "\x1b[" in problem_text(PROBLEM, color=True)
    assert "\x1b[" not in problem_text(PROBLEM, color=False)


@pytest.mark.parametrize(("count", "closing"), [(1, "1 problem"), (3, "3 problems")])
def test_the_last_line_counts(count: int, closing: str) -> None:
    error = SpecInvalidError("c.yaml", [replace(PROBLEM, line=line) for line in range(1, count + 1)])
    assert problems_text(error, color=False).splitlines()[-1] == closing


def test_problems_come_in_the_order_of_the_file() -> None:
    places = [(9, 1), (2, 7), (2, 3), (None, None)]
    error = SpecInvalidError("c.yaml", [replace(PROBLEM, line=line, column=column) for line, column in places])
    assert [problem.line for problem in error.problems] == [None, 2, 2, 9]
    assert [problem.column for problem in error.problems] == [None, 3, 7, 1]


def test_data_has_the_same() -> None:
    with pytest.raises(SpecInvalidError) as caught:
        parse(b"kind: Cluster\nmetadata: {name: 1}\n", "c.yaml")
    document = json.loads(json.dumps(problems_json(caught.value)))
    assert (document["apiVersion"], document["kind"]) == ("mlcluster/v1alpha1", "SpecProblems")
    assert document["crossChecksRan"] is False
    assert document["problems"][-1] == {
        "file": "c.yaml",
        "line": 2,
        "column": 18,
        "path": "metadata.name",
        "message": "expected a string, got the number 1",
        "hint": 'Quote it: "1"',
        "source": "metadata: {name: 1}",
        "caret": 18,
    }


@pytest.mark.parametrize(
    ("content", "ran", "closing"),
    [
        (b"", False, "1 problem"),
        (b"a: [", False, "1 problem; skipped the cross-field checks that need this value"),
        (b"a: 1\n", False, "6 problems; skipped the cross-field checks that need these values"),
    ],
)
def test_checks_that_did_not_run_are_listed(content: bytes, ran: bool, closing: str) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        parse(content, "c.yaml")
    assert problems_text(caught.value, color=False).splitlines()[-1] == closing
    assert problems_json(caught.value)["crossChecksRan"] is ran


def test_checks_that_ran_are_listed(project_root: Path) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        parse((project_root / "tests" / "broken" / "sizes.yaml").read_bytes(), "c.yaml")
    assert problems_json(caught.value)["crossChecksRan"] is True


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("東京", 4), ("e\u0301", 1), ("🚀", 2), ("", 0), ("a\u200bb", 2)],
)
def test_columns_of_a_terminal(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize("column", [1, 2, 57, 150, 299, 300])
@pytest.mark.parametrize("filling", ["x", "東", "\t"])
def test_a_long_line_is_cut_around_its_caret(filling: str, column: int) -> None:
    source = filling * (column - 1) + "!" + filling * (300 - column)
    shown, before = window(source, column)
    assert cells(shown) <= WIDTH
    at = next(index for index in range(len(shown) + 1) if cells(shown[:index]) == before)
    assert shown[at] == "!"


def test_a_caret_may_be_after_the_end_of_a_line() -> None:
    assert window("a: [", 5) == ("a: [", 4)
