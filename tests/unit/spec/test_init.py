"""A first spec: commented, valid, and never over another file."""

from pathlib import Path

import pytest

from mlcluster.commands.init import starter, write_starter
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.plan import build
from mlcluster.spec.load import load, parse

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("target", ["local", "existing", "eks"])
def test_a_starter_is_valid_and_plans(target: str) -> None:
    spec = parse(starter(target, "atlas").encode(), "cluster.yaml").spec
    assert spec.metadata.name == "atlas"
    assert spec.target.kind == target
    assert build(spec).objects


@pytest.mark.parametrize("name", ["true", "1", "null", "0x1", "no"])
def test_a_name_that_yaml_would_read_as_something_else_stays_a_name(name: str) -> None:
    assert parse(starter("local", name).encode(), "cluster.yaml").spec.metadata.name == name


@pytest.mark.parametrize(
    ("target", "name"),
    [("aws", "atlas"), ("local", "Atlas"), ("local", ""), ("local", "a" * 41), ("local", "a\nb"), ("local", "a\n")],
)
def test_a_starter_for_nothing_is_refused(target: str, name: str) -> None:
    with pytest.raises(MlclusterError) as caught:
        starter(target, name)
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_starter_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    write_starter(path, "local", "atlas")
    written = path.read_text()
    assert load(path).spec.metadata.name == "atlas"
    with pytest.raises(MlclusterError, match="exists, and init overwrites nothing"):
        write_starter(path, "existing", "other")
    assert path.read_text() == written


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match="cannot write"):
        write_starter(tmp_path / "no" / "cluster.yaml", "local", "atlas")
