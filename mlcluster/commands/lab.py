"""`mlcluster lab ...`: manage a local control plane by hand; for a `local` spec, `up` and `down` manage it."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from mlcluster.commands.options import Format, OutputFormat
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.standard_output import print_result, write

if TYPE_CHECKING:
    from pathlib import Path

    from mlcluster.lab.lab import Lab
    from mlcluster.progress import Progress

app = typer.Typer(
    help="The local control plane: real servers as host processes, simulated nodes.", no_args_is_help=True
)
Name = Annotated[str, typer.Option("--name", help="name of the lab; several labs can run at the same time")]
Known = Annotated[
    str | None, typer.Option("--name", help='name of the lab; default: the only lab, or the lab "default"')
]


@app.command()
def start(
    name: Name = "default",
    *,
    extended_resource_toleration: Annotated[
        bool,
        typer.Option(
            help="add a toleration for the GPU taint to every pod that requests a GPU, as EKS does",
        ),
    ] = True,
) -> None:
    """Start a control plane without nodes. Processes that already run are not restarted."""
    from mlcluster.lab.toolchain import ensure

    lab, progress = _lab(name), _progress()
    lab.start(ensure(progress), progress, extended_resource_toleration=extended_resource_toleration)
    print_result(f"lab {name} runs at {lab.status().server}\nkubeconfig: {lab.kubeconfig}")


@app.command()
def stop(name: Known = None) -> None:
    """Stop all processes of a lab and keep its data for the next start."""
    name = _chosen(name)
    _refuse_during_a_run(name, "lab stop")
    _lab(name).stop(_progress())


@app.command()
def status(
    name: Known = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="show all labs of this user")] = False,
    output: Format = OutputFormat.TEXT,
) -> None:
    """Show the processes of a lab and whether they are ready."""
    from mlcluster.lab.lab import list_labs
    from mlcluster.report.lab_status import API_VERSION, status_document, status_text

    try:
        found = list_labs() if every else [_lab(_chosen(name)).status()]
    except MlclusterError as error:
        if output is OutputFormat.JSON:
            print_result(json.dumps(error.as_document(), indent=2))
        raise
    if output is OutputFormat.TEXT:
        print_result("\n\n".join(status_text(one) for one in found) if found else "no labs")
    elif every:
        items = [status_document(one) for one in found]
        print_result(json.dumps({"apiVersion": API_VERSION, "kind": "LabList", "items": items}, indent=2))
    else:
        print_result(json.dumps(status_document(found[0]), indent=2))


@app.command()
def logs(
    component: Annotated[
        str | None, typer.Argument(help="name of a component, such as etcd or kueue; default: all")
    ] = None,
    name: Known = None,
    lines: Annotated[int, typer.Option("--lines", min=1, help="number of lines from the end of each log")] = 20,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="print new lines until Ctrl-C; requires a component")
    ] = False,
) -> None:
    """Print the last lines of the components' logs."""
    from mlcluster.lab.process import last_lines

    found = _logs(_lab(_chosen(name)), component)
    if follow and component is None:
        raise MlclusterError(
            "following a log",
            "--follow requires a component",
            "Run `mlcluster lab logs kueue -f`.",
            exit_code=ExitCode.USAGE,
        )
    for log in found:
        if component is None:
            print_result(f"==> {log.stem} <==")
        print_result(last_lines(log, lines))
    if follow:
        _follow(found[0])


@app.command()
def kubeconfig(name: Known = None) -> None:
    """Print the path of a running lab's kubeconfig: export KUBECONFIG=$(mlcluster lab kubeconfig)."""
    print_result(str(_running_kubeconfig(_chosen(name))))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def kubectl(context: typer.Context, name: Known = None) -> None:
    """Run the toolchain's kubectl on a lab: mlcluster lab kubectl -- get nodes."""
    from mlcluster.lab.toolchain import ensure_tool

    config = _running_kubeconfig(_chosen(name))
    program = ensure_tool("kubectl", _progress())
    os.execve(program, [str(program), *context.args], os.environ | {"KUBECONFIG": str(config)})  # noqa: S606 - no shell


