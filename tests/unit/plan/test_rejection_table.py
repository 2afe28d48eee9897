"""The table of rejected requests in docs/submit.md quotes messages that the policies really have."""

import re
from pathlib import Path

import pytest

from mlcluster.directories import packaged

pytestmark = pytest.mark.unit

OF_THE_API_SERVER = "exceeded quota: team"
"""A ResourceQuota rejects requests in these words (tests/lab/promise/test_stored_objects.py)."""
PAGE = Path(__file__).parents[3] / "docs" / "submit.md"


def quotes() -> list[str]:
    """Return the first cell of every row of the table, without backticks."""
    table = PAGE.read_text("utf-8").partition("## Rejected requests and alternatives")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    return [cell.replace("`", "") for cell in cells[1:]]


def policy_text() -> str:
    """Return the text of all policies with single spaces, so that wrapped messages match."""
    return " ".join(
        re.sub(r"\s+", " ", path.read_text("utf-8")) for path in sorted(packaged("templates/policies").rglob("*.yaml"))
    )


def test_every_quoted_message_is_that_of_a_policy() -> None:
    known = f"{policy_text()} {OF_THE_API_SERVER}"
    assert len(quotes()) > 15, "the table moved"
    assert [quote for quote in quotes() if not all(part.strip() in known for part in quote.split("…"))] == []
