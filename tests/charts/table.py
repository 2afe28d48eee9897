"""facts.json, the table of the objects that charts render. Run `python -m tests.charts.table` after a pin changes.

It needs the toolchain's helm and archives of the charts (`make charts`).
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcluster.catalog.components import pins
from mlcluster.lab.toolchain.find import find_tool
from mlcluster.plan import names
from mlcluster.plan.chart_facts import Term, Workload
from mlcluster.quantities import canonical, ordered
from tests.charts.rendered import Rendered, rendered_charts

PATH = Path(__file__).with_name("facts.json")


def load() -> dict[str, Any]:
    """Return the committed table."""
    found: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
    return found


def made(charts: Mapping[str, Iterable[Rendered]]) -> dict[str, Any]:
    """Return the table of rendered charts, by chart."""
    return {chart: _entry(chart, tuple(charts[chart])) for chart in sorted(charts)}


def _entry(chart: str, rendered: tuple[Rendered, ...]) -> dict[str, Any]:
    facts = [one.facts for one in rendered]
    return {
        "source": rendered[0].archive.path.name,
        "pinned": next(pin.version for pin in pins().values() if pin.chart.rpartition("/")[2] == chart),
        "workloads": _workloads(rendered),
        "images": _names(one.images for one in facts),
        "crds": _names(one.crds for one in facts),
        "kept": _names(one.kept for one in facts),
        "webhooks": _names(one.webhooks for one in facts),
        "apiServices": _names(one.api_services for one in facts),
        "services": _names(one.services for one in facts),
        "serviceAccounts": _names(one.service_accounts for one in facts),
        "hookResidue": _names(one.hook_residue for one in facts),
    }


def _names(parts: Iterable[Iterable[str]]) -> list[str]:
    return sorted({name for part in parts for name in part})


def _workloads(rendered: Iterable[Rendered]) -> dict[str, list[dict[str, Any]]]:
    """Return name -> its shapes, as different values make them.

    Tolerations and labels of pools follow from the spec and are left out.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for one in rendered:
        of_pools = {key for pool in one.of.plan.pools for key in pool.selector}
        for workload in one.facts.workloads:
            selector = {
                key: value
                for key, value in workload.node_selector.items()
                if key not in of_pools and not key.startswith(names.DOMAIN)
            }
            shapes = found.setdefault(workload.name, [])
            if (shape := _shape(replace(workload, node_selector=selector))) not in shapes:
                shapes.append(shape)
    return {name: sorted(found[name], key=json.dumps) for name in sorted(found)}


def _shape(workload: Workload) -> dict[str, Any]:
    shape = {
        "kind": workload.kind,
        "namespace": workload.namespace,
        "hooks": list(workload.hooks),
        "replicas": workload.replicas,
        "requests": {
            name: canonical(name, workload.requests[name]) for name in ordered(workload.requests) if name != "pods"
        },
        "nodeSelector": dict(workload.node_selector),
        "nodeAffinity": [] if workload.kind == "DaemonSet" else [_term(term) for term in workload.node_terms],
        "apart": workload.apart,
        "spread": list(workload.spread),
        "priorityClass": workload.priority_class,
        "serviceAccount": workload.service_account,
    }
    return {name: value for name, value in shape.items() if value}


def _term(term: Term) -> str:
    return ", ".join(" ".join((key, operator, *values)) for key, operator, values in term)


def main() -> int:
    """Write the table; print the archive that each chart was rendered from."""
    helm = find_tool("helm")
    if helm is None:
        print("no helm: run `mlcluster lab build` first", file=sys.stderr)
        return 1
    charts = rendered_charts(helm)
    found = made(charts)
    PATH.write_text(f"{json.dumps(found, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    for chart, entry in found.items():
        print(f"{chart} {entry['pinned']}: {len(charts[chart])} sets of values, from {entry['source']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
