"""`mlcluster explain-spec`: the reference of the spec's fields on the command line."""

import json
import shutil

from mlcluster.errors import ExitCode
from mlcluster.report.spec_fields import fields_document, fields_text
from mlcluster.report.standard_output import print_result, use_color
from mlcluster.report.tables import WIDE
from mlcluster.spec.field_paths import find_fields
from mlcluster.spec.field_reference import top_fields


def explain_spec(path: str | None, output: str) -> ExitCode:
    """Print the facts of a field and the fields inside it; without a path the top-level fields.

    Raises:
        UnknownFieldError: the spec has no such field.
    """
    found = () if path is None else find_fields(path)
    inside = tuple(child for field in found for child in field.fields) if found else top_fields()
    if output == "json":
        print_result(json.dumps(fields_document(found, inside), indent=2))
    else:
        width = shutil.get_terminal_size((WIDE, 24)).columns
        print_result(fields_text(found, inside, color=use_color(), width=width))
    return ExitCode.OK
