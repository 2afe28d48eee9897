"""Private files and directories of a stack: 0700 and 0600, written atomically."""

import os
from contextlib import suppress
from pathlib import Path

from mlcluster.directories import explained


def private_directory(path: Path) -> Path:
    """Create `path` and its missing parents, readable only by the owner.

    Raises:
        MlclusterError: the directory cannot be created or is not writable.
    """
    with explained("preparing the stack's directory", path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "not writable", str(path))
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only the owner can read; after a crash or on a full disk, the old contents remain.

    Raises:
        MlclusterError: no space, no permission.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with explained("writing the stack's files", path):
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
