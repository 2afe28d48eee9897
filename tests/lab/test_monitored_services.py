"""Monitors of the plan against the Services of the real charts, rendered with the plan's values."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.charts.rendering import Renderer
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.observe.controllers import ENDPOINTS
from mlcluster.plan.values import printable
from tests.charts.contents import archive_of
from tests.charts.rendered import KUBERNETES
from tests.charts.sources import needs_archives
from tests.network_policies import matches
from tests.specs import EXISTING, SYSTEM, Data, manifests, planned

pytestmark = [pytest.mark.lab, needs_archives]

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
    """Return a plan with the component; the autoscalers exist only on eks."""
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


@pytest.mark.parametrize("name", CHARTED)
def test_a_monitor_finds_one_service_with_its_port(toolchain: Toolchain, name: str) -> None:
    plan = plan_for(name)
    monitor = manifests(plan, "ServiceMonitor")[f"monitoring/mlcluster-{name}"]["spec"]
    release = next(entry for entry in plan.releases if entry.name == name)
    assert monitor["namespaceSelector"] == {"matchNames": [release.namespace]}
    archive = archive_of(release.chart, release.version)
    printed = replace(release, values=printable(release.values))
    made = Renderer(toolchain.path("helm"), KUBERNETES).objects(printed, archive.path)
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
