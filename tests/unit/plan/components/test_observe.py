"""Monitoring, the Prometheus adapter and KEDA: values by cluster, and monitors for an existing Prometheus."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan.components.prometheus_adapter import custom_rules
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.plan.observe.counters import FIELDS, FILE_NAME, dcgm_counters_csv
from mlcluster.plan.observe.facts import node_label_keys
from mlcluster.plan.observe.scrape import NODE_RELABELING
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.taints import toleration_manifests
from mlcluster.rules import findings
from tests.observed import records
from tests.promql import metrics
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, checked, cluster, manifests, planned

ROOT = Path(__file__).parents[4]
EKS: Data = {"kind": "eks", "region": "us-west-2", "endpoint": {"publicCidrs": ["203.0.113.0/24"]}}
TAINTED: Data = {**TRAIN, "taints": [{"key": "team", "value": "research", "effect": "NoExecute"}]}
HOME: Data = {**SYSTEM, "minSize": 2}
THERE: Data = {
    "install": False,
    "prometheus": {
        "namespace": "observability",
        "prometheusUrl": "https://prometheus.example.com/prometheus/",
        "serviceMonitorLabels": {"release": "prometheus"},
        "ruleLabels": {"role": "alert-rules"},
    },
    "grafana": {"dashboardLabels": {"folder": "gpu"}},
}

pytestmark = pytest.mark.unit


def release_of(plan: Plan, name: str) -> PlanRelease:
    return next(release for release in plan.releases if release.name == name)


def pods_of(plan: Plan, owner: str) -> dict[str, Any]:
    return {pod.name: pod for pod in plan.pods if pod.owner.id == f"Release/{owner}"}


def on_eks(**monitoring: Any) -> Plan:
    return planned(HOME, TAINTED, target=EKS, components={"monitoring": monitoring})


def test_without_monitoring_there_are_no_monitors() -> None:
    for target in (EKS, EXISTING):
        plan = planned(HOME, TRAIN, target=target)
        assert not [entry for entry in plan.objects if "monitoring.coreos.com" in entry.manifest["apiVersion"]]
        assert not {"kube-prometheus-stack", "keda", "prometheus-adapter"} & {one.name for one in plan.components}


def test_the_stack_selects_all_monitors_and_stores_their_metrics() -> None:
    spec = release_of(on_eks(retention="30d", storage="200Gi"), "kube-prometheus-stack").values["prometheus"]
    of_prometheus = spec["prometheusSpec"]
    assert not any(value for key, value in of_prometheus.items() if key.endswith("NilUsesHelmValues"))
    assert of_prometheus["retention"] == "30d"
    assert of_prometheus["retentionSize"] == f"{int(200 * 1024 * 0.85)}MiB"
    claim = of_prometheus["storageSpec"]["volumeClaimTemplate"]["spec"]
    assert claim["resources"]["requests"]["storage"] == "200Gi"
    assert "storageClassName" not in claim


def test_the_control_plane_of_eks_is_left_alone() -> None:
    values = release_of(on_eks(), "kube-prometheus-stack").values
    for part in ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy"):
        assert values[part] == {"enabled": False}
    own = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": {"controlPlane": True}})
    assert release_of(own, "kube-prometheus-stack").values["kubeEtcd"] == {"enabled": True}


def test_the_volume_waits_for_its_class() -> None:
    assert "StorageClass/gp3" in release_of(on_eks(), "kube-prometheus-stack").needs
    classes = {"storage": {"classes": [{"name": "quick"}, {"name": "slow", "default": True}]}}
    plan = planned(HOME, TRAIN, target=EKS, components={"monitoring": {"storageClass": "quick"}}, **classes)
    assert "StorageClass/quick" in release_of(plan, "kube-prometheus-stack").needs
    elsewhere = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": {"storageClass": "quick"}})
    assert not [need for need in release_of(elsewhere, "kube-prometheus-stack").needs if "StorageClass" in need]


def test_node_exporter_is_on_every_node_and_counted() -> None:
    plan, bare = on_eks(), planned(HOME, TAINTED, target=EKS)
    exporters = [pod for pod in plan.pods if pod.name.endswith("node-exporter")]
    assert {pod.kind for pod in exporters} == {"DaemonSet"}
    for pool, before in zip(plan.pools, bare.pools, strict=True):
        assert any(lands_on(pod, pool) for pod in exporters)
        assert before.usable["cpu"] - pool.usable["cpu"] == 50
    values = release_of(plan, "kube-prometheus-stack").values["prometheus-node-exporter"]
    assert values["tolerations"] == toleration_manifests(exporters[0].tolerations)


def test_controllers_get_onto_a_tainted_system_pool() -> None:
    kept = {**HOME, "taints": [{"key": "dedicated", "value": "system", "effect": "NoSchedule"}]}
    general = {**SYSTEM, "name": "general", "minSize": 0, "taints": [{"key": "no", "effect": "NoSchedule"}]}
    plan = planned(kept, general, TRAIN, target=EXISTING, components={"monitoring": {}, "keda": {}})
    values = release_of(plan, "kube-prometheus-stack").values
    wanted = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
    for found in (
        values["prometheusOperator"],
        values["prometheusOperator"]["admissionWebhooks"]["patch"],
        values["prometheus"]["prometheusSpec"],
        values["alertmanager"]["alertmanagerSpec"],
        values["grafana"],
        values["kube-state-metrics"],
        release_of(plan, "keda").values,
    ):
        assert wanted in found["tolerations"]
    for pod in (*pods_of(plan, "kube-prometheus-stack").values(), *pods_of(plan, "keda").values()):
        assert pod.kind == "DaemonSet" or lands_on(pod, plan.pools[0])


def requests_in(values: Any) -> list[dict[str, str]]:
    if not isinstance(values, dict):
        return []
    here = [values["requests"]] if isinstance(values.get("requests"), dict) else []
    return [*here, *(found for key, value in values.items() if key != "storageSpec" for found in requests_in(value))]


def test_requests_of_pods_equal_those_of_the_values() -> None:
    values = release_of(on_eks(memory="6Gi"), "kube-prometheus-stack").values
    pods = pods_of(on_eks(memory="6Gi"), "kube-prometheus-stack")
    assert pods["prometheus-kube-prometheus-stack-prometheus"].requests["memory"] == 6 * 1024
    hooks = [pod for pod in pods.values() if pod.kind == "Job"]
    assert {name for pod in hooks for name in pod.requests} == {"pods"}, "the chart gives its hooks no requests"
    assert len(requests_in(values)) == len(pods) - len(hooks) + 1, "Grafana's sidecars have their own"
    sidecar = values["grafana"]["sidecar"]["resources"]["requests"]["memory"]
    assert pods["kube-prometheus-stack-grafana"].requests["memory"] == 256 + 2 * int(sidecar.removesuffix("Mi"))


def test_less_can_be_had() -> None:
    plan = on_eks(alertmanager=False, grafana={"install": False, "dashboards": False})
    values = release_of(plan, "kube-prometheus-stack").values
    assert values["alertmanager"] == {"enabled": False}
    assert values["grafana"] == {"enabled": False}
    assert not [name for name in pods_of(plan, "kube-prometheus-stack") if "grafana" in name or "alertm" in name]
    assert not [name for name in manifests(plan, "ConfigMap") if name.startswith("monitoring/")]
    with_dashboards = on_eks(grafana={"install": False})
    assert len([name for name in manifests(with_dashboards, "ConfigMap") if name.startswith("monitoring/")]) == 3


def test_receivers_are_the_users() -> None:
    config = {"route": {"receiver": "pager"}, "receivers": [{"name": "pager"}]}
    release = release_of(on_eks(values={"alertmanager": {"config": config}}), "kube-prometheus-stack")
    assert release.values["alertmanager"]["config"] == config
    assert release.values["alertmanager"]["enabled"] is True


def test_rules_and_monitors_wait_for_their_definitions() -> None:
    plan = on_eks()
    release = release_of(plan, "kube-prometheus-stack")
    assert {"prometheusrules.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com"} <= set(release.crds)
    ours = [entry for entry in plan.objects if entry.spec_path == ("components", "monitoring") and entry.id != "x"]
    kinds = {entry.manifest["kind"] for entry in ours if "Release/kube-prometheus-stack" in entry.needs}
    assert kinds == {"PrometheusRule", "ServiceMonitor", "ConfigMap"}


def test_pools_and_teams_of_the_plan_are_in_the_rule() -> None:
    plan = planned(HOME, TRAIN, target=EKS, components={"monitoring": {}}, teams=[{"name": "research"}])
    (rule,) = manifests(plan, "PrometheusRule").values()
    facts = next(group for group in rule["spec"]["groups"] if group["name"] == "mlcluster-facts")["rules"]
    pools = {entry["labels"]["pool"] for entry in facts if entry["record"].endswith("node_pool:info")}
    assert pools == {"system", "train"}
    (team,) = [entry["labels"] for entry in facts if entry["record"].endswith("team_namespace:info")]
    assert team == {"team": "research", "namespace": plan.teams[0].namespace}


def test_labels_by_which_pools_are_found_are_reported() -> None:
    plan = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": {}})
    allowed = release_of(plan, "kube-prometheus-stack").values["kube-state-metrics"]["metricLabelsAllowlist"]
    assert f"nodes=[{','.join(node_label_keys(plan.pools))}]" in allowed
    assert "nodes=[example.com/pool]" in allowed


@pytest.mark.parametrize(("monitoring", "labels"), [({}, None), (THERE, {"release": "prometheus"})])
def test_every_gpu_exporter_is_scraped_with_the_label_of_the_node(monitoring: Data, labels: object) -> None:
    """The tenth rule: the exporter's own label of the host has two spellings."""
    plan = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": monitoring, "gpuOperator": {}})
    exporter = release_of(plan, "gpu-operator").values["dcgmExporter"]
    monitor = exporter["serviceMonitor"]
    assert monitor["relabelings"] == [NODE_RELABELING]
    assert (monitor["enabled"], monitor["honorLabels"], monitor.get("additionalLabels")) == (True, False, labels)
    (counters,) = [found for found in manifests(plan, "ConfigMap").values() if FILE_NAME in found["data"]]
    assert exporter["config"]["name"] == counters["metadata"]["name"]
    assert counters["data"][FILE_NAME] == dcgm_counters_csv()


