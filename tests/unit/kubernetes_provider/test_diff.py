from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcluster.kubernetes_provider.diff import blamed, changes, immutable, keep, parse, spell

pytestmark = pytest.mark.unit

paths = st.lists(st.text(min_size=1, max_size=6) | st.integers(0, 50), min_size=1, max_size=5).map(tuple)
trees: st.SearchStrategy[Any] = st.recursive(
    st.integers() | st.booleans() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a.b": "update"}),
        ({"hard": {"requests.cpu": "1"}}, {"hard": {"requests.cpu": "2"}}, {'hard["requests.cpu"]': "update"}),
        ({"t": [{"e": "x"}]}, {"t": [{"e": "y"}, {"e": "z"}]}, {"t[0].e": "update", "t[1]": "add"}),
        ({"t": [1, 2]}, {"t": [1]}, {"t[1]": "delete"}),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, {"a": "delete", "c": "add"}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "update"}),
        ({"a": True}, {"a": 1}, {"a": "update"}),
        ({"a": None}, {}, {"a": "delete"}),
        ({"x-y": 1}, {"x-y": 2}, {"x-y": "update"}),
    ],
)
def test_changes(old: Any, new: Any, expected: dict[str, str]) -> None:
    assert {spell(path): change for path, change in changes(old, new)} == expected


@given(trees, trees)
def test_no_change_means_equal(old: Any, new: Any) -> None:
    assert list(changes(old, old)) == []
    if not list(changes({"x": old}, {"x": new})):
        assert old == new


@given(paths)
def test_parse_is_the_inverse_of_spell(path: tuple[str | int, ...]) -> None:
    assert parse(spell(path)) == path


@pytest.mark.parametrize(
    "message",
    [
        "spec.selector: Invalid value: {}: field is immutable",
        "value: Forbidden: may not be changed in an update.",
        "roleRef: Invalid value: {}: cannot change roleRef",
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        "parameters: Forbidden: updates to parameters are forbidden.",
        "pod updates may not change fields other than `spec.containers[*].image`",
        "spec.clusterIPs[0]: Invalid value: []: may not change once set",
        "spec: Cannot transition NodePool between static (replicas set) and dynamic (replicas unset)",
    ],
)
def test_messages_about_immutable_fields(message: str) -> None:
    assert immutable(message)


@pytest.mark.parametrize(
    "message",
    ["quantities must match the regular expression", "exceeded quota: q", "spec.replicas: must be greater than 0"],
)
def test_other_rejections_are_not_replacements(message: str) -> None:
    assert not immutable(message)


def test_only_changed_paths_that_the_server_names_are_blamed() -> None:
    changed = [("spec", "selector", "app"), ("spec", "replicas"), ("metadata", "labels", "a")]
    assert blamed(changed, ["spec.selector"]) == [("spec", "selector", "app")]
    assert blamed([("spec", "hard", "requests.cpu")], ["spec.hard[requests.cpu]"]) == [("spec", "hard", "requests.cpu")]
    assert blamed(changed, [""]) == changed[:2]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.b", {"a": {"b": 1, "c": 9}, "l": [{"x": 3}]}),
        ("a.*", {"a": {"b": 1, "c": 2}, "l": [{"x": 3}]}),
        ("l[*].x", {"a": {"b": 5, "c": 9}, "l": [{"x": 2}]}),
        ("l[0].x", {"a": {"b": 5, "c": 9}, "l": [{"x": 2}]}),
        ("nowhere.at.all", {"a": {"b": 5, "c": 9}, "l": [{"x": 3}]}),
    ],
)
def test_ignored_changes_keep_the_old_value(path: str, expected: Any) -> None:
    old = {"a": {"b": 1, "c": 2}, "l": [{"x": 2}]}
    new = {"a": {"b": 5, "c": 9}, "l": [{"x": 3}]}
    assert keep(old, new, parse(path)) == expected


def test_ignoring_an_addition_removes_it() -> None:
    assert keep({"a": {}}, {"a": {"b": 1}}, ("a", "b")) == {"a": {}}
