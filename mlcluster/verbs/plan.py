"""`mlcluster plan`: what `up` would make true. Offline, no credentials, no engine."""

from pathlib import Path

from mlcluster.errors import ExitCode
from mlcluster.verbs.output import print_result, use_color
from mlcluster.verbs.reading import read


def plan(path: Path, output: str) -> ExitCode:
    """Prints the plan as a screen of tables, or whole as JSON or YAML."""
    reading = read(path)
    if output == "text":
        from mlcluster.report.plan_text import plan_text

        print_result(plan_text(reading.plan, color=use_color()))
    elif output == "json":
        from mlcluster.plan.document import to_json

        print_result(to_json(reading.plan))
    else:
        from mlcluster.report.plan_yaml import to_yaml

        print_result(to_yaml(reading.plan))
    return ExitCode.OK
