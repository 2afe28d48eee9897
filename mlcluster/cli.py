"""The command line: arguments in, exit code out. Each command is a module of `commands/`, imported when it runs."""

import os
import signal
import stat
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from mlcluster import __version__, failures
from mlcluster.commands import lab
from mlcluster.errors import ExitCode

app = typer.Typer(
    name="mlcluster",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="One YAML file becomes a multi-tenant GPU Kubernetes cluster.",
)


plugins_app = typer.Typer(
    help="The provider plugins of the engine: for target eks, and for kubernetesProvider: official.",
    no_args_is_help=True,
)
app.add_typer(lab.app, name="lab")
app.add_typer(plugins_app, name="plugins")


class OutputFormat(StrEnum):
    """Output formats of commands that read."""

    TEXT = "text"
    JSON = "json"


class PlanFormat(StrEnum):
    """Formats of the plan."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class EventFormat(StrEnum):
    """Output formats of commands that change something."""

    TEXT = "text"
    JSONL = "jsonl"


class FailOn(StrEnum):
    """The mildest finding or change that makes the exit code 4."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


class TargetKind(StrEnum):
    """Targets that `init` writes a spec for."""

    LOCAL = "local"
    EXISTING = "existing"
    EKS = "eks"


SpecFile = Annotated[Path, typer.Argument(metavar="FILE", help="the spec; - is standard input", show_default=True)]
DEFAULT_SPEC = Path("cluster.yaml")
AnySpec = Annotated[Path | None, typer.Argument(metavar="FILE", help="a spec; default: check this machine only")]
PluginSpec = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="a spec; default: the plugins of an eks spec with default settings"),
]
Format = Annotated[OutputFormat, typer.Option("--output", "-o", help="format of the result")]
Events = Annotated[EventFormat, typer.Option("--output", "-o", help="format of progress and result")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
Refresh = Annotated[bool, typer.Option(help="read the cluster first, so that changes made by others are seen")]


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
    """Options that stand before the command."""


@app.command()
def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="where to write it; - is standard output")
    ] = DEFAULT_SPEC,
    target: Annotated[TargetKind, typer.Option(help="where the cluster will come from")] = TargetKind.LOCAL,
    name: Annotated[str, typer.Option(help="name of the cluster")] = "atlas",
) -> None:
    """Write a commented starter spec."""
    from mlcluster.commands import init as command

    _run(lambda: command.init(file, target.value, name))


@app.command()
def schema() -> None:
    """Print the JSON Schema of the spec, for editors."""
    from mlcluster.commands import schema as command

    _run(command.schema)


@app.command()
def validate(
    file: SpecFile = DEFAULT_SPEC,
    output: Format = OutputFormat.TEXT,
    fail_on: Annotated[FailOn, typer.Option(help="mildest finding that makes the exit code 4")] = FailOn.ERROR,
) -> None:
    """Check a spec: every problem at once, then what the rules find in its plan."""
    from mlcluster.commands import validate as command

    _run(lambda: command.validate(file, output.value, fail_on.value), output.value)


@app.command()
def plan(
    file: SpecFile = DEFAULT_SPEC,
    output: Annotated[PlanFormat, typer.Option("--output", "-o", help="format of the plan")] = PlanFormat.TEXT,
    live: Annotated[
        bool, typer.Option("--live", help="look at the cluster too: what is there already; reads only")
    ] = False,
    chart_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="render the chart archives in DIR with Helm, and count their pods"),
    ] = None,
) -> None:
    """Show what `up` would make true. Offline: needs no cluster, engine or credentials, except with --live."""
    from mlcluster.commands import plan as command

    _run(lambda: command.plan(file, output.value, live=live, charts=chart_dir), output.value)


@app.command()
def preflight(file: SpecFile = DEFAULT_SPEC, output: Format = OutputFormat.TEXT) -> None:
    """Ask the AWS account whether it allows what the plan holds. Reads only."""
    from mlcluster.commands import preflight as command

    _run(lambda: command.preflight(file, output.value), output.value)


@app.command()
def preview(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    refresh: Refresh = True,
) -> None:
    """Ask the engine and the cluster what `up` would change now."""
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
            help="let this go; `up` and `preview` say what has to be named; may be repeated",
        ),
    ] = None,
) -> None:
    """Make the cluster what the spec says: preview, show, ask, apply."""
    from mlcluster.commands import up as command

    options = command.UpOptions(file, output.value, yes, tuple(allow_destroy or ()), refresh)
    _run(lambda: command.up(options), output.value)


@app.command()
def status(
    file: SpecFile = DEFAULT_SPEC,
    output: Format = OutputFormat.TEXT,
    fail_on_drift: Annotated[bool, typer.Option(help="exit code 4 when something is missing or drifted")] = False,
) -> None:
    """Compare plan, state and cluster: what is there, ready, drifted."""
    from mlcluster.commands import status as command

    _run(lambda: command.status(file, output.value, fail_on_drift=fail_on_drift), output.value)


@app.command()
def down(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    yes: Yes = False,
    plan: Annotated[bool, typer.Option("--plan", help="only show what would go and what is kept")] = False,
    delete_retained: Annotated[
        list[str] | None, typer.Option(help="KIND/NAME that is kept otherwise, e.g. FileSystem/datasets")
    ] = None,
) -> None:
    """Take away everything that `up` made, and prove that nothing is left."""
    from mlcluster.commands import down as command

    options = command.DownOptions(file, output.value, yes, plan, tuple(delete_retained or ()))
    _run(lambda: command.down(options), output.value)


@app.command()
def unlock(
    file: SpecFile = DEFAULT_SPEC,
    output: Events = EventFormat.TEXT,
    assume_dead: Annotated[bool, typer.Option(help="vouch that a holder on another host is gone")] = False,
) -> None:
    """Clear what a killed run left behind, after a check that its process is dead."""
    from mlcluster.commands import unlock as command

    _run(lambda: command.unlock(file, output.value, assume_dead=assume_dead), output.value)


@app.command()
def doctor(file: AnySpec = None, output: Format = OutputFormat.TEXT) -> None:
    """Check this machine and, with a spec, what its cluster needs; each line with its fix. Reads only."""
    from mlcluster.commands import doctor as command

    _run(lambda: command.doctor(file, output.value), output.value)


@plugins_app.command("list")
def plugins_list(file: PluginSpec = None, output: Format = OutputFormat.TEXT) -> None:
    """Show which plugins are needed, in which version, by what, and where each is."""
    from mlcluster.commands import plugins as command

    _run(lambda: command.list_plugins(file, output.value), output.value)


@plugins_app.command("install")
def plugins_install(
    file: PluginSpec = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR|ARCHIVE", help="directory of release archives, or one; default: download"),
    ] = None,
    output: Events = EventFormat.TEXT,
) -> None:
    """Install the plugins that are missing, with the engine that mlcluster runs."""
    from mlcluster.commands import plugins as command

    _run(lambda: command.install_plugins(file, source, output.value), output.value)


def _take_signals_for_interrupts() -> None:
    """Have SIGTERM and SIGHUP do what Ctrl-C does: else children and what is half done would stay behind.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupt)


def main() -> None:
    """The console script."""
    if sys.argv[1:] == ["--version"]:  # the most frequent call of scripts: no need to build the command line
        print(f"mlcluster {__version__}")
        return
    _take_signals_for_interrupts()
    os.umask(os.umask(0o077) | stat.S_IWOTH)  # for what mlcluster and its programs write: never open to all users
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- the last stop before the shell
        sys.exit(int(failures.report(error)))
