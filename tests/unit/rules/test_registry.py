"""The registry of finding IDs, the code that uses them, and the page that explains them."""

import re
from pathlib import Path

import pytest

from mlcluster.findings import REGISTRY, Severity, finding

pytestmark = pytest.mark.unit

ID = re.compile(r"\b[A-Z]{3}[0-9]{3}\b")


def used_ids(project_root: Path) -> set[str]:
    """Return every ID in the packages that make findings."""
    quoted = re.compile(r'"([A-Z]{3}[0-9]{3})"')
    files = [
        path
        for part in ("plan", "rules", "deploy", "aws")
        for path in (project_root / "mlcluster" / part).rglob("*.py")
    ]
    return {identifier for path in files for identifier in quoted.findall(path.read_text("utf-8"))}


def sections(project_root: Path) -> dict[str, str]:
    """Return the headings of docs/findings.md with their sections."""
    text = (project_root / "docs" / "findings.md").read_text("utf-8")
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def test_every_id_in_code_is_registered_and_every_registered_id_is_used(project_root: Path) -> None:
    assert used_ids(project_root) == set(REGISTRY)


def test_every_id_has_one_heading(project_root: Path) -> None:
    assert list(sections(project_root)) == list(REGISTRY)


@pytest.mark.parametrize("identifier", sorted(REGISTRY))
def test_a_section_has_the_problem_the_reason_and_the_remedy(identifier: str, project_root: Path) -> None:
    kind, text = REGISTRY[identifier], sections(project_root)[identifier]
    assert text.startswith(f"**{kind.title}** ({kind.severity.value}).")
    explained, remedy = text.split("\n\n", 1)
    assert len(explained) > 100
    assert remedy.strip()


def test_keys_are_ids() -> None:
    assert all(ID.fullmatch(key) and kind.id == key for key, kind in REGISTRY.items())
    assert list(REGISTRY) == sorted(REGISTRY)


def test_an_unregistered_id_is_refused() -> None:
    with pytest.raises(KeyError):
        finding("XXX999", ("teams",), "made up")


def test_severities_are_ranked() -> None:
    assert [severity.rank for severity in (Severity.INFO, Severity.WARNING, Severity.ERROR)] == [0, 1, 2]
