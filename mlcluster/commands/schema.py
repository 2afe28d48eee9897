"""`mlcluster schema`: the JSON Schema of the spec, for editors."""

import json

from mlcluster.errors import ExitCode
from mlcluster.report.standard_output import print_result
from mlcluster.spec.schema import cluster_schema


def schema() -> ExitCode:
    """Print the JSON Schema of the spec."""
    print_result(schema_text())
    return ExitCode.OK


def schema_text() -> str:
    """Return the JSON Schema of `cluster.yaml` (draft 2020-12) with a final line end; equal models give equal bytes.

    It covers the types, values and patterns of the fields. `mlcluster validate` also runs the cross-field checks.
    """
    return json.dumps(cluster_schema(), indent=2, ensure_ascii=False) + "\n"
