"""Versions: their order, steps between them, ranges. Semantic versions as Helm takes them, with or without a v."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semver import Version

from mlcluster.rules.versions import holds, minors_between, parse, step

pytestmark = pytest.mark.unit

NUMBERS = st.integers(0, 40)
TRIPLES = st.tuples(NUMBERS, NUMBERS, NUMBERS)
TAILS = st.sampled_from(["", "-rc.1", "-4.8.2", "+k3s1", "-rc.1+build.5"])
LEADS = st.sampled_from(["", "v"])


@st.composite
def versions(draw: st.DrawFn) -> str:
    """Return spellings of a version."""
    return draw(LEADS) + ".".join(map(str, draw(TRIPLES))) + draw(TAILS)


def spelled(triple: tuple[int, int, int]) -> str:
    return ".".join(map(str, triple))


@given(versions())
def test_a_step_to_itself_is_none(version: str) -> None:
    assert step(version, version) == "same"
    assert step(version, version.removeprefix("v")) == "same"


@given(versions(), versions())
def test_a_step_between_versions_goes_back_in_exactly_one_direction(first: str, second: str) -> None:
    forth, back = step(first, second), step(second, first)
    assert "unknown" not in {forth, back}
    assert {forth, back} == {"same"} or [forth, back].count("back") == 1


@given(versions(), versions())
def test_the_kind_of_a_step_is_the_first_number_that_differs(first: str, second: str) -> None:
    old, new = parse(first), parse(second)
    assert old is not None
    assert new is not None
    kind = step(first, second)
    if kind in {"patch", "minor", "major"}:
        assert old < new
        assert (old.major != new.major) == (kind == "major")
        assert (old[:2] != new[:2]) == (kind in {"minor", "major"})


@given(versions(), versions())
def test_minors_between_are_none_for_neighbours_and_across_majors(first: str, second: str) -> None:
    old, new = parse(first), parse(second)
    assert old is not None
    assert new is not None
    between = minors_between(first, second)
    assert between >= 0
    assert (between > 0) == (old.major == new.major and new.minor > old.minor + 1)


@given(TRIPLES, TRIPLES)
def test_bounds_of_ranges_are_those_of_the_numbers(bound: tuple[int, int, int], version: tuple[int, int, int]) -> None:
    text = spelled(version)
    assert holds(f">={spelled(bound)}", text) == (version >= bound)
    assert holds(f"<{spelled(bound)}", text) == (version < bound)
    assert holds(f">{spelled(bound)}", text) == (version > bound)
    assert holds(f"<={spelled(bound)}", text) == (version <= bound)
    assert holds(f"={spelled(bound)}", text) == holds(spelled(bound), text) == (version == bound)


@given(TRIPLES, TRIPLES, TRIPLES)
def test_parts_of_a_range_all_hold(
    low: tuple[int, int, int], high: tuple[int, int, int], version: tuple[int, int, int]
) -> None:
    assert holds(f">={spelled(low)}, <{spelled(high)}", spelled(version)) == (low <= version < high)


@given(versions())
def test_a_release_candidate_counts_as_its_release(version: str) -> None:
    found = parse(version)
    assert found is not None
    minor = f"{found.major}.{found.minor}"
    assert holds(f">={minor}", version)
    assert not holds(f"<{minor}", version)
    assert holds(f"{minor}.x", version)
    assert holds(f"<={minor}", version)
    assert not holds(f">{minor}", version)


@given(st.text(max_size=12))
def test_any_text_is_a_version_or_unknown(text: str) -> None:
    found = parse(text)
    assert found is None or isinstance(found, Version)
    assert holds("*", text)
    assert holds("", text)
    assert step("1.2.3", text) == "unknown" or found is not None
    assert isinstance(holds(">=1.0", text), bool)


@pytest.mark.parametrize("text", ["", "latest", "sha256:0a", "1.2.3.4", "main-20260101"])
def test_texts_that_are_no_version(text: str) -> None:
    assert parse(text) is None
    assert step("1.2.3", text) == "unknown"
    assert not holds(">=0.1", text)


def test_two_that_are_none_can_still_be_the_same() -> None:
    assert step("latest", "latest") == "same"


def test_short_versions() -> None:
    assert step("1.35", "1.36.2") == "minor"
    assert holds(">=1.34", "1.36")


@pytest.mark.parametrize("wanted", ["0.18.*", "~0.18", ">=", "x.y", "0.18 || 0.19"])
def test_a_range_that_is_none(wanted: str) -> None:
    with pytest.raises(ValueError, match="is not a range of versions"):
        holds(wanted, "0.18.3")
