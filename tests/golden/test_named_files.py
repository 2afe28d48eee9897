"""Files and modules that the documentation and the code name exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.golden

SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^#+ (.+)$", re.MULTILINE)
BEFORE = re.compile(r"before|^problem$", re.IGNORECASE)
"""Headings of the parts of a decision that describe the code before it."""

OLD_NAMES = re.compile(r"^\| [^|]+\|", re.MULTILINE)
"""The first column of a table of old and new names."""

FILE = re.compile(r"(?!mlcluster/v[0-9])[\w.-]+(/[\w.*-]+)*/?")
"""A path; the API version `mlcluster/v1alpha1` is none."""

ROOTS = ("", "mlcluster", "mlcluster/deploy")
"""The directories from which documents name files: of the repository, of the code, of the life of a cluster."""

MODULE = re.compile(r"`(?:mlcluster\.)?([a-z_]+)((?:\.[A-Za-z_]+)+)`")
FIELDS = frozenset({"spec.replicas", "spec.resources", "spec.taints"})
"""Fields of Kubernetes objects that look like modules."""


def documents(root: Path) -> list[Path]:
    return sorted([root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")])


def present(page: Path) -> str:
    """Return the text of a page about the code as it is now."""
    text = FENCE.sub("", page.read_text("utf-8"))
    if page.parent.name != "decisions":
        return text
    parts = SECTION.split(text)  # text, heading, text, heading, text
    sections = [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return "\n".join(
        OLD_NAMES.sub("", body) if heading.startswith("Old ") else body
        for heading, body in sections
        if not BEFORE.search(heading)
    )


def names_of_files(text: str) -> Iterator[str]:
    """Yield the names of files, directories and modules in a text, with * for a placeholder such as NAME."""
    for span in SPAN.findall(text):
        for name in span.split(", "):
            if FILE.fullmatch(name) and ("/" in name.rstrip("/") or name.endswith((".py", "/"))):
                yield re.sub(r"\b[A-Z]{2,}\b", "*", name)


def is_missing(root: Path, name: str) -> bool:
    """Return whether a name that begins with a directory of the repository leads nowhere."""
    first, _, rest = name.partition("/")
    if not rest:
        return name.endswith(".py") and not any(
            any((root / part).rglob(name)) for part in ("mlcluster", "stacks", "tests", "docs")
        )
    begun = [root / base / first for base in ROOTS if (root / base / first).is_dir()]
    found = any(any(directory.glob(pattern)) for directory in begun for pattern in (rest.rstrip("/"), f"{rest}.py"))
    return bool(begun) and not found


def missing_files(root: Path, page: Path) -> list[str]:
    return sorted({name for name in names_of_files(present(page)) if is_missing(root, name)})


def is_module(root: Path, dotted: str) -> bool:
    """Return whether a name is a module of the code, or a name in such a module."""
    parts = dotted.split(".")
    for depth in range(len(parts), 0, -1):
        path = root / "mlcluster" / Path(*parts[:depth])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.exists():
            rest = parts[depth:]
            return not rest or re.search(rf"\b{rest[0]}\b", file.read_text("utf-8")) is not None
    return False


def missing_modules(root: Path, text: str) -> list[str]:
    packages = {path.name for path in (root / "mlcluster").iterdir() if path.is_dir()}
    dotted = {first + rest for first, rest in MODULE.findall(text) if first in packages}
    return sorted(name for name in dotted - FIELDS if not is_module(root, name))


def test_files_that_documents_name_exist(project_root: Path) -> None:
    pages = documents(project_root)
    named = sum(len(list(names_of_files(present(page)))) for page in pages)
    assert named > 200
    stale = {str(page.relative_to(project_root)): missing_files(project_root, page) for page in pages}
    found = {page: names for page, names in stale.items() if names}
    assert found == {}


def test_modules_that_the_code_names_exist(project_root: Path) -> None:
    sources = [path for part in ("mlcluster", "stacks") for path in (project_root / part).rglob("*.py")]
    found = {
        str(path.relative_to(project_root)): names
        for path in sources
        if (names := missing_modules(project_root, path.read_text("utf-8")))
    }
    assert found == {}


def test_a_stale_name_is_found(project_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`mlcluster/plan/taints.py`, `plan/taints.py`, `teardown/steps`, `docs/findings.md`, `stacks/NAME`\n"
        "`mlcluster/plan/stains.py`, `plan/stains.py`, `teardown/leaps`, `docs/losses.md`, `plan/gone/`\n"
        "`taints.py`, `stains.py`, `mlcluster/v1alpha1`\n"
        "`nvidia.com/gpu`, `/opt/cni/bin`, `1/2`\n```\n`plan/never.py`\n```\n"
    )
    stale = [
        "docs/losses.md",
        "mlcluster/plan/stains.py",
        "plan/gone/",
        "plan/stains.py",
        "stains.py",
        "teardown/leaps",
    ]
    assert missing_files(project_root, page) == stale


def test_a_decision_may_name_what_was_there_before_it(project_root: Path, tmp_path: Path) -> None:
    page = tmp_path / "decisions" / "0001-x.md"
    page.parent.mkdir()
    page.write_text(
        "# 1\n## Problem\n`plan/old.py`\n## Imports before\n`plan/older.py`\n## Decision\n`plan/wrong.py`\n"
        "## Old and new names\n| old | new |\n|---|---|\n| `plan/oldest.py` | `plan/newest.py` |\n"
    )
    assert missing_files(project_root, page) == ["plan/newest.py", "plan/wrong.py"]


def test_a_stale_module_is_found(project_root: Path) -> None:
    text = "`plan.taints`, `plan.build.build`, `mlcluster.spec`, `plan.stains`, `plan.taints.stain`, `spec.replicas`"
    assert missing_modules(project_root, text) == ["plan.stains", "plan.taints.stain"]
