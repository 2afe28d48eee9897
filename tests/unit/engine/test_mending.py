"""Files that a kill cut off in the middle."""

from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.mending import mend_files

pytestmark = pytest.mark.unit


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackHome:
    """A stack with a state, its copy, and the files beside them."""
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


def test_files_in_order_stay_as_they_are(home: StackHome) -> None:
    before = _state(home)
    assert mend_files(home, "p", killed=True) == []
    assert _state(home) == before


@pytest.mark.parametrize("name", ["atlas.json.attrs", "atlas.json.bak.attrs"])
@pytest.mark.parametrize("text", ["", '{"user'])
def test_a_cut_off_file_beside_the_state_goes(home: StackHome, name: str, text: str) -> None:
    before = _state(home)
    (home.root / "state/.pulumi/stacks/p" / name).write_text(text)
    assert mend_files(home, "p", killed=False) == [f"removed {name}, which was cut off"]
    assert _state(home) == {other: text for other, text in before.items() if other != name}


@pytest.mark.parametrize(("killed", "left"), [(True, '{"before": 1}'), (False, '{"now"')])
def test_the_state_comes_back_from_its_copy_only_after_a_kill(home: StackHome, *, killed: bool, left: str) -> None:
    (home.root / "state/.pulumi/stacks/p/atlas.json").write_text('{"now"')
    assert bool(mend_files(home, "p", killed=killed)) is killed
    assert _state(home)["atlas.json"] == left


def test_other_backends_are_none_of_our_business(tmp_path: Path) -> None:
    assert mend_files(StackHome("atlas", tmp_path, backend_url="s3://a"), "p", killed=True) == []
