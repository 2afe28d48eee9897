"""`mlcluster plan`: what `up` would make true. Offline, no credentials, no engine; `--live` looks at the cluster."""

import json
from pathlib import Path
from typing import Any

from mlcluster.errors import ExitCode
from mlcluster.verbs.output import print_result, use_color
from mlcluster.verbs.reading import Reading, read


def plan(path: Path, output: str, *, live: bool = False, charts: Path | None = None) -> ExitCode:
    """Prints the plan as a screen of tables, or whole as JSON or YAML.

    Args:
        live: ask the cluster what is there already; reads only. `FINDINGS` when it has something against the plan.
        charts: directory of chart archives, which are rendered for the shapes of pods.

    Raises:
        MlclusterError: with `live`, there is no cluster, or none that answers; with `charts`, a chart cannot be
            rendered.
    """
    reading = read(path)
    if charts is not None:
        reading = _rendered(reading, charts)
    if live:
        return _with_cluster(reading, output)
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


def _rendered(reading: Reading, charts: Path) -> Reading:
    """The same spec with a plan whose pods are those of its rendered charts."""
    from mlcluster.charts.pods import pods_of_charts
    from mlcluster.lab.toolchain.find import find_tool
    from mlcluster.report.progress import for_terminal

    return reading.with_pods(pods_of_charts(reading.plan, charts, find_tool("helm"), for_terminal()))


def _with_cluster(reading: Reading, output: str) -> ExitCode:
    """The plan, and below it (as data: under the key `live`) what the cluster has already."""
    from mlcluster.report.findings import findings_document, findings_text
    from mlcluster.report.installed_text import installed_document, installed_text, upgrades_document, upgrades_text
    from mlcluster.verbs.discovery import looked_at
    from mlcluster.verbs.upgrades import component_findings, component_steps

    already, deployed = looked_at(reading)
    changing = component_steps(reading, deployed, already)
    findings = (*already.findings, *component_findings(reading, changing, already))
    if output == "text":
        from mlcluster.report.plan_text import plan_text

        parts = [plan_text(reading.plan, color=use_color()), installed_text(already, color=use_color())]
        parts += [upgrades_text(changing)] if changing else []
        parts += [findings_text(findings, reading.document, str(reading.path), color=use_color())] if findings else []
        print_result("\n".join(parts))
    else:
        from mlcluster.plan.document import to_document

        told: dict[str, Any] = {
            **installed_document(already),
            "upgrades": upgrades_document(changing),
            "findings": findings_document(findings, reading.document)["findings"],
        }
        document = {**to_document(reading.plan), "live": told}
        print_result(json.dumps(document, indent=2, ensure_ascii=False) if output == "json" else _yaml(document))
    return ExitCode.FINDINGS if any(finding.blocks for finding in findings) else ExitCode.OK


def _yaml(document: dict[str, Any]) -> str:
    from mlcluster.report.plan_yaml import document_yaml

    return document_yaml(document)
