"""The pictures of the documentation: readable in light and dark, and true to the packages that there are."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.unit

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = ("architecture-users.svg", "architecture-code.svg")
LAYERS = "A layer imports only what stands below it"
"""The import-linter contract that the picture of the code shows."""
DEPLOY_LAYERS = "The life of a cluster goes one way"


@dataclass(frozen=True)
class Drawn:
    """A package in the picture of the code.

    Attributes:
        name: below `mlcluster`, such as "deploy/session".
        place: y and x of its text, in reading order.
    """

    name: str
    place: tuple[float, float]


def picture(root: Path, name: str) -> ET.Element:
    return ET.parse(root / "docs" / "images" / name).getroot()  # noqa: S314 - a file of this repository


def drawn(root: Path) -> list[Drawn]:
    """Return the packages of the picture of the code in reading order."""
    texts = [
        text for text in picture(root, "architecture-code.svg").iter(f"{SVG}text") if text.get("class") == "package"
    ]
    found = [
        Drawn(
            "/".join(filter(None, (text.get("data-in"), text.text))), (float(text.get("y", 0)), float(text.get("x", 0)))
        )
        for text in texts
    ]
    return sorted(found, key=lambda one: one.place)


def packages(root: Path) -> set[str]:
    """Return the packages and modules of `mlcluster`, and the packages of `deploy`."""
    code = root / "mlcluster"
    inner = (path for path in (code / "deploy").glob("*") if (path / "__init__.py").exists())
    top = (path for path in code.glob("*") if (path / "__init__.py").exists() or path.suffix == ".py")
    return {str(path.relative_to(code).with_suffix("")) for path in (*top, *inner) if not path.name.startswith("__")}


def layers(root: Path, contract: str) -> list[set[str]]:
    """Return the layers of an import-linter contract, the highest first."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (found,) = [one for one in contracts if one["name"] == contract]
    return [{part.strip().removeprefix("mlcluster.") for part in layer.split("|")} for layer in found["layers"]]


def in_order(names: list[str], expected: list[set[str]]) -> bool:
    """Return whether the names that are in a layer have the order of the layers."""
    ranks = [rank for name in names for rank, layer in enumerate(expected) if name in layer]
    return len(ranks) > 1 and ranks == sorted(ranks)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_readable_in_light_and_dark(project_root: Path, name: str) -> None:
    found = picture(project_root, name)
    style = found.findtext(f"{SVG}style") or ""
    assert "@media (prefers-color-scheme: dark)" in style
    light, _, dark = style.partition("@media")
    painted = set(re.findall(r"\.(\w+) \{[^}]*(?:fill|stroke): #", light))
    assert painted <= set(re.findall(r"\.(\w+) \{", dark)), "a color of the light picture has none in the dark one"
    assert found.get("role") == "img"
    assert found.get("aria-labelledby") == "title desc"
    assert found.findtext(f"{SVG}title")
    assert found.findtext(f"{SVG}desc")


@pytest.mark.parametrize("name", PICTURES)
def test_picture_loads_nothing(project_root: Path, name: str) -> None:
    text = (project_root / "docs" / "images" / name).read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"https?:|href=|@import|@font-face|url\((?!#)", text) == []


def test_packages_of_the_picture_are_those_of_the_code(project_root: Path) -> None:
    assert {one.name for one in drawn(project_root)} == packages(project_root)


def test_order_of_the_picture_is_that_of_the_layers(project_root: Path) -> None:
    names = [one.name for one in drawn(project_root)]
    assert in_order(names, layers(project_root, LAYERS))
    inner = [name.removeprefix("deploy/") for name in names if name.startswith("deploy/")]
    assert in_order(inner, layers(project_root, DEPLOY_LAYERS))


def test_a_wrong_order_is_found() -> None:
    assert in_order(["a", "b", "c"], [{"a", "b"}, {"c"}])
    assert not in_order(["c", "a"], [{"a", "b"}, {"c"}])
