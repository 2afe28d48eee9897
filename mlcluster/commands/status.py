"""`mlcluster status`: compare plan, state and cluster."""

import json
from pathlib import Path

from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import load_workspace
from mlcluster.deploy.status.document import status_document
from mlcluster.errors import ExitCode
from mlcluster.report.progress import for_terminal
from mlcluster.report.standard_output import print_result, use_color
from mlcluster.report.status_text import status_text


def status(path: Path, output: str, *, fail_on_drift: bool) -> ExitCode:
    """Print the status; return `FINDINGS` with `fail_on_drift` when something is missing, not ready or drifted."""
    workspace = load_workspace(path)
    document = status_document(workspace, for_terminal())
    text = status_text(document, color=use_color(), spec=home_of(workspace).spec)
    print_result(json.dumps(document, indent=2) if output == "json" else text)
    return ExitCode.FINDINGS if fail_on_drift and document["state"] != "ready" else ExitCode.OK
