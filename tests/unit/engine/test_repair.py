"""Repair of files that a kill truncated."""

from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.repair import repair_files

pytestmark = pytest.mark.unit


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackHome:
    """Create a stack with a state, its copy, and the files beside them."""
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)
    stacks = tmp_path / "state/.pulumi/stacks/p"
    stacks.mkdir(parents=True)
    for name, text in (("atlas.json", '{"now": 1}'), ("atlas.json.bak", '{"before": 1}')):
        (stacks / name).write_text(text)
        (stacks / f"{name}.attrs").write_text("{}")
    return StackHome("atlas", tmp_path)


def _state(home: StackHome) -> dict[str, str]:
    checkpoint = home.checkpoint("p")
    assert checkpoint is not None
    return {path.name: path.read_text() for path in checkpoint.parent.iterdir()}


def test_intact_files_stay_unchanged(home: StackHome) -> None:
    before = _state(home)
    assert repair_files(home, "p", killed=True) == []
    assert _state(home) == before


@pytest.mark.parametrize("name", ["atlas.json.attrs", "atlas.json.bak.attrs"])
@pytest.mark.parametrize("text", ["", '{"user'])
def test_a_truncated_attrs_file_is_removed(home: StackHome, name: str, text: str) -> None:
    before = _state(home)
    (home.root / "state/.pulumi/stacks/p" / name).write_text(text)
    assert repair_files(home, "p", killed=False) == [f"removed {name}, which was truncated"]
    assert _state(home) == {other: text for other, text in before.items() if other != name}


@pytest.mark.parametrize(("killed", "left"), [(True, '{"before": 1}'), (False, '{"now"')])
def test_the_state_is_restored_from_its_copy_only_after_a_kill(home: StackHome, *, killed: bool, left: str) -> None:
    (home.root / "state/.pulumi/stacks/p/atlas.json").write_text('{"now"')
    assert bool(repair_files(home, "p", killed=killed)) is killed
    assert _state(home)["atlas.json"] == left


def test_other_backends_are_not_repaired(tmp_path: Path) -> None:
    assert repair_files(StackHome("atlas", tmp_path, backend_url="s3://a"), "p", killed=True) == []
