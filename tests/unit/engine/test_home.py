"""Directories, files and environment of a stack."""

import errno
import os
import stat
from pathlib import Path

import pytest

from mlcluster.engine.files import private_directory, write_private
from mlcluster.engine.home import KEPT_LOGS, StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import MlclusterError

pytestmark = pytest.mark.unit
SETTINGS = StackSettings("uid-1", "builtin", "local", "atlas")


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLCLUSTER_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_is_private(tmp_path: Path) -> None:
    os.umask(os.umask(0o022))
    home = StackHome("atlas", tmp_path / "stacks" / "atlas")
    work = home.prepare("mlcluster-platform")
    assert work == home.root / "projects" / "mlcluster-platform"
    assert {_mode(path) for path in home.root.rglob("*") if path.is_dir()} == {0o700}
    assert _mode(home.root) == 0o700
    assert {_mode(path) for path in home.root.rglob("*") if path.is_file()} == {0o600}


def test_preparing_again_keeps_passphrase_and_salt(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path)
    work = home.prepare("p")
    passphrase = (tmp_path / "passphrase").read_text()
    (work / "Pulumi.atlas.yaml").write_text("encryptionsalt: v1:abc\n")
    home.prepare("p")
    assert (tmp_path / "passphrase").read_text() == passphrase
    assert len(passphrase) > 40
    assert (work / "Pulumi.atlas.yaml").read_text() == "encryptionsalt: v1:abc\n"
    assert (work / "Pulumi.yaml").read_text() == "name: p\nruntime: python\n"


def test_a_missing_passphrase_is_an_error(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path)
    home.prepare("p")
    state = tmp_path / "state/.pulumi/stacks/p"
    state.mkdir(parents=True)
    (state / "atlas.json").write_text("{}")
    (tmp_path / "passphrase").unlink()
    with pytest.raises(MlclusterError, match=r"passphrase file .* is missing"):
        home.prepare("p")


def test_the_default_root_is_in_the_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path))
    home = StackHome("atlas")
    assert home.root == tmp_path / "stacks" / "atlas"
    assert home.backend_url == f"file://{tmp_path}/stacks/atlas/state"
    assert home.checkpoint("p") == tmp_path / "stacks/atlas/state/.pulumi/stacks/p/atlas.json"


def test_the_environment_overrides_the_backend_of_the_spec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert StackHome("atlas", tmp_path, backend_url="s3://a").backend_url == "s3://a"
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", "gs://b")
    home = StackHome("atlas", tmp_path, backend_url="s3://a")
    assert (home.backend_url, home.owns_backend, home.state_files, home.checkpoint("p")) == (
        "gs://b",
        False,
        None,
        None,
    )


def test_a_generated_passphrase_is_passed_as_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "of the caller")
    home = StackHome("atlas", tmp_path)
    home.prepare("p")
    told = home.environment()
    assert told["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(tmp_path / "passphrase")
    assert "PULUMI_CONFIG_PASSPHRASE" not in told
    assert told["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"
    assert told["PULUMI_SKIP_UPDATE_CHECK"] == "true"


def test_the_callers_passphrase_applies_to_a_shared_backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "tok")
    home = StackHome("atlas", tmp_path, backend_url="s3://a", secrets_provider="passphrase")
    home.prepare("p")
    told = home.environment()
    assert told["PULUMI_CONFIG_PASSPHRASE"] == ""
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in told
    assert told["PULUMI_ACCESS_TOKEN"] == "tok"
    assert not (tmp_path / "passphrase").exists()
    assert not (tmp_path / "state").exists()


def test_a_key_service_needs_no_passphrase(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path, backend_url="s3://a", secrets_provider="awskms://alias/atlas")
    home.prepare("p")
    assert home.secrets_provider == "awskms://alias/atlas"
    assert not (tmp_path / "passphrase").exists()
    assert not [name for name in home.environment() if "PASSPHRASE" in name]


def test_an_unusable_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MlclusterError, match=r"Not a directory|File exists") as caught:
        StackHome("atlas", tmp_path / "file" / "atlas").prepare("p")
    assert "MLCLUSTER_STATE_DIR" in caught.value.hint


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_private(path, "old")
    (tmp_path / f".settings.json.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(MlclusterError, match=os.strerror(errno.ENOSPC)):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["settings.json"]


def test_a_readable_directory_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    assert _mode(private_directory(tmp_path / "open")) == 0o700


def test_settings_are_recorded_and_a_known_uid_stays(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path / "atlas")
    assert home.settings() is None
    home.record(SETTINGS)
    home.record(StackSettings("", "builtin", "local", "atlas"))
    assert home.settings() == SETTINGS
    assert _mode(home.root / "settings.json") == 0o600


def test_forgetting_deletes_everything_and_is_idempotent(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path / "atlas")
    home.prepare("p")
    home.forget()
    home.forget()
    assert not home.root.exists()


def test_old_engine_logs_are_deleted(tmp_path: Path) -> None:
    home = StackHome("atlas", tmp_path)
    logs = tmp_path / "home" / "logs"
    logs.mkdir(parents=True)
    for number in range(KEPT_LOGS + 3):
        path = logs / f"pulumi-{number:03}.log"
        path.write_text("")
        os.utime(path, (number, number))
    home.prepare("p")
    assert min(path.name for path in logs.iterdir()) == "pulumi-003.log"
