"""Directories for Unix sockets: private, and with a path that is short enough."""

import socket
import stat
import tempfile
from pathlib import Path

import pytest

from mlcluster.directories import make_socket_directory

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("length", [10, 100])
def test_a_socket_fits_into_the_directory_below_any_temporary_directory(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    temporary = tmp_path_factory.mktemp("t" * length)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    directory = make_socket_directory()
    try:
        with socket.socket(socket.AF_UNIX) as found:
            found.bind(f"{directory}/server")
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    finally:
        (directory / "server").unlink(missing_ok=True)
        directory.rmdir()
    assert not list(temporary.iterdir())


def test_the_directory_is_below_the_temporary_directory_if_its_path_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="short-", dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        directory = make_socket_directory()
        assert directory.parent == Path(short)
