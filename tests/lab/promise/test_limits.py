"""ResourceQuota, LimitRange, and every object of the plan against the server's own schema."""

import pytest

from mlcluster.plan import build
from mlcluster.quantities import parse
from mlcluster.spec.load import load
from tests.lab.attacks import refused
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import Tenant, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab


def test_pod_over_resource_quota_is_refused(cluster: Cluster, students: Tenant) -> None:
    hard = build(load(cluster.spec).spec).teams[2].limits["requests.cpu"]
    fitting = parse("cpu", hard) // 7000
    for number in range(fitting):
        students.submit(pod(f"pod-{number}", "students", pod_spec(cpu="7")))
    words = "exceeded quota: team, requested: requests.cpu=7"
    assert words in refused(students, pod("one-more", "students", pod_spec(cpu="7")))


def test_limit_range_fills_missing_requests(students: Tenant) -> None:
    spec = {"containers": [{"name": "main", "image": "example.test/none"}]}
    made = students.submit(pod("modest", "students", spec))
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"}
    }
    wait_for("it runs", lambda: (students.pod("modest") or {})["status"]["phase"] == "Running")


def test_the_plan_names_the_resource_that_limits_a_pool_first(cluster: Cluster, students: Tenant) -> None:
    """For containers without requests; the team has one node and cannot borrow."""
    system = build(load(cluster.spec).spec).pools[0]
    assert system.first_bound == "cpu"
    spec = {"containers": [{"name": "main", "image": "example.test/none"}], "restartPolicy": "Never"}
    fitting = system.default_containers["cpu"]
    students.submit(job("filling", "students", spec, pods=fitting))
    wait_for("a node is full", lambda: students.running("filling") == fitting)
    students.submit(job("late", "students", spec))
    students.assert_waits_because("late", "insufficient unused quota for cpu in flavor system")


def test_the_number_of_pods_and_not_disk_limits_small_jobs(cluster: Cluster, students: Tenant) -> None:
    """With 17 GiB of disk per node and 1 GiB per container, the 18th pod waited; now the pod limit applies."""
    fitting = build(load(cluster.spec).spec).pools[0].default_containers["pods"]
    small = pod_spec(cpu="10m", memory="16Mi")
    for number in range(4):
        students.submit(job(f"small-{number}", "students", small, pods=fitting // 4))
    students.submit(job("rest", "students", small, pods=fitting % 4))
    wait_for("as many pods as a node holds run", lambda: _running(students) == fitting)
    students.submit(job("late", "students", small))
    students.assert_waits_because("late", "insufficient unused quota for pods in flavor system")


def _running(team: Tenant) -> int:
    return len([entry for entry in team.pods() if entry["status"].get("phase") == "Running"])


def test_pod_security_of_the_namespace_is_enforced(students: Tenant) -> None:
    assert "violates PodSecurity" in refused(students, pod("hosted", "students", pod_spec(hostNetwork=True)))


def test_every_object_passes_strict_validation(cluster: Cluster) -> None:
    plan = build(load(cluster.spec).spec)
    checked = [cluster.kube.apply(entry.manifest, dry_run=True, field_validation="Strict") for entry in plan.objects]
    assert len(checked) == len(plan.objects)


def test_quantities_are_canonical(cluster: Cluster) -> None:
    """The server stores quantities as the plan has them, so a second `up` changes nothing."""
    plan = build(load(cluster.spec).spec)
    for entry in plan.objects:
        metadata = entry.manifest["metadata"]
        live = cluster.kube.get_object(
            entry.manifest["apiVersion"], entry.manifest["kind"], metadata["name"], metadata.get("namespace")
        )
        assert live is not None, entry.id
        assert "spec" not in entry.manifest or _within(entry.manifest["spec"], live["spec"]), entry.id


def _within(wanted: object, live: object) -> bool:
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            key in live and _within(value, live[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and len(wanted) == len(live) and all(map(_within, wanted, live))
    return wanted == live
