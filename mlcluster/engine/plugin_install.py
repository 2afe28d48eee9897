"""Installation of a plugin into the user's Pulumi home, by the engine that mlcluster runs."""

import os
import re
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from mlcluster.engine.failures import scrub
from mlcluster.engine.plugin_archives import archive_name
from mlcluster.engine.plugin_pins import PluginPin
from mlcluster.engine.plugins import folder_name, is_installed, is_partial, is_there, user_home
from mlcluster.errors import MlclusterError
from mlcluster.processes import bound_group
from mlcluster.progress import Task

KEPT_VARIABLE = "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES"
"""Pulumi's variable for other download addresses, e.g. a mirror: the only PULUMI_ variable passed to the engine."""

_LOOK_EVERY = 1.0  # seconds
_END_SECONDS = 5.0
"""How long the engine may take to end after SIGTERM."""
_ATTEMPT = re.compile(r"Error downloading plugin: (.+)")


def install_plugin(binary: Path, pin: PluginPin, archive: Path | None, task: Task) -> None:
    """Download a plugin, or unpack it from an archive; reinstall a partially installed plugin.

    Args:
        binary: the pulumi executable.
        pin: the plugin.
        archive: a checked archive of it; None to download it.
        task: shows the progress.

    Raises:
        MlclusterError: no network, no such version, no space, or an archive that the engine rejects.
    """
    home = user_home()
    folder = home / "plugins" / folder_name(pin.name, pin.version)
    broken = is_there(folder) and not is_partial(folder)
    argv = [str(binary), "--non-interactive", "plugin", "install", "resource", pin.name, f"v{pin.version}", "--exact"]
    argv += ["--reinstall"] if broken else []
    argv += ["--file", str(archive.absolute())] if archive else []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        code = _run(argv, said.fileno(), folder, task)
        said.seek(0)
        text = said.read()
    if code or not is_installed(home, pin.name, pin.version):
        raise _explained(pin, text, home, archive)


def _run(argv: list[str], output: int, folder: Path, task: Task) -> int:
    """Return the exit code; the engine writes its output to the file `output`."""
    # Use an empty directory: a Pulumi.yaml above the working directory could set other sources.
    with (
        tempfile.TemporaryDirectory(prefix="mlcluster-plugins-") as empty,
        bound_group() as group,
        subprocess.Popen(
            argv,
            env=_environment(),
            cwd=empty,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=group,
        ) as child,
    ):
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return child.wait(_LOOK_EVERY)
                there = _bytes_in(folder)
                task.update(f"{there / 1e6:,.0f} MB unpacked" if there else "downloading")
        except BaseException:  # Ctrl-C too
            _end(child)
            raise


def _bytes_in(folder: Path) -> int:
    """Return the bytes of the files in a directory, as far as the engine did not rename or remove files meanwhile."""
    there = 0
    with suppress(OSError):
        for file in folder.rglob("*"):
            if file.is_file():
                there += file.stat().st_size
    return there


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)
    finally:
        child.kill()  # has no effect if it has ended


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
    if KEPT_VARIABLE in os.environ:
        inherited[KEPT_VARIABLE] = os.environ[KEPT_VARIABLE]
    return {**inherited, "PULUMI_HOME": str(user_home()), "PULUMI_SKIP_UPDATE_CHECK": "true"}


def _explained(pin: PluginPin, text: str, home: Path, archive: Path | None) -> MlclusterError:
    """Return the error for the output of the engine; the messages are those of engine 3.259."""
    doing = f"installing the plugin {pin.title}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    attempts = _ATTEMPT.findall(text)
    reason = scrub((attempts or errors or ["the engine installed no program of that name"])[-1])
    if "no space left on device" in text:
        return MlclusterError(doing, f"the disk of {home} is full", "Free some space and run the same command again.")
    if "permission denied" in text:
        return MlclusterError(doing, reason, f"Make {home} writable for your user, or set PULUMI_HOME.")
    if archive:
        return MlclusterError(doing, reason, f"Fetch {archive.name} again and compare its checksum.")
    hint = f"Check network and proxy, or fetch {archive_name(pin)} elsewhere and add `--from` with its directory."
    return MlclusterError(doing, reason, hint)
