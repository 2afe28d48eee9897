"""`mlcluster plugins`: install and list the provider plugins of the engine."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mlcluster.deploy.preview.prerequisites import presences
from mlcluster.deploy.session.tools import engine_of
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.engine import plugins
from mlcluster.engine.plugin_archives import Archive, archive_name, archive_of, archives_at, check_archive
from mlcluster.engine.plugin_install import install_plugin
from mlcluster.engine.plugin_pins import PluginPin, Presence
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab.failures import interruptible
from mlcluster.lab.toolchain.build import free_bytes
from mlcluster.progress import Progress
from mlcluster.report.plugins_text import plugins_document, plugins_text
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import print_result, use_color

_DOING = "installing plugins"


def list_plugins(path: Path | None, output: str) -> ExitCode:
    """Print where each plugin is that a spec needs; without a spec those of `eks`, and the optional ones."""
    found = presences(None if path is None else load_workspace(path))
    if output == "json":
        print_result(json.dumps(plugins_document(found, str(plugins.user_home())), indent=2))
    else:
        print_result(plugins_text(found, _spelled(path), color=use_color()))
    return ExitCode.OK


def install_plugins(
    path: Path | None, source: Path | None, output: str, engine: Callable[[Progress], Path] = engine_of
) -> ExitCode:
    """Install the plugins that are missing, from `source` or from the network.

    An optional plugin is installed only from `source`.

    Args:
        path: the spec whose plugins are needed; None for those of an `eks` spec with default settings.
        source: a directory with archives, or one archive; None to download.
        output: text or jsonl.
        engine: finds the pulumi executable.

    Raises:
        MlclusterError: an archive or a download failed, or a plugin is not in `source`.
    """
    screen = Screen(output, color=use_color())
    found = presences(None if path is None else load_workspace(path))
    missing = [one.pin for one in found if not one.usable]
    needed = [pin for pin in missing if not pin.optional]
    chosen = None if source is None else _chosen(missing, found, source)
    wanted = needed if chosen is None else [pin for pin in missing if pin in chosen]
    if wanted:
        _install(wanted, chosen, engine(screen.progress), screen.progress)
    _refuse_missing([pin for pin in needed if pin not in wanted], source)
    now = presences(None if path is None else load_workspace(path))
    text = plugins_text(now, _spelled(path), color=use_color()).rstrip("\n")
    done = {"installed": [{"name": pin.name, "version": pin.version} for pin in wanted]}
    screen.result("PluginsInstalled", text, {**done, "home": str(plugins.user_home())})
    return ExitCode.OK


def _spelled(path: Path | None) -> str:
    return "" if path is None else str(path)


def _chosen(missing: Sequence[PluginPin], found: Sequence[Presence], source: Path) -> dict[PluginPin, Archive]:
    """Return the archive for each missing plugin that `source` has."""
    archives = archives_at(source)
    if not source.is_dir() and not any(archives[0].holds(one.pin) for one in found):
        known = ", ".join(one.pin.title for one in found) or "none"
        happened = f"{source} is {archives[0].name} v{archives[0].version}; the plugins to install are {known}"
        raise MlclusterError(_DOING, happened, "Give an archive of one of these plugins, in this version.")
    return {pin: archive for pin in missing if (archive := archive_of(pin, archives))}


def _install(
    wanted: Sequence[PluginPin], chosen: dict[PluginPin, Archive] | None, binary: Path, progress: Progress
) -> None:
    for archive in (chosen or {}).values():
        with progress.task(f"checking {archive.path.name}"):
            check_archive(archive, partial(free_bytes, plugins.user_home()))
    with interruptible(_DOING, "what is installed so far stays", "the same command goes on"):
        for pin in wanted:
            archive_path = None if chosen is None else chosen[pin].path
            with progress.task(f"installing the plugin {pin.title}") as task:
                install_plugin(binary, pin, archive_path, task)


def _refuse_missing(left: Sequence[PluginPin], source: Path | None) -> None:
    if left and source is not None and source.is_dir():
        names = ", ".join(archive_name(pin) for pin in left)
        raise MlclusterError(_DOING, f"{source} does not have {names}", "Add them and run the same command again.")
