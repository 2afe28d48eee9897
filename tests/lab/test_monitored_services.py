"""Monitors of the plan against the Services of the real charts, rendered with the plan's values."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan.model import Manifest, Plan, PlanRelease
from mlcluster.plan.observe.controllers import ENDPOINTS
from mlcluster.plan.values import printable
from tests.network_policies import matches
from tests.specs import EXISTING, SYSTEM, Data, manifests, planned
from tests.upstream import ABSENT, REFERENCE

ARCHIVES = REFERENCE / "chart-archives"
pytestmark = [pytest.mark.lab, pytest.mark.skipif(not ARCHIVES.is_dir(), reason=ABSENT)]

FIXED: Data = {**SYSTEM, "minSize": 2, "maxSize": 2}
COMPONENTS: Data = {
    "monitoring": {},
    "certManager": {},
    "jobSet": {},
    "trainer": {},
    "kubeRay": {},
    "volcano": {},
    "gateway": {},
    "kserve": {"ingress": {"domain": "models.example.com"}},
    "nodeProblemDetector": {},
}
CHARTED = sorted(name for name, one in ENDPOINTS.items() if one.kind == "ServiceMonitor")


def plan_for(name: str) -> Plan:
    """A plan with the component; the autoscalers are for eks."""
    if name not in {"karpenter", "cluster-autoscaler"}:
        return planned(FIXED, target=EXISTING, components=COMPONENTS)
    autoscaler = "karpenter" if name == "karpenter" else "clusterAutoscaler"
    target: Data = {
        "kind": "eks",
        "region": "us-west-2",
        "autoscaler": autoscaler,
        "endpoint": {"publicCidrs": ["203.0.113.0/24"]},
    }
    return planned(FIXED, {**SYSTEM, "name": "more"}, target=target, components={"monitoring": {}})


def archive(chart: str) -> Path:
    """The newest archive of a chart."""
    return max(ARCHIVES.glob(f"{chart}-[v0-9]*.tgz"))


def rendered(helm: Path, release: PlanRelease, folder: Path) -> list[Manifest]:
    """The objects of a release's chart, in a cluster with the kinds of the Prometheus operator."""
    values = folder / "values.json"
    values.write_text(json.dumps(printable(release.values)))
    chart = archive(release.chart.rpartition("/")[2])
    command: list[str | Path] = [helm, "template", release.name, chart, "-n", release.namespace, "--values", values]
    known = ["--kube-version", "1.35.0", "--api-versions", "monitoring.coreos.com/v1"]
    answer = subprocess.run([*command, *known], capture_output=True, text=True, check=True, cwd=folder)
    return [item for item in yaml.load_all(answer.stdout, yaml.CSafeLoader) if item]


@pytest.mark.parametrize("name", CHARTED)
def test_a_monitor_finds_one_service_with_its_port(toolchain: Toolchain, tmp_path: Path, name: str) -> None:
    plan = plan_for(name)
    monitor = manifests(plan, "ServiceMonitor")[f"monitoring/mlcluster-{name}"]["spec"]
    release = next(entry for entry in plan.releases if entry.name == name)
    assert monitor["namespaceSelector"] == {"matchNames": [release.namespace]}
    made = rendered(toolchain.path("helm"), release, tmp_path)
    (endpoint,) = monitor["endpoints"]
    found = [item for item in made if item["kind"] == "Service" and _is_scraped(item, monitor, endpoint)]
    assert len(found) == 1, [item["metadata"]["name"] for item in found]
    pods = [item["spec"]["template"] for item in made if item["kind"] in {"Deployment", "DaemonSet"}]
    selector = {"matchLabels": found[0]["spec"]["selector"]}
    assert any(matches(selector, pod["metadata"]["labels"]) for pod in pods)
    assert not [item for item in made if item["kind"] in {"ServiceMonitor", "PodMonitor"}], "it would be scraped twice"


def _is_scraped(service: Manifest, monitor: Manifest, endpoint: dict[str, Any]) -> bool:
    names = {port.get("name") for port in service["spec"].get("ports", [])}
    return matches(monitor["selector"], service["metadata"].get("labels", {})) and endpoint["port"] in names


def test_the_pods_of_node_problem_detector_have_the_port() -> None:
    plan = plan_for("node-problem-detector")
    monitor = manifests(plan, "PodMonitor")["monitoring/mlcluster-node-problem-detector"]["spec"]
    (namespace,) = monitor["namespaceSelector"]["matchNames"]
    (daemon_set,) = (
        manifest for name, manifest in manifests(plan, "DaemonSet").items() if name.startswith(f"{namespace}/")
    )
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]
    assert [port["name"] for port in container["ports"]] == [monitor["podMetricsEndpoints"][0]["port"]]
