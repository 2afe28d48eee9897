"""`mlcluster plan`: show the plan. Offline, no credentials, no engine; `--live` reads the cluster."""

import json
from pathlib import Path
from typing import Any

from mlcluster.deploy.session.workspace import Workspace, load_workspace
from mlcluster.errors import ExitCode
from mlcluster.report.standard_output import print_result, use_color


def plan(path: Path, output: str, *, live: bool = False, charts: Path | None = None) -> ExitCode:
    """Print the plan as tables, or whole as JSON or YAML.

    Args:
        live: compare with existing installations in the cluster; read-only. `FINDINGS` if they conflict with the plan.
        charts: directory of chart archives, which are rendered for the shapes of pods.

    Raises:
        MlclusterError: with `live`, there is no cluster, or none that answers; with `charts`, a chart cannot be
            rendered.
    """
    workspace = load_workspace(path)
    if charts is not None:
        workspace = _rendered(workspace, charts)
    if live:
        return _with_cluster(workspace, output)
    if output == "text":
        from mlcluster.report.plan_text import plan_text

        print_result(plan_text(workspace.plan, color=use_color()))
    elif output == "json":
        from mlcluster.plan.document import to_json

        print_result(to_json(workspace.plan))
    else:
        from mlcluster.report.plan_yaml import to_yaml

        print_result(to_yaml(workspace.plan))
    return ExitCode.OK


def _rendered(workspace: Workspace, charts: Path) -> Workspace:
    """Return the workspace with the pods of rendered charts in its plan."""
    from mlcluster.charts.pods import pods_of_charts
    from mlcluster.lab.toolchain.find import find_tool
    from mlcluster.report.progress import for_terminal

    return workspace.with_pods(pods_of_charts(workspace.plan, charts, find_tool("helm"), for_terminal()))


def _with_cluster(workspace: Workspace, output: str) -> ExitCode:
    """Print the plan, and below it (in JSON: under the key `live`) the existing installations."""
    from mlcluster.deploy.preview.installations import looked_at
    from mlcluster.deploy.preview.upgrades import component_findings, component_steps
    from mlcluster.report.findings import findings_document, findings_text
    from mlcluster.report.installed_text import installed_document, installed_text, upgrades_document, upgrades_text
    from mlcluster.rules.allowances import with_reasons

    already, deployed = looked_at(workspace)
    changing = component_steps(workspace, deployed, already)
    made = (*already.findings, *component_findings(workspace, changing, already))
    findings = with_reasons(made, workspace.spec)
    if output == "text":
        from mlcluster.report.plan_text import plan_text

        parts = [plan_text(workspace.plan, color=use_color()), installed_text(already, color=use_color())]
        parts += [upgrades_text(changing)] if changing else []
        parts += (
            [findings_text(findings, workspace.document, str(workspace.path), color=use_color())] if findings else []
        )
        print_result("\n".join(parts))
    else:
        from mlcluster.plan.document import to_document

        told: dict[str, Any] = {
            **installed_document(already),
            "upgrades": upgrades_document(changing),
            "findings": findings_document(findings, workspace.document)["findings"],
        }
        document = {**to_document(workspace.plan), "live": told}
        print_result(json.dumps(document, indent=2, ensure_ascii=False) if output == "json" else _yaml(document))
    return ExitCode.FINDINGS if any(finding.blocks for finding in findings) else ExitCode.OK


def _yaml(document: dict[str, Any]) -> str:
    from mlcluster.report.plan_yaml import document_yaml

    return document_yaml(document)
