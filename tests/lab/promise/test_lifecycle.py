"""The life of a cluster through the command line: no-op, edits, removal, refusals, status."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.deploy.removal.queues import hold_queues
from mlcluster.plan import names
from mlcluster.progress import Silent
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import Tenant, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab


@pytest.fixture
def original(cluster: Cluster) -> Iterator[str]:
    """Yield the spec's text; put back, and applied, when the test has changed it."""
    text = cluster.spec.read_text("utf-8")
    yield text
    if cluster.spec.read_text("utf-8") != text:
        cluster.spec.write_text(text, "utf-8")
        cluster.run("up", str(cluster.spec), "--yes")


def _events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def _preview(cluster: Cluster) -> dict[str, str]:
    """Return the changes of `preview`: id -> operation."""
    events = _events(cluster.run("preview", str(cluster.spec), "-o", "jsonl").stdout)
    listed = [change for event in events if event["kind"] == "Preview" for change in event["changes"]]
    return {change["id"]: change["op"] for change in listed}


def test_second_up_changes_nothing(cluster: Cluster) -> None:
    events = _events(cluster.run("up", str(cluster.spec), "--yes", "-o", "jsonl").stdout)
    assert events[-1]["kind"] == "UpResult"
    assert events[-1]["changed"] == 0
    assert not [event for event in events if event["kind"] == "ResourceFinished"]


def test_editing_a_quota_changes_just_that(cluster: Cluster, original: str) -> None:
    cluster.spec.write_text(original.replace("{train: {nodes: 3}, system", "{train: {nodes: 2}, system"), "utf-8")
    assert _preview(cluster) == {
        "ClusterQueue/products": "update",
        "Cohort/lab": "update",
        "ResourceQuota/products/team": "update",
    }
    cluster.run("up", str(cluster.spec), "--yes")
    assert _preview(cluster) == {}
    queue = cluster.kube.get_object("kueue.x-k8s.io/v1beta2", "ClusterQueue", "products") or {}
    train = next(flavor for flavor in queue["spec"]["resourceGroups"][0]["flavors"] if flavor["name"] == "train")
    quota = {entry["name"]: entry["nominalQuota"] for entry in train["resources"]}
    assert quota["nvidia.com/gpu"] == "16"


def test_a_team_with_running_jobs_is_deleted_only_if_named(cluster: Cluster, original: str, students: Tenant) -> None:
    """Without its name `up` refuses; with it, `up` deletes only the team."""
    students.submit(job("thesis", "students", pod_spec()))
    wait_for("it runs", lambda: students.running("thesis") == 1)
    cluster.spec.write_text(original[: original.index("  - name: students")], "utf-8")
    refused = cluster.run("up", str(cluster.spec), "--yes", ok=False)
    assert refused.returncode == 1
    assert "this would delete namespace/students with 1 jobs (thesis), 1 pods" in refused.stderr
    assert "--allow-destroy namespace/students" in refused.stderr
    assert students.running("thesis") == 1
    planned = _preview(cluster)
    assert {identifier for identifier, op in planned.items() if op == "delete"} == {
        "ClusterQueue/students",
        "ClusterRole/mlcluster:students:queue-reader",
        "ClusterRoleBinding/mlcluster:students:queue-reader",
        "LimitRange/students/team",
        "LocalQueue/students/default",
        "Namespace/students",
        "NetworkPolicy/students/team",
        "ResourceQuota/students/team",
        "RoleBinding/students/mlcluster:edit",
    }
    assert {identifier for identifier, op in planned.items() if op != "delete"} == {
        "ClusterRole/mlcluster:products:queue-reader",
        "ClusterRole/mlcluster:research:queue-reader",
        "Cohort/lab",
    }
    cluster.run("up", str(cluster.spec), "--yes", "--allow-destroy", "namespace/students")
    assert cluster.kube.get_object("v1", "Namespace", "students") is None
    assert cluster.kube.get_object("v1", "Namespace", "research") is not None


def test_status_reports_drift_and_up_corrects_it(cluster: Cluster) -> None:
    ready = json.loads(cluster.run("status", str(cluster.spec), "-o", "json").stdout)
    assert ready["state"] == "ready"
    assert {team["name"]: team["there"] for team in ready["teams"]} == {"research": 10, "products": 10, "students": 9}
    changes = {"spec": {"hard": {"pods": "1"}}}
    cluster.kube.patch("v1", "ResourceQuota", "team", changes, "research", field_manager="somebody")
    hold_queues(cluster.kube, ["students"], Silent())  # a `down` that ends here leaves the queue stopped
    drifted = cluster.run("status", str(cluster.spec), "-o", "json", "--fail-on-drift", ok=False)
    assert drifted.returncode == 4
    found = json.loads(drifted.stdout)
    assert {entry["id"] for entry in found["drifted"]} == {"ClusterQueue/students", "ResourceQuota/research/team"}
    cluster.run("up", str(cluster.spec), "--yes")
    quota = cluster.kube.get_object("v1", "ResourceQuota", "team", "research") or {}
    assert quota["spec"]["hard"]["pods"] != "1"
    assert json.loads(cluster.run("status", str(cluster.spec), "-o", "json").stdout)["state"] == "ready"


def test_cluster_of_another_stack_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    """A second stack on the same cluster, through its kubeconfig."""
    other = tmp_path / "other.yaml"
    other.write_text(
        f"""apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {{name: other}}
target: {{kind: existing, kubeconfig: {cluster.kubeconfig}}}
components: {{kueue: {{install: false}}}}
nodePools:
  - {{name: system, instanceType: m7i.2xlarge, maxSize: 4, selector: {{{names.POOL}: system}}}}
""",
        "utf-8",
    )
    for verb in ("preview", "up", "down"):
        options = [] if verb == "preview" else ["--yes"]
        refused = cluster.run(verb, str(other), *options, ok=False)
        assert refused.returncode == 1, refused.stdout
        assert "it belongs to the stack lab of" in refused.stderr


def test_a_prompt_without_a_terminal_is_an_error(cluster: Cluster, original: str) -> None:
    cluster.spec.write_text(original.replace("maxSize: 4", "maxSize: 5"), "utf-8")
    refused = cluster.run("up", str(cluster.spec), ok=False)
    assert refused.returncode == 2
    assert "there is no terminal to ask on" in refused.stderr
    cluster.spec.write_text(original, "utf-8")
