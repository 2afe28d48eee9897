"""`mlcluster init`: a small commented spec to start from."""

import json
import re
from pathlib import Path
from typing import Literal, get_args

from mlcluster.directories import packaged
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.report.standard_output import print_result
from mlcluster.spec.base import LABEL

TargetKind = Literal["local", "existing", "eks"]
DEFAULT_TARGET: TargetKind = "local"
_DOING = "writing a first spec"
_LONGEST_NAME = 40


def starter(target: str, name: str) -> str:
    """Return the text of a commented spec.

    Args:
        target: local, existing or eks.
        name: of the cluster: lower-case letters, digits and dashes, at most 40 characters.

    Raises:
        MlclusterError: another target, or not a name.
    """
    kinds = get_args(TargetKind)
    if target not in kinds:
        message = f'"{target}" is not one of {", ".join(kinds)}'
        raise MlclusterError(_DOING, message, "give --target", exit_code=ExitCode.USAGE)
    if not re.fullmatch(LABEL, name) or len(name) > _LONGEST_NAME:
        message = f'"{name[:60]}" cannot name a cluster'
        hint = f"use lower-case letters, digits and dashes, at most {_LONGEST_NAME} characters"
        raise MlclusterError(_DOING, message, hint, exit_code=ExitCode.USAGE)
    return _rendered(f"{target}.yaml.j2", name)


def write_starter(path: Path, target: str, name: str) -> None:
    """Write a first spec to `path`, which must not exist yet.

    Raises:
        MlclusterError: it exists, or cannot be written, or `starter` refuses its arguments.
    """
    text = starter(target, name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise MlclusterError(_DOING, f"{path} exists, and init overwrites nothing", "name another file") from None
    except OSError as error:
        raise MlclusterError(_DOING, f"cannot write {path}: {error.strerror}", "choose another place") from error


def init(path: Path, target: str, name: str) -> ExitCode:
    """Write a first spec and print the next commands; for `-` print the spec itself."""
    if str(path) == "-":
        print_result(starter(target, name))
        return ExitCode.OK
    write_starter(path, target, name)
    print_result(f"wrote {path}; next: mlcluster validate {path}, mlcluster plan {path}, mlcluster up {path}")
    return ExitCode.OK


def _rendered(template: str, name: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(packaged("templates") / "init"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - YAML, not HTML; every value goes through the yaml filter
    )
    environment.filters["yaml"] = json.dumps
    return environment.get_template(template).render(name=name)
