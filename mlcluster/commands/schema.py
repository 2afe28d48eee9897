"""`mlcluster schema`: the JSON Schema that editors check a spec with."""

import json

from mlcluster.errors import ExitCode
from mlcluster.report.standard_output import print_result
from mlcluster.spec.schema import cluster_schema


def schema() -> ExitCode:
    """Print the schema."""
    print_result(schema_text())
    return ExitCode.OK


def schema_text() -> str:
    """The JSON Schema of `cluster.yaml` (draft 2020-12), the same bytes every time; ends with a line end.

    It knows shapes, words and patterns; checks across fields are `mlcluster validate`'s.
    """
    return json.dumps(cluster_schema(), indent=2, ensure_ascii=False) + "\n"
