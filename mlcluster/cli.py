"""The command line: arguments in, exit code out. Each command is a module of `commands/`, imported when it runs."""

import gc
import os
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from mlcluster import __version__, failures
from mlcluster.commands import lab
from mlcluster.commands.options import (
    DEFAULT_SPEC,
    AnySpec,
    EventFormat,
    Events,
    FailOn,
    Format,
    OutputFormat,
    PlanFormat,
    PluginSpec,
    Refresh,
    SpecFile,
    TargetKind,
    Yes,
)
from mlcluster.errors import ExitCode

_GARBAGE_THRESHOLD = 100_000
"""Allocations between two garbage collections. Imports and plans produce no garbage, and with the default of 700 the
collector takes a tenth of the CPU time of `validate`."""

app = typer.Typer(
    name="mlcluster",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Create and operate a multi-tenant GPU Kubernetes cluster from one YAML file.",
)


plugins_app = typer.Typer(
    help="Provider plugins of the Pulumi engine, for the target eks and for kubernetesProvider: official.",
    no_args_is_help=True,
)
app.add_typer(lab.app, name="lab")
app.add_typer(plugins_app, name="plugins")


def _run(command: Callable[[], ExitCode], output: str = "text") -> None:
    """Run a command and end the process with its exit code; print errors in one place."""
    try:
        code = command()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the last stop before the shell
        code = failures.report(error, output)
    raise typer.Exit(int(code))


def _version(asked: bool) -> None:  # noqa: FBT001 -- typer's callback signature
    if asked:
        typer.echo(f"mlcluster {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="path of the new spec; - writes to standard output")
    ] = DEFAULT_SPEC,
    target: Annotated[TargetKind, typer.Option(help="target of the spec")] = TargetKind.LOCAL,
    name: Annotated[str, typer.Option(help="name of the cluster")] = "atlas",
) -> None:
    """Write a commented spec to start from."""
    from mlcluster.commands import init as command

    _run(lambda: command.init(file, target.value, name))


@app.command()
def schema() -> None:
    """Print the JSON Schema of the spec, for editors."""
    from mlcluster.commands import schema as command

    _run(command.schema)


def _complete_path(incomplete: str) -> list[str]:
    """Return completions of a path in the spec."""
    from mlcluster.spec.field_paths import complete_path

    return complete_path(incomplete)


