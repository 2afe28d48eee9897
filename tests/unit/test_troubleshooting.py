"""docs/troubleshooting.md: every symptom has help, and the messages that the page quotes are printed by mlcluster."""

import re
from pathlib import Path

import pytest

from tests.unit.test_commands_in_texts import texts_of

pytestmark = pytest.mark.unit

QUOTING = "the message says"
"""The heading of a table's first column that quotes messages of mlcluster; findings are linked there, not quoted."""


def page(root: Path) -> str:
    return (root / "docs" / "troubleshooting.md").read_text("utf-8")


def sections(text: str) -> dict[str, str]:
    """Return symptom -> its section on the page."""
    parts = re.split(r"^#{2,3} (.+)\n", text, flags=re.MULTILINE)[1:]
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def quoted(text: str) -> list[str]:
    """Return the messages in the tables that quote messages, as far as their dots."""
    found: list[str] = []
    for table in re.findall(rf"^\| {QUOTING} \|.*\n\|[-|]+\n((?:\|.*\n?)+)", text, re.MULTILINE):
        for row in table.splitlines():
            found += [span.removesuffix("...").strip() for span in re.findall(r"`([^`]+)`", row.split("|")[1])]
    return found


def printed(root: Path) -> str:
    """Return every string of the code."""
    modules = [path for path in sorted((root / "mlcluster").rglob("*.py")) if "toolchain/build" not in str(path)]
    return "\n".join(text for path in modules for text in texts_of(path.read_text("utf-8")))


def test_quoted_messages_are_printed(project_root: Path) -> None:
    messages, known = quoted(page(project_root)), printed(project_root)
    assert len(messages) >= 12
    assert [message for message in messages if message not in known] == []


def test_every_symptom_has_help(project_root: Path) -> None:
    found = sections(page(project_root))
    groups = {
        "Jobs and pods of teams",
        "Components and nodes",
        "`preview` and `up`",
        "`down`",
        "The machine and the lab",
    }
    assert len(found) - len(groups) >= 20
    assert {title for title, body in found.items() if not body} == groups


def test_messages_are_found_in_the_tables_that_quote() -> None:
    text = (
        "| cause | fix |\n|---|---|\n| `a` | b |\n\n| the message says | fix |\n|---|---|\n| `c d ...`, `e` | `f` |\n"
    )
    assert quoted(text) == ["c d", "e"]
