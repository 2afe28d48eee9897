"""Every test asserts something, so that it can fail."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
TESTS = Path(__file__).parents[1]
RAISES = {"raises", "fail"}
"""Of pytest: they fail if the expected error does not occur, or always."""
WAITS = {"wait_for"}
"""tests/waiting.py: fails if a condition does not become true in time. It is the assertion of most lab tests."""


def _asserts(function: ast.AST) -> bool:
    """Return whether a function has an assertion, or calls a function that has one by its name."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RAISES | WAITS or name.lstrip("_").startswith("assert_"):
                return True
    return False


def _without_assertion(source: str) -> list[str]:
    """Return the names of the tests, and of the functions named `assert_...`, that cannot fail."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    claiming = [each for each in functions if each.name.lstrip("_").startswith(("test_", "assert_"))]
    return [each.name for each in claiming if not _asserts(each)]


def _sources() -> Iterator[Path]:
    return (path for path in TESTS.rglob("*.py") if "__pycache__" not in path.parts)


def test_every_test_has_an_assertion() -> None:
    found = {str(path.relative_to(TESTS)): _without_assertion(path.read_text("utf-8")) for path in _sources()}
    assert len(found) > 300
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "body", ["assert x", "with pytest.raises(E):\n  f()", "self.assert_whole()", "_assert_gone(x)", "wait_for('x', f)"]
)
def test_an_assertion_is_recognized(body: str) -> None:
    assert _without_assertion(f"def test_x():\n {body}\n") == []


@pytest.mark.parametrize("body", ["f()", "f(assert_=1)", "x = 'assert y'", "asserted(x)"])
def test_a_test_without_an_assertion_is_found(body: str) -> None:
    assert _without_assertion(f"class TestA:\n def test_x(self):\n  {body}\n") == ["test_x"]
    assert _without_assertion(f"def _assert_whole(x):\n {body}\n") == ["_assert_whole"]
