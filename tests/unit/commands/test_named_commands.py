"""Every command that a message or a page names exists."""

import re
from pathlib import Path

import pytest
import typer

from mlcluster.cli import app

pytestmark = pytest.mark.unit
_NAMED = re.compile(r"`mlcluster ([a-z]+(?:-[a-z]+)*(?: [a-z]+)?)")


def _verbs() -> dict[str, set[str]]:
    """Return each verb with the verbs below it."""
    root = typer.main.get_command(app)
    return {name: set(getattr(command, "commands", ())) for name, command in getattr(root, "commands", {}).items()}


def test_an_optional_argument_has_one_pair_of_brackets() -> None:
    root = typer.main.get_command(app)
    commands = [*root.commands.values(), *root.commands["plugins"].commands.values()]  # type: ignore[attr-defined]
    with typer.Context(root) as context:
        usages = [" ".join(command.collect_usage_pieces(context)) for command in commands]
    assert any("[FILE]" in usage for usage in usages)
    assert not any("[[" in usage for usage in usages)


@pytest.mark.parametrize("where", ["mlcluster", "docs", "templates", "README.md"])
def test_named_verbs_exist(where: str, project_root: Path) -> None:
    place = project_root / where
    files = [
        path for path in ([place] if place.is_file() else place.rglob("*.*")) if path.suffix in {".py", ".md", ".j2"}
    ]
    assert files
    verbs = _verbs()
    for path in files:
        for named in _NAMED.findall(path.read_text("utf-8")):
            verb, _, below = named.partition(" ")
            assert verb in verbs, f"{path}: {named}"
            assert not (verbs[verb] and below) or below in verbs[verb], f"{path}: {named}"
