"""Versions of charts and programs: their order, the step between two, and ranges such as ">=0.16,<0.20".

Helm accepts semantic versions (semver.org 2.0.0) with or without a leading v; many image tags have this form.
"""

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from semver import Version

Step = Literal["same", "patch", "minor", "major", "back", "unknown"]
_NUMBERS = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?=[-+]|$)")
_PART = re.compile(r"(>=|<=|<|>|=)?\s*v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?$")


def parse(text: str) -> "Version | None":
    """Return the version, or None if the text is none. Missing parts are 0: 1.35 is 1.35.0."""
    from semver import Version

    try:
        return Version.parse(text.strip().removeprefix("v"), optional_minor_and_patch=True)
    except ValueError:
        return None


def step(running: str, wanted: str) -> Step:
    """Return the kind of step between two versions; before 1.0, a minor version counts as minor."""
    old, new = parse(running), parse(wanted)
    if old is None or new is None:
        return "same" if running == wanted else "unknown"
    if old == new:
        return "same"
    if new < old:
        return "back"
    if new.major != old.major:
        return "major"
    return "minor" if new.minor != old.minor else "patch"


def minors_between(running: str, wanted: str) -> int:
    """Return the number of minor versions between two versions of one major version: 0 for adjacent ones."""
    old, new = parse(running), parse(wanted)
    if old is None or new is None or old.major != new.major:
        return 0
    return max(0, int(new.minor) - int(old.minor) - 1)


def holds(wanted: str, version: str) -> bool:
    """Return whether a version is in a range: parts joined by commas, each an operator and a version, or like 0.18.x.

    Text after the numbers is ignored: 0.20.0-rc.1 has the features of 0.20, so it is not below 0.20. "" and "*" contain
    every text, even one that is no version; no other range contains such text.

    Raises:
        ValueError: the text is no range.
    """
    parts = [part.strip() for part in wanted.split(",") if part.strip() not in {"", "*"}]
    triple = _triple(version)
    checks = [_check(part) for part in parts]
    return not checks or (triple is not None and all(low <= triple < high for low, high in checks))


_Triple = tuple[int, int, int]
_LOWEST: _Triple = (0, 0, 0)
_HIGHEST: _Triple = (1 << 62, 0, 0)


def _check(part: str) -> tuple[_Triple, _Triple]:
    """Return the first version of the range, and the first version after it."""
    parsed = _PART.fullmatch(part)
    if parsed is None:
        raise ValueError(f"{part!r} is not a range of versions")
    operator, major, minor, patch = parsed[1] or "=", int(parsed[2]), parsed[3], parsed[4]
    first = (major, _number(minor), _number(patch))
    if minor in {None, "x"}:
        after = (major + 1, 0, 0)
    elif patch in {None, "x"}:
        after = (major, first[1] + 1, 0)
    else:
        after = (major, first[1], first[2] + 1)
    return {
        ">=": (first, _HIGHEST),
        ">": (after, _HIGHEST),
        "<": (_LOWEST, first),
        "<=": (_LOWEST, after),
        "=": (first, after),
    }[operator]


def _triple(version: str) -> _Triple | None:
    parsed = _NUMBERS.match(version.strip())
    return None if parsed is None else (int(parsed[1]), _number(parsed[2]), _number(parsed[3]))


def _number(text: str | None) -> int:
    return int(text) if text and text != "x" else 0