def test_the_example_of_an_existing_prometheus_is_a_spec() -> None:
    text = (ROOT / "docs/monitoring.md").read_text()
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    plan = planned(HOME, TRAIN, target=EXISTING, **yaml.safe_load(block))
    assert release_of(plan, "kube-prometheus-stack").realisation == "present"


def there(**adapter: Any) -> Plan:
    return planned(HOME, TRAIN, target=EXISTING, components={"monitoring": THERE, **adapter})


def test_an_existing_prometheus_is_left_alone_and_found() -> None:
    plan = there()
    release = release_of(plan, "kube-prometheus-stack")
    assert (release.realisation, release.values) == ("present", {})
    assert not pods_of(plan, "kube-prometheus-stack")
    assert "observability" not in {name.partition("/")[0] for name in manifests(plan, "Namespace")}
    labels = {
        kind: next(iter(manifests(plan, kind).values()))["metadata"]
        for kind in ("PrometheusRule", "ServiceMonitor", "ConfigMap")
    }
    assert {found["namespace"] for found in labels.values()} == {"observability"}
    assert labels["PrometheusRule"]["labels"]["role"] == "alert-rules"
    assert labels["ServiceMonitor"]["labels"]["release"] == "prometheus"
    assert labels["ConfigMap"]["labels"]["folder"] == "gpu"


