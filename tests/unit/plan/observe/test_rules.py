"""Rules: complete, documented, tested, and made of metrics that exist. tests/engine/test_rules.py runs them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe import metrics as known
from mlcluster.plan.observe.counters import FIELDS
from mlcluster.plan.observe.facts import gpu_shares, metric_label, metric_resource
from mlcluster.plan.observe.rules import rule_spec
from tests.observed import POOLS, Watched, alerts, gpus, pool, records
from tests.promql import is_balanced, labels, metrics
from tests.upstream import errors_of, needs_reference, schemas

ROOT = Path(__file__).parents[4]
ALERTS = alerts()
RULES = [*ALERTS, *records()]
OTHERS = known.KUBE_STATE_METRICS | known.KUEUE | known.GPU_OPERATOR

pytestmark = pytest.mark.unit


def name_of(rule: Manifest) -> str:
    return str(rule.get("alert", rule.get("record")))


def test_names_of_alerts_are_unique() -> None:
    names = [alert["alert"] for alert in ALERTS]
    assert len(names) == len(set(names)) >= 25
    groups = [group["name"] for group in rule_spec(Watched())["groups"]]
    assert len(set(groups)) == len(groups)


@pytest.mark.parametrize("alert", ALERTS, ids=name_of)
def test_every_alert_has_severity_summary_and_description(alert: Manifest) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["description"].endswith(".")
    assert not alert["annotations"]["summary"].endswith(".")


def test_every_alert_has_its_place_in_the_documentation() -> None:
    text = (ROOT / "docs" / "alerts.md").read_text()
    headings = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sorted(headings) == sorted(alert["alert"] for alert in ALERTS)
    for alert in ALERTS:
        name = alert["alert"]
        assert alert["annotations"]["runbook"] == f"docs/alerts.md#{name.lower()}"
        part = text.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        assert f"({alert['labels']['severity']})" in part, name


def test_every_alert_is_tested_both_ways() -> None:
    fires: set[str] = set()
    rests: set[str] = set()
    for path in sorted((ROOT / "tests" / "rules").glob("*.yaml")):
        tests: list[dict[str, Any]] = yaml.safe_load(path.read_text())["tests"]
        for one in (entry for test in tests for entry in test.get("alert_rule_test", ())):
            (fires if one["exp_alerts"] else rests).add(one["alertname"])
    assert fires == rests == {alert["alert"] for alert in ALERTS}


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_every_rule_reads_existing_metrics(rule: Manifest) -> None:
    ours = {record["record"] for record in records()}
    assert is_balanced(rule["expr"])
    assert not metrics(rule["expr"]) - ours - OTHERS - FIELDS


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_no_rule_uses_the_name_that_the_exporter_has_for_a_host(rule: Manifest) -> None:
    """The label of the host: it is Hostname in some versions and hostname in others."""
    assert "hostname" not in {label.lower() for label in labels(rule["expr"])}
    assert "hostname" not in rule.get("annotations", {}).get("summary", "").lower()


def test_fields_of_dcgm_in_rules_are_exported() -> None:
    used = {name for rule in RULES for name in metrics(rule["expr"]) if name.startswith("DCGM_")}
    assert used <= FIELDS
    assert len(used) >= 12


def test_a_cluster_without_gpus_has_no_rules_about_them() -> None:
    bare = Watched(pools=POOLS[:1], components=frozenset())
    names = {metric for rule in (*alerts(bare), *records(bare)) for metric in metrics(rule["expr"])}
    assert not {name for name in names if name.startswith(("DCGM_", "gpu_operator_"))}


def test_the_gpu_operator_is_monitored_in_its_namespace() -> None:
    with_it = {alert["alert"] for alert in ALERTS}
    without = {alert["alert"] for alert in alerts(Watched(components=frozenset()))}
    assert with_it - without == {"GpuOperatorNotReconciled", "GpuOperatorSeesNoGpus", "GpuUnhealthy"}


def test_counters_are_counted_whichever_pod_has_the_gpu() -> None:
    """A series of the exporter ends with its pod, and another begins: `increase` sees nothing between the two."""
    for rule in RULES:
        for name in re.findall(r"(?:increase|rate)\((\w+)", rule["expr"]):
            assert not name.startswith("DCGM_"), name_of(rule)


def facts(name: str) -> dict[str, list[str]]:
    """Return pool or team -> expressions of the records of that name."""
    made: dict[str, list[str]] = {}
    for record in records():
        if record["record"] == name:
            place = record["labels"].get("pool", record["labels"].get("team", ""))
            made.setdefault(place, []).append(record["expr"])
    return made


def test_facts_of_the_plan_are_recorded_as_series() -> None:
    shares = facts("mlcluster:gpu_share:ratio")
    assert shares == {
        "train": ["vector(1)"],
        "shared": ["vector(1/7)"],
        "sliced": ["vector(1/4)"],
        "mixed": ["vector(1)", "vector(3/7)", "vector(1/7)"],
    }
    assert facts("mlcluster:gpu_price_usd_per_hour")["train"] == ["vector(48.0 / 8)"]
    assert set(facts("mlcluster:team_namespace:info")) == {"research", "vision"}
    assert set(facts("mlcluster:node_pool:info")) == {pool.name for pool in POOLS}


def test_a_pool_without_a_price_has_no_usd() -> None:
    assert "sliced" not in facts("mlcluster:gpu_price_usd_per_hour")
    assert "sliced" not in facts("mlcluster:node_price_usd_per_hour")


def test_pieces_of_several_sizes_add_up_to_the_gpus_of_a_node() -> None:
    sizes = {"nvidia.com/gpu": 4, "nvidia.com/mig-3g.40gb": 4, "nvidia.com/mig-1g.10gb": 16}
    mixed = pool("mixed", gpus("h100", 8, 24, "mig", shares=sizes))
    shares = gpu_shares(mixed)
    assert sum(share.share * share.per_node for share in shares) == 8
    by_name = {share.resource: share.share for share in shares}
    assert by_name["nvidia.com/gpu"] == 1
    assert by_name["nvidia.com/mig-3g.40gb"] == 3 * by_name["nvidia.com/mig-1g.10gb"]


def test_labels_and_resources_are_spelled_as_kube_state_metrics_spells_them() -> None:
    assert metric_label("mlcluster.dev/pool") == "label_mlcluster_dev_pool"
    assert metric_label("cloud.google.com/gke-nodePool") == "label_cloud_google_com_gke_node_pool"
    assert metric_resource("nvidia.com/mig-1g.10gb") == "nvidia_com_mig_1g_10gb"


@needs_reference
def test_the_prometheus_rule_is_valid() -> None:
    rule = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "mlcluster"}}
    assert (rule["apiVersion"], rule["kind"]) in schemas()
    assert errors_of({**rule, "spec": rule_spec(Watched())}) == []
    assert errors_of({**rule, "spec": {"groups": [{"name": "a", "rules": [{"alrt": "A", "expr": "1"}]}]}})
