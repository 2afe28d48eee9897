"""`mlcluster validate`: check a spec and its plan."""

import json
from pathlib import Path

from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.findings import findings_document, findings_text
from mlcluster.report.standard_output import print_result, use_color

SEVERITY_RANK = {"error": 2, "warning": 1, "info": 0, "never": 3}


def validate(path: Path, output: str, fail_on: str) -> ExitCode:
    """Print the findings; return `FINDINGS` if one at or above `fail_on` is not allowed by the spec."""
    workspace = load_workspace(path)
    if output == "json":
        print_result(json.dumps(findings_document(workspace.findings, workspace.document), indent=2))
    else:
        print_result(findings_text(workspace.findings, workspace.document, str(path), color=use_color()))
    worst = max((found.severity.rank for found in workspace.findings if not found.allowed), default=-1)
    return ExitCode.FINDINGS if worst >= SEVERITY_RANK[fail_on] else ExitCode.OK
