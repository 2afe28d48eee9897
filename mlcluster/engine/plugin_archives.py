"""Plugin archives on this machine, for sites without internet access.

An archive has the name and the contents of a release: `pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`, with the program
`pulumi-resource-NAME` in its top directory.
"""

import gzip
import platform
import re
import sys
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from mlcluster.engine.plugin_pins import PluginPin
from mlcluster.errors import MlclusterError

_NAME = re.compile(
    r"pulumi-resource-(?P<name>[a-z][a-z-]*)-v(?P<version>\d+\.\d+\.\d+)-(?P<platform>[a-z]+-[a-z0-9]+)\.tar\.gz"
)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SUFFIX = ".tar.gz"
_CHUNK = 1 << 20
_DOING = "reading plugin archives"


@dataclass(frozen=True, slots=True)
class Archive:
    """A plugin archive; the attributes come from its file name."""

    path: Path
    name: str
    version: str
    platform: str

    def holds(self, pin: PluginPin) -> bool:
        """Return whether it is an archive of this plugin in this version, for any platform."""
        return (self.name, self.version) == (pin.name, pin.version)


def this_platform() -> str:
    """Return the platform in the spelling of releases, e.g. linux-amd64."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_MACHINES.get(machine, machine)}"


def archive_name(pin: PluginPin, where: str = "") -> str:
    """Return the file name of a plugin's archive in a release, by default for this platform."""
    return f"pulumi-resource-{pin.name}-v{pin.version}-{where or this_platform()}{_SUFFIX}"


def archives_at(source: Path) -> list[Archive]:
    """Return the archives in the directory `source`, or `source` itself if it is an archive.

    Raises:
        MlclusterError: `source` does not exist, is unreadable, or is a file whose name is not that of an archive.
    """
    if not source.exists():
        raise MlclusterError(_DOING, f"{source} does not exist", "Pass an existing directory or archive to `--from`.")
    try:
        files = sorted(source.iterdir()) if source.is_dir() else [source]
    except OSError as error:
        raise MlclusterError(_DOING, str(error), "Make the directory readable for your user.") from error
    found = [
        Archive(file, said["name"], said["version"], said["platform"])
        for file in files
        if (said := _NAME.fullmatch(file.name))
    ]
    if not found and not source.is_dir():
        happened = f"the name of {source} does not identify the plugin in it"
        hint = f"Keep the name of the release, pulumi-resource-NAME-vVERSION-{this_platform()}{_SUFFIX}."
        raise MlclusterError(_DOING, happened, hint)
    return found


def archive_of(pin: PluginPin, archives: list[Archive]) -> Archive | None:
    """Return the archive of a plugin for this platform; None if there is none for any platform.

    Raises:
        MlclusterError: there are archives only for other platforms.
    """
    same = [archive for archive in archives if archive.holds(pin)]
    fitting = [archive for archive in same if archive.platform == this_platform()]
    if same and not fitting:
        others = ", ".join(archive.platform for archive in same)
        happened = f"the archives of {pin.title} are for {others}, and this machine is {this_platform()}"
        raise MlclusterError(_DOING, happened, f"Add {archive_name(pin)}.")
    return fitting[0] if fitting else None


def check_archive(archive: Archive, room: Callable[[], int]) -> None:
    """Read an archive to its end, to refuse an invalid archive before the engine unpacks it.

    Args:
        archive: the archive.
        room: returns the free bytes on the disk that it is unpacked to.

    Raises:
        MlclusterError: it is damaged, has other contents, or does not fit on the disk.
    """
    program = f"pulumi-resource-{archive.name}"
    try:
        with gzip.open(archive.path) as stream:
            programs, others, size = _read(stream, program)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        happened = f"{archive.path} cannot be read as a gzipped archive ({error})"
        raise MlclusterError(_DOING, happened, "Fetch the archive again and compare its checksum.") from error
    if others:
        happened = f"{archive.path} contains {others[0]}, which is neither a file nor a directory"
        raise MlclusterError(_DOING, happened, "Use the archive of the plugin's release, which has no links.")
    if not programs:
        happened = f"{archive.path} has no executable file {program} in its top directory"
        raise MlclusterError(_DOING, happened, "Use the archive of the plugin's release, unchanged.")
    try:
        free = room()
    except OSError as error:
        raise MlclusterError(_DOING, str(error), "Set PULUMI_HOME to a directory that you can write to.") from error
    if free < size:
        happened = f"{archive.path} unpacks to {size / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free"
        raise MlclusterError(_DOING, happened, "Free some space, or set PULUMI_HOME to a directory on another disk.")


def _read(stream: "IO[bytes] | gzip.GzipFile", program: str) -> tuple[list[str], list[str], int]:
    """Return the executable files named `program`, the members other than files and directories, and the total bytes.

    Other members are refused because the engine creates links from the archive, and writes later members through them,
    even outside its directory.

    Raises:
        tarfile.TarError: a name points outside the archive.
    """
    programs, others, size = [], [], 0
    with tarfile.open(fileobj=stream, mode="r|") as members:
        for member in members:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                message = f"{member.name} points outside the archive"
                raise tarfile.TarError(message)
            size += member.size
            if not (member.isfile() or member.isdir()):
                others.append(member.name)
            if member.isfile() and str(path) == program and member.mode & 0o100:
                programs.append(member.name)
    while stream.read(_CHUNK):  # to the checksum at the end
        pass
    return programs, others, size
