"""Every command of mlcluster that a message or a page names in backticks is one that the command line takes."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from mlcluster.cli import app

pytestmark = pytest.mark.unit

COMMAND = re.compile(r"`(mlcluster(?: [^`]+)?)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def texts_of(source: str) -> Iterator[str]:
    """Return the strings of a module without docstrings, with X for values; adjacent parts are joined."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    skipped.add(statement.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"(?<!\{)\{\w+\}(?!\})", "X", node.value)


def commands_in(text: str) -> list[str]:
    return [command.strip() for command in COMMAND.findall(text) if command != "mlcluster"]


@cache
def command_line() -> Any:
    return get_command(app)


def trouble(command: str) -> str:
    """Return the error of the command line for a command; "" if it accepts it."""
    words = shlex.split(command.removesuffix(" ..."))[1:]
    found: Any = command_line()
    while isinstance(found, TyperGroup) and words:
        name, words = words[0], words[1:]
        if name.startswith("-"):
            return "" if any(name in option.opts for option in found.params) else f"no option {name}"
        if name not in found.commands:
            return f"no verb {name}"
        found = found.commands[name]
    try:
        if not isinstance(found, TyperGroup):
            found.make_context(found.name, words)
    except TyperException as error:
        return str(error)
    return ""


def every_command(root: Path) -> list[tuple[str, str]]:
    """Return each place and its command."""
    modules = [path for path in sorted((root / "mlcluster").rglob("*.py")) if "toolchain/build" not in str(path)]
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    found = [
        (str(path.relative_to(root)), command)
        for path in modules
        for text in texts_of(path.read_text("utf-8"))
        for command in commands_in(text)
    ]
    found += [
        (str(path.relative_to(root)), command)
        for path in pages
        for command in commands_in(FENCE.sub("", path.read_text("utf-8")))
    ]
    return found


def test_every_command_in_a_text_exists(project_root: Path) -> None:
    known = every_command(project_root)
    assert len(known) > 60
    wrong = {f"{place}: {command}": told for place, command in known if (told := trouble(command))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("mlcluster unlock atlas.yaml --assume-dead", ""),
        ("mlcluster lab kubectl --name atlas -- get nodes", ""),
        ("mlcluster lab", ""),
        ("mlcluster --version", ""),
        ("mlcluster frobnicate", "no verb frobnicate"),
        ("mlcluster lab frobnicate", "no verb frobnicate"),
        ("mlcluster up --frob", "No such option: --frob"),
        ("mlcluster unlock atlas.yaml other", "Got unexpected extra argument"),
    ],
)
def test_a_command_that_is_none_is_found(command: str, told: str) -> None:
    assert trouble(command).startswith(told)
    assert bool(trouble(command)) is bool(told)


def test_commands_are_found_in_strings_and_not_in_docstrings() -> None:
    source = '"""`mlcluster a`."""\nx = f"run `mlcluster lab start --name {name}` or " "`mlcluster {verb}`"\n'
    assert [command for text in texts_of(source) for command in commands_in(text)] == [
        "mlcluster lab start --name X",
        "mlcluster {verb}",
    ]
