"""Archives as plugin releases have them, with tiny contents."""

import gzip
import io
import tarfile
from pathlib import Path

from mlcluster.engine.plugin_archives import this_platform


def make_archive(
    directory: Path,
    name: str,
    version: str,
    *,
    where: str = "",
    members: dict[str, bytes] | None = None,
    mode: int = 0o755,
) -> Path:
    """Write `pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`.

    Args:
        directory: where to write it.
        name: the plugin.
        version: its version.
        where: platform in the file's name; "" for this one.
        members: what is in it; default: the program and a licence.
        mode: mode of every member.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"pulumi-resource-{name}-v{version}-{where or this_platform()}.tar.gz"
    inside = {f"pulumi-resource-{name}": b"#!/bin/sh\nexit 1\n", "LICENSE": b"free\n"} if members is None else members
    with gzip.open(path, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for member, content in inside.items():
            entry = tarfile.TarInfo(member)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return path
