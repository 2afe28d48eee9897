"""Objects in etcd and volumes of a team are limited: the API server enforces the limits of the spec."""

from collections.abc import Iterator
from typing import Any

import pytest

from mlcluster.kube.errors import ApiError
from tests.lab.attacks import refusal, refused, request_as
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import Tenant, container, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

MARK = "test.mlcluster.dev/stored"
LARGE = "x" * 900_000
KINDS = (("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "PersistentVolumeClaim"), ("coordination.k8s.io/v1", "Lease"))


def stored(api_version: str, kind: str, name: str, **body: Any) -> dict[str, Any]:
    """Return an object of team students that this module deletes again."""
    metadata = {"name": name, "namespace": "students", "labels": {MARK: "yes"}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def claim(name: str, size: str) -> dict[str, Any]:
    """Return a PersistentVolumeClaim."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return stored("v1", "PersistentVolumeClaim", name, spec=spec)


@pytest.fixture
def storing(students: Tenant) -> Iterator[Tenant]:
    """Yield team students; objects that the test stores are deleted."""
    yield students
    for api_version, kind in KINDS:
        for entry in students.kube.list(api_version, kind, "students", MARK):
            students.kube.delete(api_version, kind, entry["metadata"]["name"], "students")
    wait_for("the claims' end", lambda: not students.kube.list("v1", "PersistentVolumeClaim", "students", MARK))


def _most(team: Tenant, key: str) -> int:
    """Return the unused part of a hard limit."""
    status = (team.kube.get_object("v1", "ResourceQuota", "team", team.namespace) or {})["status"]
    return int(status["hard"][key]) - int(status["used"][key])


@pytest.mark.parametrize(
    ("kind", "body"),
    [("ConfigMap", {"data": {"a": "small"}}), ("Secret", {"stringData": {"a": "small"}})],
)
def test_config_maps_and_secrets_end_at_the_limit(storing: Tenant, kind: str, body: dict[str, Any]) -> None:
    key = f"count/{kind.lower()}s"
    left = wait_for("the limit", lambda: _most(storing, key))
    assert left <= 250
    for number in range(left):
        storing.submit(stored("v1", kind, f"one-{number}", **body))
    assert f"exceeded quota: team, requested: {key}=1" in refused(storing, stored("v1", kind, "more", **body))


def test_large_config_maps_end_at_the_limit(storing: Tenant) -> None:
    """One and a half megabytes is more than the API server takes; the limit is a number of objects, each below that."""
    storing.submit(stored("v1", "ConfigMap", "large", data={"a": LARGE}))
    with pytest.raises(ApiError) as caught:
        storing.submit(stored("v1", "ConfigMap", "larger", data={"a": LARGE * 2}))
    assert caught.value.status in {413, 422}


def test_claims_end_at_the_limit(storing: Tenant) -> None:
    assert "exceeded quota: team, requested: requests.storage=1Pi" in refused(storing, claim("huge", "1Pi"))
    storing.submit(claim("notebook", "10Gi"))
    for number in range(_most(storing, "count/persistentvolumeclaims")):
        storing.submit(claim(f"claim-{number}", "1Mi"))
    words = "exceeded quota: team, requested: count/persistentvolumeclaims=1"
    assert words in refused(storing, claim("more", "1Mi"))


def test_claims_of_pods_count(storing: Tenant) -> None:
    """A generic ephemeral volume is a claim that the controller makes for the pod."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Pi"}}}}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    storing.submit(job("greedy", "students", pod_spec(volumes=[volume])))
    events = "/api/v1/namespaces/students/events"
    wait_for("the refusal", lambda: "exceeded quota: team" in str(storing.kube.request("GET", events)))
    assert not storing.kube.list("v1", "PersistentVolumeClaim", "students")


def test_every_kind_that_members_create_is_bounded(cluster: Cluster) -> None:
    """Each namespaced kind of Kubernetes' own that an admin of the team may create has a hard limit, or no store."""
    hard = (cluster.kube.get_object("v1", "ResourceQuota", "team", "research") or {})["spec"]["hard"]
    bounded = {key.removeprefix("count/") for key in hard}
    for group, resource in _native_kinds(cluster):
        if cluster.kube.can("create", group, resource, "research", as_user="ann", as_groups=["ml-leads"]):
            name = f"{resource}.{group}" if group else resource
            assert name in bounded | {"events", "events.events.k8s.io"}, name


def _native_kinds(cluster: Cluster) -> list[tuple[str, str]]:
    """Return (group, resource) of every namespaced kind in etcd."""
    paths = {"": "/api/v1"}
    for group in cluster.kube.request("GET", "/apis")["groups"]:
        if "." not in group["name"] or group["name"].endswith(".k8s.io"):
            paths[group["name"]] = f"/apis/{group['preferredVersion']['groupVersion']}"
    paths = {group: path for group, path in paths.items() if "kueue" not in group}  # not to create: test_access.py
    return [
        (group, entry["name"])
        for group, path in paths.items()
        for entry in cluster.kube.request("GET", path)["resources"]
        if entry["namespaced"] and "/" not in entry["name"] and "list" in entry["verbs"]
    ]


@pytest.mark.parametrize("api_version", ["v1", "events.k8s.io/v1"])
def test_members_write_no_events(storing: Tenant, api_version: str) -> None:
    """No quota counts Events, and one may hold a megabyte for an hour."""
    body: dict[str, Any] = {"involvedObject": {"kind": "Pod", "namespace": "students"}, "message": LARGE}
    if api_version != "v1":
        body = {
            "regarding": {"kind": "Pod", "namespace": "students"},
            "note": "x",
            "action": "a",
            "reason": "r",
            "type": "Normal",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "a.b/c",
            "reportingInstance": "d",
        }
    assert "only controllers write Events" in refused(storing, stored(api_version, "Event", "large", **body))
    account = ("system:serviceaccount:students:default", ["ml-students", "system:authenticated"])
    path = f"{'/api' if api_version == 'v1' else '/apis'}/{api_version}/namespaces/students/events"
    made = stored(api_version, "Event", "large", **body)
    words = refusal(lambda: request_as(storing.kube, account, "POST", path, made))
    assert "only controllers write Events" in words


def test_controllers_write_events(storing: Tenant) -> None:
    storing.submit(job("told", "students", {"containers": [container()], "restartPolicy": "Never"}))

    def sources() -> set[str]:
        found = storing.kube.list("v1", "Event", "students")
        return {str(entry.get("reportingComponent")) for entry in found if "told" in entry["involvedObject"]["name"]}

    expected = {"job-controller", "default-scheduler", "kueue-admission"}
    wait_for("events of all", lambda: expected <= sources())