@app.command()
def reset(
    name: Known = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
) -> None:
    """Stop a lab and delete all of its data."""
    from mlcluster.deploy.session.prompts import require_answers

    name = _chosen(name)
    lab = _lab(name)
    _refuse_during_a_run(name, "lab reset")
    require_answers(yes=yes)
    if not yes and not typer.confirm(f"Delete lab {name} and everything in it?", err=True):
        raise MlclusterError(
            f"deleting lab {name}", "not confirmed", "Confirm, or add --yes.", exit_code=ExitCode.USAGE
        )
    lab.reset(_progress())


@app.command()
def build(
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help="build this optional program too, such as jobset or promtool; may be repeated"),
    ] = None,
    *,
    keep_caches: Annotated[bool, typer.Option(help="keep Go's module and build caches, about 12 GB")] = False,
) -> None:
    """Build the programs of the lab from pinned Go modules, unless they are built already."""
    from mlcluster.lab.toolchain import ensure, ensure_optional, optional

    wanted = also or []
    if unknown := set(wanted) - set(optional.NAMES):
        raise MlclusterError(
            "building the toolchain",
            f"there is no program {', '.join(sorted(unknown))}",
            f"Choose one of {', '.join(optional.NAMES)}.",
            exit_code=ExitCode.USAGE,
        )
    progress = _progress()
    ensure(progress, keep_caches=keep_caches or bool(wanted))
    ensure_optional(wanted, progress, keep_caches=keep_caches)


def _refuse_during_a_run(name: str, command: str) -> None:
    """Refuse a command that would stop a lab during an `up` or `down`.

    Raises:
        RunInProgressError: a run on this machine holds a stack on this lab; names it.
    """
    from mlcluster.directories import state_directory
    from mlcluster.engine.home import StackHome
    from mlcluster.engine.run_lock import RunInProgressError, runs_in_progress

    for holder in runs_in_progress(state_directory() / "stacks"):
        recorded = StackHome(holder.stack).settings()  # before the first record the lab has the name of the stack
        if name == (recorded.lab if recorded is not None and recorded.lab else holder.stack):
            raise RunInProgressError(f"mlcluster {command}", f"lab {name}", holder)


def _chosen(name: str | None) -> str:
    """Return the name of the lab: the given name, else the only lab, else "default".

    Raises:
        MlclusterError: there are several, and none was named.
    """
    if name is not None:
        return name
    from mlcluster.lab.lab import list_labs

    known = [found.name for found in list_labs() if found.state != "absent"]
    if len(known) > 1 and "default" not in known:
        hint = f"Add --name, one of {', '.join(sorted(known))}"
        raise MlclusterError("choosing a lab", f"there are {len(known)} labs", hint, exit_code=ExitCode.USAGE)
    return known[0] if len(known) == 1 else "default"


def _logs(lab: Lab, component: str | None) -> list[Path]:
    existing = {log.stem: log for log in sorted(lab.layout.logs.glob("*.log")) if ".previous" not in log.name}
    if component is None:
        return list(existing.values())
    if component not in existing:
        known = ", ".join(existing) or "none"
        raise MlclusterError(
            "reading logs",
            f"lab {lab.name} has no log of {component}",
            f"Choose one of: {known}.",
            exit_code=ExitCode.USAGE,
        )
    return [existing[component]]


def _follow(log: Path) -> None:
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        while True:
            fresh = file.read()
            if fresh:
                write(fresh.decode(errors="replace"))
            else:
                time.sleep(0.3)


def _running_kubeconfig(name: str) -> Path:
    from mlcluster.lab.failures import NotRunning

    found = _lab(name).status()
    if found.kubeconfig is None:
        raise NotRunning("looking for the kubeconfig", name, found.state)
    return found.kubeconfig


def _lab(name: str) -> Lab:
    from mlcluster.lab.lab import Lab

    return Lab(name)


def _progress() -> Progress:
    from mlcluster.report.progress import for_terminal

    return for_terminal()
