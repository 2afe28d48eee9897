"""The recorded settings of a stack."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster.engine.settings import Provider, StackSettings, read_settings, write_settings
from mlcluster.errors import MlclusterError

pytestmark = pytest.mark.unit
SETTINGS = StackSettings("uid-1", "builtin", "local", "atlas")


def test_settings_round_trip(tmp_path: Path) -> None:
    write_settings(tmp_path / "s.json", SETTINGS)
    assert read_settings(tmp_path / "s.json") == SETTINGS
    assert read_settings(tmp_path / "absent.json") is None


def test_keys_of_a_newer_version_are_ignored_and_missing_ones_empty(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"provider": "official", "later": 1, "spec_name": "atlas"}))
    assert read_settings(tmp_path / "s.json") == StackSettings("", "official", "", "atlas")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"provider": "other"}', "\x00"])
def test_a_damaged_file_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(MlclusterError, match="was not written by mlcluster"):
        read_settings(tmp_path / "s.json")


def test_the_same_cluster_and_an_unknown_one_are_accepted() -> None:
    SETTINGS.check(SETTINGS)
    SETTINGS.check(replace(SETTINGS, cluster_uid=""))
    replace(SETTINGS, cluster_uid="").check(SETTINGS)
    with pytest.raises(MlclusterError):
        SETTINGS.check(replace(SETTINGS, cluster_uid="uid-2"))


@pytest.mark.parametrize(
    ("change", "words"),
    [({"cluster_uid": "uid-2"}, ("uid-1", "uid-2")), ({"provider": "official"}, ("builtin", "official"))],
)
def test_another_cluster_or_provider_is_refused_and_both_are_named(
    change: dict[str, str], words: tuple[str, str]
) -> None:
    with pytest.raises(MlclusterError) as caught:
        SETTINGS.check(replace(SETTINGS, **change))  # type: ignore[arg-type] # parametrised
    assert all(word in caught.value.happened for word in words)


@pytest.mark.parametrize(("recorded", "now"), [("official", "builtin"), ("builtin", "official")])
def test_the_hint_names_the_provider_that_wrote_the_stack(recorded: Provider, now: Provider) -> None:
    """The official provider was once the default on `existing` and `eks`, and wrote the stacks of that time."""
    written, this = StackSettings("uid-1", recorded, "eks", "atlas"), StackSettings("uid-1", now, "eks", "atlas")
    with pytest.raises(MlclusterError) as caught:
        written.check(this)
    assert f"`kubernetesProvider: {recorded}`" in str(caught.value.hint)
