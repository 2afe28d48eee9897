"""Every relative link of the documentation leads to a file, and to a heading where it names one."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.golden

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def pages(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub generates them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    text = FENCE.sub("", page.read_text("utf-8"))
    found = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def test_relative_links_resolve(project_root: Path) -> None:
    every = pages(project_root)
    assert len(every) >= 15
    assert {str(page.relative_to(project_root)): links for page in every if (links := broken(page))} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One page\n[a](#one-page) [b](#two) [c](gone.md) [d](https://example.com/x) [e](page.md#one-page)\n"
    )
    assert broken(page) == ["#two", "gone.md"]