def test_an_existing_prometheus_gets_the_labels_it_selects() -> None:
    spec = checked(cluster(HOME, TRAIN, target=EXISTING, components={"monitoring": THERE}))
    (told,) = [finding for finding in findings(there(), spec) if finding.id == "OBS002"]
    assert "example.com/pool" in told.message
    assert "--metric-labels-allowlist=nodes=[example.com/pool]" in told.hint


@pytest.mark.parametrize(("price", "places"), [({}, [("nodePools", 1)]), ({"hourlyUsd": 1.5}, [])])
def test_gpus_without_a_price_are_reported(price: Data, places: list[tuple[str, int]]) -> None:
    node: Data = {"cpu": "10", "memory": "100Gi", "gpu": {"model": "l4", "count": 1}, **price}
    shape: Data = {"name": "own", "nodeShape": node, "maxSize": 1}
    spec = checked(cluster(HOME, shape, components={"monitoring": {}}))
    told = findings(planned(HOME, shape, components={"monitoring": {}}), spec)
    assert [finding.place for finding in told if finding.id == "OBS001"] == places


def test_on_the_lab_kueue_is_no_pod_to_scrape() -> None:
    plan = planned(HOME, TRAIN, components={"monitoring": {}})
    assert release_of(plan, "kube-prometheus-stack").realisation == "simulated"
    assert not manifests(plan, "ServiceMonitor")
    assert manifests(plan, "PrometheusRule")


