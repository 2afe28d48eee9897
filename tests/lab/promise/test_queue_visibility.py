"""Members see why their work is pending and which quota is free to borrow, and no workload of other teams."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.lab.toolchain import find_tool
from tests.lab.attacks import refusal, request_as
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import GPU, KUEUE, Tenant, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

QUEUES = f"/apis/{KUEUE}/clusterqueues"
VISIBLE = f"/apis/visibility.{KUEUE}"
MEMBERS = [("ann", ["ml-leads"]), ("ben", ["ml-research"])]
"""An admin and an editor of team research; `deploy-bot` is a user of team products, ml-research are its viewers."""


def read(cluster: Cluster, path: str, user: str, groups: list[str]) -> dict[str, Any]:
    """Send a GET request as a member."""
    return request_as(cluster.kube, (user, groups), "GET", path)


def assert_forbidden(cluster: Cluster, path: str, user: str, groups: list[str]) -> None:
    assert "forbidden" in refusal(lambda: read(cluster, path, user, groups))


@pytest.fixture
def foreign_queue(cluster: Cluster) -> Iterator[str]:
    """Yield a ClusterQueue of another cohort."""
    cluster.kube.create({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "elsewhere"}, "spec": {}})
    yield "elsewhere"
    cluster.kube.delete(KUEUE, "ClusterQueue", "elsewhere")
    wait_for("its end", lambda: cluster.kube.get_object(KUEUE, "ClusterQueue", "elsewhere") is None)


@pytest.fixture
def waiting(products: Tenant) -> Tenant:
    """Return two jobs of team products, in the order of the queue, behind one that uses all the team may use."""
    products.submit(job("full", "products", pod_spec(gpus=8), pods=5, tier="production-critical"))
    wait_for("it runs", lambda: products.running("full") == 5)
    products.submit(job("first", "products", pod_spec(gpus=1), tier="production-critical"))
    products.assert_waits_because("first", f"insufficient unused quota for {GPU}")
    products.submit(job("second", "products", pod_spec(gpus=1), tier="best-effort-experiment"))
    wait_for("its workload", lambda: products.workload("second"))
    return products


@pytest.mark.parametrize(("user", "groups"), [*MEMBERS, ("deploy-bot", []), ("eve", ["ml-students"])])
def test_members_read_the_queues_of_their_cohort(cluster: Cluster, user: str, groups: list[str]) -> None:
    for team in ("research", "products", "students"):
        found = read(cluster, f"{QUEUES}/{team}", user, groups)
        assert found["spec"]["cohortName"] == "lab"
        assert "flavorsUsage" in found["status"]
    assert read(cluster, f"/apis/{KUEUE}/cohorts/lab", user, groups)["spec"]["resourceGroups"]
    flavors = read(cluster, f"/apis/{KUEUE}/resourceflavors", user, groups)["items"]
    assert {flavor["metadata"]["name"] for flavor in flavors} == {"system", "train", "shared"}
    assert read(cluster, f"/apis/{KUEUE}/workloadpriorityclasses", user, groups)["items"]


@pytest.mark.parametrize(("user", "groups"), MEMBERS)
def test_members_do_not_read_other_queues(cluster: Cluster, foreign_queue: str, user: str, groups: list[str]) -> None:
    assert_forbidden(cluster, f"{QUEUES}/{foreign_queue}", user, groups)
    assert_forbidden(cluster, QUEUES, user, groups)
    assert_forbidden(cluster, f"/apis/{KUEUE}/cohorts", user, groups)
    assert_forbidden(cluster, f"/apis/{KUEUE}/cohorts/other", user, groups)


def test_users_without_a_team_read_no_queue(cluster: Cluster) -> None:
    for path in (f"{QUEUES}/research", f"/apis/{KUEUE}/cohorts/lab", f"/apis/{KUEUE}/resourceflavors"):
        assert_forbidden(cluster, path, "mallory", ["system:authenticated"])
    assert_forbidden(cluster, f"{VISIBLE}/clusterqueues/research/pendingworkloads", "mallory", ["system:authenticated"])


@pytest.mark.parametrize(("user", "groups"), [*MEMBERS, ("deploy-bot", [])])
def test_members_change_no_queue(cluster: Cluster, user: str, groups: list[str]) -> None:
    for verb in ("create", "update", "patch", "delete"):
        for resource in ("clusterqueues", "clusterqueues/status", "cohorts", "resourceflavors", "localqueues"):
            namespace = "research" if resource == "localqueues" else ""
            assert not cluster.kube.can(verb, "kueue.x-k8s.io", resource, namespace, as_user=user, as_groups=groups)
        assert not cluster.kube.can(verb, "kueue.x-k8s.io", "workloads/status", "research", as_user=user)


def test_members_see_their_position(cluster: Cluster, waiting: Tenant) -> None:
    """By the LocalQueue and by the ClusterQueue, which has the names of the whole team's pending workloads."""
    for place in ("namespaces/products/localqueues/default", "clusterqueues/products"):
        path = f"{VISIBLE}/{place}/pendingworkloads"
        found = wait_for("both", lambda: _pending(read(cluster, path, "deploy-bot", []), 2))  # noqa: B023
        assert [name.rpartition("-")[0] for name in found] == ["job-first", "job-second"]


def test_members_do_not_see_pending_workloads_of_other_queues(cluster: Cluster, waiting: Tenant) -> None:
    assert waiting.waits_because("first")
    student = ("eve", ["ml-students", "system:authenticated"])
    for place in ("clusterqueues/products", "namespaces/products/localqueues/default", "clusterqueues/research"):
        assert_forbidden(cluster, f"{VISIBLE}/{place}/pendingworkloads", *student)
    for path in ("/namespaces/products/workloads", "/workloads", "/namespaces/products/localqueues"):
        assert_forbidden(cluster, f"/apis/{KUEUE}{path}", *student)
    numbers = wait_for("the numbers", lambda: _both_counted(read(cluster, f"{QUEUES}/products", *student)))
    assert "job-" not in str(numbers)


def _both_counted(queue: dict[str, Any]) -> dict[str, Any]:
    return queue if queue["status"]["pendingWorkloads"] == 2 else {}


def _pending(found: dict[str, Any], count: int) -> list[str]:
    names = [entry["metadata"]["name"] for entry in found.get("items") or []]
    return names if len(names) == count else []


def test_the_commands_of_the_documentation_are_for_members(cluster: Cluster, project_root: Path) -> None:
    """Those under "Why does it wait?" in docs/submit.md, as an editor and as an admin of team research."""
    page = (project_root / "docs" / "submit.md").read_text("utf-8")
    section = page.split("## Why does it wait?", 1)[1].split("\n## ", 1)[0]
    commands = [line for line in section.splitlines() if line.startswith("kubectl ")]
    assert len(commands) >= 9
    kubectl = find_tool("kubectl")
    for user, groups in MEMBERS:
        acting = ["--kubeconfig", str(cluster.kubeconfig), "--as", user, f"--as-group={groups[0]}"]
        for command in commands:
            done = subprocess.run(
                [str(kubectl), *acting, *shlex.split(command)[1:]], check=False, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
