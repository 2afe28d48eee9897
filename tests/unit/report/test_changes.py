"""The text of a preview."""

import pytest

from mlcluster.engine.events import Change, Changes
from mlcluster.engine.identity import Identity
from mlcluster.report.changes import MOST_LINES, change_document, changes_text, counted

pytestmark = pytest.mark.unit


def change(op: str, identifier: str = "ConfigMap/a/b", *paths: str, because: tuple[str, ...] = ()) -> Change:
    kind, _, name = identifier.partition("/")
    return Change(identifier, "kubernetes:core/v1:ConfigMap", op, paths, because, identity=Identity(kind, name))


def text_of(*items: Change, color: bool = False) -> str:
    return changes_text("platform", Changes(items), color=color)


def test_nothing_to_change() -> None:
    assert text_of(change("same", "a"), change("same", "b")) == "platform: nothing to change (2 as they are)"
    assert text_of() == "platform: nothing to change (0 as they are)"


def test_one_line_each_with_its_sign() -> None:
    text = text_of(
        change("create", "Namespace/a"),
        change("update", "ClusterQueue/a", "spec.x", "metadata.labels"),
        change("replace", "ConfigMap/a", "metadata.name", because=("metadata.name",)),
        change("delete", "Namespace/b"),
        change("same", "Namespace/c"),
    )
    assert text.splitlines() == [
        "platform: 1 to create, 1 to update, 1 to replace, 1 to delete, 1 as they are",
        "  + Namespace/a",
        "  ~ ClusterQueue/a  spec.x, metadata.labels",
        "  ± ConfigMap/a  (replaced because of metadata.name)",
        "  - Namespace/b",
    ]


def test_a_replacement_without_a_reason_shows_none() -> None:
    assert text_of(change("replace", "ConfigMap/a")).splitlines()[1] == "  ± ConfigMap/a"


def test_many_paths_are_counted_and_internal_ones_left_out() -> None:
    text = text_of(change("update", "a", *"pqrstu", "__inputs.x"))
    assert text.splitlines()[1] == "  ~ a  p, q, r, s and 2 more"
    assert text_of(change("update", "a", "__inputs")).splitlines()[1] == "  ~ a"


def test_long_runs_are_counted_by_kind() -> None:
    nodes = [change("create", f"Node/n-{index}") for index in range(MOST_LINES)]
    assert len(text_of(*nodes).splitlines()) == MOST_LINES + 1
    text = text_of(*nodes, change("delete", "Namespace/a"))
    assert text.splitlines() == [
        "platform: 60 to create, 1 to delete",
        "  + 60 Node: Node/n-0, Node/n-1, Node/n-2 ...",
        "  - 1 Namespace: Namespace/a",
    ]


def test_colors_are_used_only_if_enabled() -> None:
    assert "\x1b" not in text_of(change("delete"))
    assert "\x1b[31m  - ConfigMap/a/b\x1b[0m" in text_of(change("delete"), color=True)


def test_unchanged_resources_are_not_counted() -> None:
    assert counted(Changes((change("refresh", "a"), change("read", "b"), change("create", "c")))) == "1 to create"


def test_a_change_as_data() -> None:
    assert change_document(change("replace", "a", "p", because=("p",))) == {
        "id": "a",
        "type": "kubernetes:core/v1:ConfigMap",
        "op": "replace",
        "paths": ["p"],
        "replacesBecause": ["p"],
    }
