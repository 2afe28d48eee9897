"""Where mlcluster keeps things on this machine. Only `make_socket_directory` creates a directory."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlcluster.errors import MlclusterError

STATE_VARIABLE = "MLCLUSTER_STATE_DIR"
CACHE_VARIABLE = "MLCLUSTER_CACHE_DIR"
_LONGEST_SOCKET_DIRECTORY = 90
"""Characters. The path of a Unix socket, with its name in the directory, may have about 100 (sun_path of unix(7))."""


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError into an error that names the path, the reason and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hint = f"Choose a directory that you can write to with {STATE_VARIABLE}."
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            hint = f"Free some space, or choose another directory with {STATE_VARIABLE}."
        raise MlclusterError(doing, f"{path}: {reason}", hint) from error


def state_directory() -> Path:
    """Stacks, labs and logs: `$MLCLUSTER_STATE_DIR`, else the user's state directory."""
    given = os.environ.get(STATE_VARIABLE)
    if given:
        return Path(given).absolute()
    from platformdirs import user_state_path

    return user_state_path("mlcluster")


def cache_directory() -> Path:
    """Return the toolchain, which can be built again: `$MLCLUSTER_CACHE_DIR`, else the user's cache directory."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("mlcluster")


def make_socket_directory() -> Path:
    """Create a directory for Unix sockets that only this user can enter, and return its path.

    The directory is below $TMPDIR, or below /tmp if the path would be too long for a socket.
    """
    import tempfile

    made = Path(tempfile.mkdtemp(prefix="mlcluster-"))
    if len(str(made)) <= _LONGEST_SOCKET_DIRECTORY:
        return made
    made.rmdir()
    return Path(tempfile.mkdtemp(prefix="mlcluster-", dir="/tmp"))


def packaged(name: str) -> Path:
    """Return the shipped directory `stacks` or `templates`: inside the wheel, else beside the package in a checkout.

    The packaged place comes first: in site-packages a sibling `templates/` could belong to anyone.
    """
    package = Path(__file__).parent
    inside = package / "_data" / name
    return inside if inside.is_dir() else package.parent / name
