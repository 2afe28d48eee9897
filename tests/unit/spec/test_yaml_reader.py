"""YAML 1.2 to plain data with positions."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.spec import yaml_reader
from mlcluster.spec.document import Document, Loc, Position
from mlcluster.spec.load import parse
from mlcluster.spec.problems import SpecInvalidError
from mlcluster.spec.yaml_reader import MAX_DEPTH, MAX_VALUES, UnreadableError, read_yaml

pytestmark = pytest.mark.unit

BROKEN = Path(__file__).parent.parent.parent / "broken"


def value_of(text: str) -> Any:
    return read_yaml(f"v: {text}", "x").data["v"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("Yes", "Yes"), ("y", "y"), ("12:30", "12:30"), ("1_000", "1_000"),
        ("2026-11-21", "2026-11-21"), ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"), ("0b11", "0b11"),
        ("true", True), ("False", False), ("TRUE", True), ("tRue", "tRue"), ("'true'", "true"),
        ("", None), ("~", None), ("null", None), ("NULL", None), ('""', ""), ("nULL", "nULL"),
        ("0644", 644), ("0o17", 15), ("0x1F", 31), ("-7", -7), ("+7", 7), ("1.30", 1.3), (".5", 0.5), ("5.", 5.0),
        ("1e3", 1000.0), ("1.2.3", "1.2.3"), (".", "."), ("+", "+"), ("0o8", "0o8"), ("0x", "0x"),
        ("9223372036854775807", 2**63 - 1), ("-1.5e-3", -0.0015), ("'1.30'", "1.30"), ("|\n  1\n", "1\n"),
        (">-\n  a\n  b\n", "a b"), ("[1, {a: b}]", [1, {"a": "b"}]), ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_scalars_are_read_by_yaml_1_2(text: str, value: object) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


DOCUMENT = """\
# a comment
a: 1
b:
  - x
  - name: two
    deep: {k: 'v', "q": [7,  8]}
c:
  d:
    - 9
"""


@pytest.mark.parametrize(
    ("loc", "key", "position"),
    [
        ((), False, (2, 1)),
        (("a",), False, (2, 4)),
        (("a",), True, (2, 1)),
        (("b",), False, (3, 1)),
        (("b", 0), False, (4, 5)),
        (("b", 1), False, (5, 5)),
        (("b", 1, "name"), False, (5, 11)),
        (("b", 1, "deep"), False, (6, 11)),
        (("b", 1, "deep"), True, (6, 5)),
        (("b", 1, "deep", "k"), False, (6, 15)),
        (("b", 1, "deep", "q", 1), False, (6, 30)),
        (("c", "d", 0), False, (9, 7)),
        (("b", 1, "missing"), False, (5, 5)),
        (("b", 7, "name"), False, (3, 1)),
        (("a", "below", "a scalar"), False, (2, 4)),
        (("nothing",), True, (2, 1)),
    ],
)
def test_every_value_has_a_position(loc: Loc, key: bool, position: tuple[int, int]) -> None:
    assert read_yaml(DOCUMENT, "x").position(loc, key=key) == Position(*position)


def every_place(document: Document) -> list[Loc]:
    found: list[Loc] = []

    def walk(value: Any, loc: Loc) -> None:
        found.append(loc)
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in pairs:
            walk(inner, (*loc, key))

    walk(document.data, ())
    return found


def test_every_value_has_a_node() -> None:
    document = read_yaml(DOCUMENT, "x")
    assert all(document.node(loc) is not None for loc in every_place(document))


def test_merged_fields_have_the_position_of_their_source() -> None:
    text = "x-base: &base\n  a: 1\n  b: 2\nv:\n  <<: *base\n  b: 3\nw: {<<: [*base, {c: 4}]}\n"
    document = read_yaml(text, "x")
    assert document.data == {"v": {"a": 1, "b": 3}, "w": {"a": 1, "b": 2, "c": 4}}
    assert document.position(("v", "a")) == Position(2, 6)
    assert document.position(("v", "b")) == Position(6, 6)
    assert document.position(("w", "c")) == Position(7, 21)


def test_an_alias_has_the_value_of_its_anchor() -> None:
    document = read_yaml("x-a: &a {k: v}\nv: [*a, *a]\n", "x")
    assert document.data == {"v": [{"k": "v"}, {"k": "v"}]}


def test_an_anchor_may_be_used_again() -> None:
    assert read_yaml("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "x").data == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read_yaml('"<<": a\n', "x").data == {"<<": "a"}


def test_the_first_of_two_equal_keys_is_used_and_both_lines_are_reported() -> None:
    document = read_yaml("a: 1\nb: 2\na: 3\n", "x")
    assert document.data == {"a": 1, "b": 2}
    (problem,) = document.problems
    assert problem.message == 'duplicate key "a"; it first appears on line 1'
    assert problem.at == Position(3, 1)


@pytest.mark.parametrize("name", sorted(path.name for path in BROKEN.glob("*.yaml")))
def test_the_parser_without_libyaml_ends_in_sentences_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "_PARSER", yaml.SafeLoader)
    with pytest.raises(SpecInvalidError):
        parse((BROKEN / name).read_bytes(), name)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_ends_in_a_sentence(opening: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_yaml(f"v:\n  {opening * 5000}", "x")
    assert caught.value.problem.message == f"the nesting exceeds {MAX_DEPTH} levels"


def test_values_are_counted_through_aliases() -> None:
    many = ", ".join(["1"] * 1000)
    read_yaml(f"a: &a [{many}]\nb: [{', '.join(['*a'] * (MAX_VALUES // 1001 - 2))}]\n", "x")
    with pytest.raises(UnreadableError) as caught:
        read_yaml(f"a: &a [{many}]\nb: [{', '.join(['*a'] * (MAX_VALUES // 1001 + 2))}]\n", "x")
    assert "more than 200,000 values" in caught.value.problem.message


@pytest.mark.parametrize(
    ("loc", "text"),
    [
        (("nodePools", 1, "maxSize"), "nodePools[1] (train).maxSize"),
        (("nodePools", 0, "maxSize"), "nodePools[0].maxSize"),
        (("nodePools", 1, "labels", "a.b/c"), 'nodePools[1] (train).labels["a.b/c"]'),
        (("nodePools", 9), "nodePools[9]"),
        ((), ""),
    ],
)
def test_paths_name_list_items(loc: Loc, text: str) -> None:
    document = read_yaml("nodePools:\n  - {name: 1}\n  - {name: train, labels: {a.b/c: d}}\n", "x")
    assert document.spell(loc) == text
