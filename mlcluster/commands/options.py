"""Arguments and options that several commands share, and the values that they allow."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
    """The least severe finding that sets exit code 4."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


class TargetKind(StrEnum):
    """Targets for which `init` writes a spec."""

    LOCAL = "local"
    EXISTING = "existing"
    EKS = "eks"


SpecFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="path of the spec; - reads standard input", show_default=True)
]
DEFAULT_SPEC = Path("cluster.yaml")
AnySpec = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="path of a spec; default: check this machine only")
]
PluginSpec = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="path of a spec; default: the plugins of an eks spec with default settings"),
]
Format = Annotated[OutputFormat, typer.Option("--output", "-o", help="format of the result")]
Events = Annotated[EventFormat, typer.Option("--output", "-o", help="format of progress and of the result")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="answer every question with yes")]
Refresh = Annotated[bool, typer.Option(help="read the cluster first, to find changes by other clients")]
