"""The status as tables."""

from typing import Any

import pytest

from mlcluster.report.status_text import status_text

pytestmark = pytest.mark.unit


def document(**changes: Any) -> dict[str, Any]:
    """A status document of a cluster that is ready."""
    team = {
        "name": "research", "namespace": "research", "there": 8, "planned": 8, "ready": True, "detail": "",
        "admitted": 2, "pending": 1, "drifted": [],
    }  # fmt: skip
    return {
        "cluster": "atlas",
        "state": "ready",
        "pools": [{"name": "train", "nodes": 8, "readyNodes": 8, "ready": True}],
        "components": [{"name": "kueue", "version": "0.18.3", "ready": True, "detail": "process 7"}],
        "teams": [team],
        "missing": [],
        "unplanned": [],
        "drifted": [],
        **changes,
    }


def text_of(**changes: Any) -> str:
    return status_text(document(**changes), color=False)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_ready_cluster() -> None:
    assert rows(text_of()) == [
        ["Cluster", "atlas:", "ready"],
        ["POOL", "NODES", "STATE"],
        ["train", "8/8", "ready"],
        ["COMPONENT", "VERSION", "STATE"],
        ["kueue", "0.18.3", "ready", "process", "7"],
        ["TEAM", "OBJECTS", "STATE", "ADMITTED", "PENDING", "DRIFTED"],
        ["research", "8/8", "ready", "2", "1"],
    ]


def test_an_absent_cluster_says_what_to_do() -> None:
    text = text_of(state="absent", missing=["Node/a", "Namespace/b"])
    assert text == "Cluster atlas: absent\nnot running; 2 things are planned: mlcluster up\n"


def test_what_is_not_as_planned() -> None:
    drifted = [
        {"id": "ResourceQuota/a/team", "was": "changed", "paths": ["spec.hard.pods"]},
        {"id": "Namespace/a", "was": "deleted", "paths": []},
    ]
    text = text_of(state="drifted", missing=["Node/a"], unplanned=["Node/b"], drifted=drifted)
    assert text.splitlines()[-4:] == [
        "planned, not made yet: Node/a",
        "made, not planned any more: Node/b",
        "changed by somebody else: ResourceQuota/a/team (spec.hard.pods)",
        "deleted by somebody else: Namespace/a",
    ]


def test_long_lists_are_cut() -> None:
    text = text_of(missing=[f"N/{index}" for index in range(11)])
    assert "N/7 and 3 more" in text
    assert "N/8" not in text


def test_reasons_are_shown_as_they_are() -> None:
    """Kueue writes lists in brackets, which rich would take for markup."""
    detail = "references missing ResourceFlavor(s): [train shared] :x: [/]"
    team = {**document()["teams"][0], "ready": False, "detail": detail}
    part = {**document()["components"][0], "ready": False, "detail": "[red] alert"}
    text = text_of(teams=[team], components=[part])
    assert detail in text
    assert "[red] alert" in text
    assert "not ready" in text


def test_no_teams_no_table() -> None:
    assert "TEAM" not in text_of(teams=[])


def test_colours_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b" not in text_of()
    assert "\x1b[32m" in status_text(document(), color=True)