def test_the_adapter_queries_the_managed_or_the_existing_prometheus() -> None:
    ours = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": {}, "prometheusAdapter": {}})
    assert release_of(ours, "prometheus-adapter").values["prometheus"] == {
        "url": "http://kube-prometheus-stack-prometheus.monitoring.svc",
        "port": 9090,
        "path": "",
    }
    theirs = there(prometheusAdapter={})
    assert release_of(theirs, "prometheus-adapter").values["prometheus"] == {
        "url": "https://prometheus.example.com",
        "port": 443,
        "path": "/prometheus",
    }
    assert release_of(theirs, "prometheus-adapter").namespace == "prometheus-adapter"


def test_adapter_and_keda_serve_different_apis() -> None:
    components: Data = {"monitoring": {}, "prometheusAdapter": {}, "keda": {}}
    plan = planned(HOME, TRAIN, target=EXISTING, components=components)
    rules = release_of(plan, "prometheus-adapter").values["rules"]
    assert rules["default"] is False
    assert (rules["external"], rules["resource"]) == ([], {})


def test_keda_is_watched_where_something_watches() -> None:
    def monitor(**components: Any) -> Any:
        plan = planned(HOME, TRAIN, target=EXISTING, components={"keda": {}, **components})
        return release_of(plan, "keda").values["prometheus"]["operator"]

    assert monitor() == {"enabled": False, "serviceMonitor": {"enabled": False}}
    assert monitor(monitoring={})["serviceMonitor"] == {"enabled": True}
    assert monitor(monitoring=THERE)["serviceMonitor"]["additionalLabels"] == {"release": "prometheus"}


def known() -> set[str]:
    return set(FIELDS) | {rule["record"] for rule in records()}


def test_the_adapter_serves_only_existing_metrics() -> None:
    for rule in custom_rules():
        query = re.sub(r"<<\.Series>>", "up", rule["metricsQuery"]).replace("<<.LabelMatchers>>", 'a="b"')
        assert not metrics(rule["seriesQuery"]) - known()
        assert not metrics(query.replace("<<.GroupBy>>", "pod")) - known() - {"up"}
        resources = {entry["resource"] for entry in rule["resources"]["overrides"].values()}
        assert resources == {"namespace", "pod"}


def test_the_adapter_aggregates_metrics_that_the_exporter_splits_by_process() -> None:
    """Without access to host processes the exporter reports 0 for every pod on shared GPUs."""
    found = {rule["name"]["as"]: rule["metricsQuery"] for rule in custom_rules()}
    whole = "on (node, UUID, GPU_I_ID) group_left () max by (node, UUID, GPU_I_ID) (<<.Series>>)"
    assert whole in found["DCGM_FI_DEV_GPU_UTIL"]
    assert found["gpu_memory_used_ratio"].count(whole) == 2
    assert whole not in found["DCGM_FI_PROF_GR_ENGINE_ACTIVE"]


def examples() -> Iterable[dict[str, Any]]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/autoscaling.md").read_text(), re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(block) for block in blocks]


def test_examples_in_the_documentation_query_existing_metrics() -> None:
    found = {example["kind"]: example for example in examples()}
    assert set(found) == {"HorizontalPodAutoscaler", "ScaledObject", "PodMonitor", "NetworkPolicy"}
    offered = {rule["name"]["as"] for rule in custom_rules()}
    (metric,) = found["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] in offered
    text = (ROOT / "docs/autoscaling.md").read_text()
    assert all(f"`{name}`" in text for name in offered)
    plan = planned(HOME, TRAIN, target=EXISTING, components={"monitoring": {}, "prometheusAdapter": {}})
    ours = release_of(plan, "prometheus-adapter").values["prometheus"]
    (trigger,) = found["ScaledObject"]["spec"]["triggers"]
    assert trigger["metadata"]["serverAddress"] == f"{ours['url']}:{ours['port']}"


@pytest.mark.parametrize("monitoring", [{}, {"install": False}])
def test_kueue_is_scraped_once(monitoring: Data) -> None:
    """With a managed monitor; that of the chart selects the same Service."""
    plan = planned(SYSTEM, target=EXISTING, components={"monitoring": monitoring})
    (kueue,) = [release for release in plan.releases if release.name == "kueue"]
    assert kueue.values["enablePrometheus"] is False
    assert [name.rpartition("/")[2] for name in manifests(plan, "ServiceMonitor")] == ["mlcluster-kueue"]
