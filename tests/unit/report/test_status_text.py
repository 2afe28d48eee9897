"""The status as tables."""

from typing import Any

import pytest

from mlcluster.report.status_text import status_text

pytestmark = pytest.mark.unit


def document(**changes: Any) -> dict[str, Any]:
    """Return a status document of a cluster that is ready."""
    team = {
        "name": "research", "namespace": "research", "there": 8, "planned": 8, "ready": True, "detail": "",
        "admitted": 2, "pending": 1, "drifted": [],
    }  # fmt: skip
    return {
        "cluster": "atlas",
        "state": "ready",
        "run": None,
        "reasons": [],
        "pools": [{"name": "train", "nodes": 8, "readyNodes": 8, "plannedNodes": 8, "ready": True}],
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


def test_the_status_of_an_absent_cluster_names_the_command_to_create_it() -> None:
    empty: dict[str, Any] = {"pools": [], "components": [], "teams": []}
    text = text_of(state="absent", missing=["Node/a", "Namespace/b"], **empty)
    assert text == "Cluster atlas: absent\nnot running; 2 resources are planned. Run `mlcluster up cluster.yaml`.\n"
    text = text_of(state="absent", missing=["Node/a"], **empty)
    assert "; 1 resource is planned." in text


def test_counts_include_missing_resources() -> None:
    pool = {"name": "train", "nodes": 7, "readyNodes": 7, "plannedNodes": 8, "ready": False}
    team = {**document()["teams"][0], "there": 7, "drifted": ["ResourceQuota/research/team"]}
    found = rows(text_of(pools=[pool], teams=[team]))
    assert ["train", "7/8", "not", "ready"] in found
    assert ["research", "7/8", "drifted", "2", "1", "1"] in found


def test_differences_from_the_plan_are_listed() -> None:
    drifted = [
        {"id": "ResourceQuota/a/team", "was": "changed", "paths": ["spec.hard.pods"]},
        {"id": "Namespace/a", "was": "deleted", "paths": []},
    ]
    text = text_of(state="drifted", missing=["Node/a"], unplanned=["Node/b"], drifted=drifted)
    assert text.splitlines()[-4:] == [
        "planned, not made yet: Node/a",
        "made, not planned any more: Node/b",
        "changed by another client: ResourceQuota/a/team (spec.hard.pods)",
        "deleted by another client: Namespace/a",
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


def test_colors_are_used_only_if_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b" not in text_of()
    assert "\x1b[32m" in status_text(document(), color=True)