@app.command()
def explain_spec(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            help="path of a field, such as nodePools[].minSize; default: the top-level fields",
            autocompletion=_complete_path,
        ),
    ] = None,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Explain a field of the spec: its type, default, unit, allowed values and targets, and the fields inside it."""
    from mlcluster.commands import explain_spec as command

    _run(lambda: command.explain_spec(path, output.value), output.value)


@app.command()
def validate(
    file: SpecFile = DEFAULT_SPEC,
    output: Format = OutputFormat.TEXT,
    fail_on: Annotated[FailOn, typer.Option(help="least severe finding that sets exit code 4")] = FailOn.ERROR,
) -> None:
    """Check a spec, and run the rules on its plan."""
    from mlcluster.commands import validate as command

    _run(lambda: command.validate(file, output.value, fail_on.value), output.value)


@app.command()
def plan(
    file: SpecFile = DEFAULT_SPEC,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="format of the plan")] = PlanFormat.TEXT,
    live: Annotated[
        bool,
        typer.Option("--live", help="compare with the cluster too: components that are installed already; read-only"),
    ] = False,
    chart_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="render the chart archives in DIR with Helm, and count their pods"),
    ] = None,
) -> None:
    """Show the plan: everything that `up` would create. Works offline, except with --live."""
    from mlcluster.commands import plan as command

    _run(lambda: command.plan(file, output.value, live=live, charts=chart_dir), output.value)


@app.command()
def preflight(file: SpecFile = DEFAULT_SPEC, output: Format = OutputFormat.TEXT) -> None:
    """Check that the AWS account can create the planned resources. Read-only."""
    from mlcluster.commands import preflight as command

    _run(lambda: command.preflight(file, output.value), output.value)


@app.command()
def preview(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    refresh: Refresh = True,
) -> None:
    """Show what `up` would change now."""
    from mlcluster.commands import preview as command

    _run(lambda: command.preview(file, output.value, refresh=refresh), output.value)


@app.command()
def up(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    yes: Yes = False,
    refresh: Refresh = True,
    allow_destroy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND/NAME",
            help="allow the deletion of this resource; `preview` lists the names; may be repeated",
        ),
    ] = None,
) -> None:
    """Create or update the cluster to match the spec."""
    from mlcluster.commands import up as command

    options = command.UpOptions(file, output.value, yes, tuple(allow_destroy or ()), refresh)
    _run(lambda: command.up(options), output.value)


@app.command()
def status(
    file: SpecFile = DEFAULT_SPEC,
    output: Format = OutputFormat.TEXT,
    fail_on_drift: Annotated[
        bool, typer.Option(help="set exit code 4 if something is missing, not ready or drifted")
    ] = False,
) -> None:
    """Compare plan, state and cluster."""
    from mlcluster.commands import status as command

    _run(lambda: command.status(file, output.value, fail_on_drift=fail_on_drift), output.value)


@app.command()
def down(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    yes: Yes = False,
    plan: Annotated[bool, typer.Option("--plan", help="only show what would be deleted and what is retained")] = False,
    delete_retained: Annotated[
        list[str] | None, typer.Option(help="delete this retained resource too: KIND/NAME, e.g. FileSystem/datasets")
    ] = None,
) -> None:
    """Delete everything that `up` created, and check that nothing is left."""
    from mlcluster.commands import down as command
    from mlcluster.deploy.teardown.teardown import TeardownOptions

    options = TeardownOptions(yes, plan, tuple(delete_retained or ()))
    _run(lambda: command.down(file, output.value, options), output.value)


@app.command()
def unlock(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    assume_dead: Annotated[bool, typer.Option(help="confirm that a lock holder on another host is dead")] = False,
) -> None:
    """Clear the locks that a killed run left, after a check that its process is dead."""
    from mlcluster.commands import unlock as command

    _run(lambda: command.unlock(file, output.value, assume_dead=assume_dead), output.value)


@app.command()
def doctor(file: AnySpec = None, output: Format = OutputFormat.TEXT) -> None:
    """Check this machine and, with a spec, its cluster; each problem with its fix. Read-only."""
    from mlcluster.commands import doctor as command

    _run(lambda: command.doctor(file, output.value), output.value)


@plugins_app.command("list")
def plugins_list(file: PluginSpec = None, output: Format = OutputFormat.TEXT) -> None:
    """List the plugins that are needed: version, user, and location."""
    from mlcluster.commands import plugins as command

    _run(lambda: command.list_plugins(file, output.value), output.value)


@plugins_app.command("install")
def plugins_install(
    file: PluginSpec = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR|ARCHIVE", help="an archive, or a directory of archives; default: download"),
    ] = None,
    output: Events = EventFormat.TEXT,
) -> None:
    """Install the missing plugins."""
    from mlcluster.commands import plugins as command

    _run(lambda: command.install_plugins(file, source, output.value), output.value)


def _take_signals_for_interrupts() -> None:
    """Make SIGTERM and SIGHUP act like Ctrl-C, so that child processes and partial work are cleaned up.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def main() -> None:
    """Run the console script."""
    if sys.argv[1:] == ["--version"]:  # the most frequent call of scripts: no need to build the command line
        print(f"mlcluster {__version__}")
        return
    gc.set_threshold(_GARBAGE_THRESHOLD)
    _take_signals_for_interrupts()
    os.umask(os.umask(0o077) | stat.S_IWOTH)  # files of mlcluster and its programs are never writable by all users
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the last stop before the shell
        sys.exit(int(failures.report(error)))
