"""The plan on one screen."""

import re

import pytest

from mlcluster.plan.model import Plan
from mlcluster.report.plan_text import plan_text
from tests.specs import EXISTING, SHAPE, SHARED, SYSTEM, TRAIN, Data, planned

pytestmark = pytest.mark.unit

TEAMS: list[Data] = [
    {"name": "research", "guarantee": {"train": {"nodes": 4}}, "borrow": "all"},
    {"name": "nobody", "tiers": ["best-effort-experiment"]},
]


def lines_of(plan: Plan, **options: int) -> list[str]:
    return plan_text(plan, width=options.get("width", 132)).splitlines()


def row(plan: Plan, first: str) -> list[str]:
    """Return the cells of the first line that begins with a word."""
    line = next(line for line in lines_of(plan) if line.split()[:1] == [first])
    return re.split(r"\s{2,}", line.strip())


def test_pools() -> None:
    plan = planned(SYSTEM, TRAIN)
    assert row(plan, "train") == [
        "train", "p5.48xlarge", "8 x h100 80 GiB", "0-8", "cpu 191, mem 1.8 TiB",
        "nvidia.com/gpu=present:NoSchedule", "$0.00", "$440.32",
    ]  # fmt: skip
    assert row(plan, "system")[2] == "-"
    assert "$0.00 to $441.93" in "\n".join(lines_of(plan))


def test_shared_gpus_and_own_shapes() -> None:
    plan = planned(SHARED, SHAPE)
    text = "\n".join(lines_of(plan))
    assert "56 mig-1g.5gb" in text
    assert row(plan, "own")[1:3] == ["own shape", "-"]
    assert row(plan, "own")[-2:] == ["unknown", "unknown"]
    assert "without 1 pool of unknown price" in text


def test_teams_against_capacity() -> None:
    plan = planned(SYSTEM, TRAIN, teams=TEAMS)
    text = "\n".join(lines_of(plan))
    assert re.search(r"train +gpu +32 +50% +all idle +all", text)
    assert re.search(r"unassigned +system +cpu +31\.6 +100% +all borrow", text)
    assert re.search(r"\n +train +gpu +32 +50% +all borrow", text)
    assert row(plan, "nobody") == ["nobody", "-", "nothing", "nothing", "best-effort-experiment"]


def test_no_teams_no_team_table() -> None:
    assert not [line for line in lines_of(planned(SYSTEM)) if line.startswith("TEAM")]


def test_the_plan_text_lists_components_and_objects() -> None:
    local, existing = "\n".join(lines_of(planned(SYSTEM))), "\n".join(lines_of(planned(SYSTEM, target=EXISTING)))
    assert "as processes of the lab: kueue 0.18.3" in local
    assert "4 simulated nodes, " in local
    assert "nothing is paid on local" in local
    assert "by Helm: kueue 0.18.3" in existing
    assert "simulated" not in existing


@pytest.mark.parametrize("width", [132, 160, 200])
def test_no_line_is_wider_than_asked(width: int) -> None:
    assert max(map(len, lines_of(planned(SYSTEM, TRAIN, SHARED, teams=TEAMS), width=width))) <= width


@pytest.mark.parametrize("width", [40, 80, 132])
def test_nothing_is_left_out_of_a_narrow_screen(width: int) -> None:
    """The lines are longer then, and the terminal folds them."""
    label = {"example.com/a-very-long-purpose-that-nobody-can-abbreviate": "training-of-large-language-models"}
    plan = planned(SYSTEM, {**TRAIN, "labels": label}, teams=TEAMS)
    text = "\n".join(lines_of(plan, width=width))
    whole = ["MIN-MAX", "0-8", "p5.48xlarge", "cpu 191, mem 1.8 TiB", "nvidia.com/gpu=present:NoSchedule", "$440.32"]
    for cell in [*whole, "MAY BORROW", "unassigned", *(f"{key}={value}" for key, value in label.items())]:
        assert cell in text
    assert "…" not in text


def test_the_width_of_the_terminal_is_used_when_it_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(SYSTEM, TRAIN, teams=TEAMS)
    for columns, width in (("150", 150), ("many", 132), ("", 132), ("0", 132)):
        monkeypatch.setenv("COLUMNS", columns)
        assert plan_text(plan) == plan_text(plan, width=width)


def test_colors_are_used_only_if_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    plan = planned(SYSTEM)
    assert "\x1b" not in plan_text(plan, width=132)
    coloured = plan_text(plan, width=132, color=True)
    assert "\x1b" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == plan_text(plan, width=132).split()
