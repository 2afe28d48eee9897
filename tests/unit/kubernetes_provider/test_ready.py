import json
from typing import Any

import pytest

from mlcluster.kubernetes_provider.ready import NeverReady, patience, skips_await, unready

pytestmark = pytest.mark.unit


def live(api_version: str, kind: str, *, generation: int = 2, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "generation": generation}, **rest}


def condition(kind: str, status: str = "True", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "message": message}


def deployment(*, replicas: int = 2, **status: Any) -> dict[str, Any]:
    return live("apps/v1", "Deployment", spec={"replicas": replicas}, status={"observedGeneration": 2, **status})


def daemon_set(**status: int) -> dict[str, Any]:
    return live("apps/v1", "DaemonSet", status={"observedGeneration": 2, **status})


def job(*conditions: dict[str, str], **spec: Any) -> dict[str, Any]:
    return live("batch/v1", "Job", spec=spec, status={"conditions": [*conditions]})


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (live("v1", "ConfigMap"), ""),
        (live("v1", "Namespace", status={"phase": "Active"}), ""),
        (live("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "it is not Established"),
        (
            live(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                status={"conditions": [condition("Established")]},
            ),
            "",
        ),
        (deployment(observedGeneration=1), "its controller has not processed the new spec"),
        (deployment(), "0 of 2 replicas are updated"),
        (deployment(updatedReplicas=2, availableReplicas=1), "1 of 2 replicas are available"),
        (deployment(updatedReplicas=2, availableReplicas=2, replicas=2), ""),
        (deployment(replicas=0), ""),
        (daemon_set(desiredNumberScheduled=2, updatedNumberScheduled=2, numberAvailable=1), "1 of 2 nodes run"),
        (daemon_set(desiredNumberScheduled=2, updatedNumberScheduled=2, numberAvailable=2), ""),
        (daemon_set(), ""),
        (job(), "the job is not complete"),
        (job(condition("Complete")), ""),
        (job(suspend=True), ""),
        (live("v1", "Service", spec={"type": "ClusterIP"}), ""),
        (live("v1", "Service", spec={"type": "LoadBalancer"}, status={"loadBalancer": {}}), "no load balancer address"),
        (
            live(
                "v1",
                "Service",
                spec={"type": "LoadBalancer"},
                status={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            ),
            "",
        ),
        (live("kueue.x-k8s.io/v1beta1", "ClusterQueue"), ""),
        (live("example.com/v1", "Deployment"), ""),
    ],
)
def test_readiness(found: dict[str, Any], reason: str) -> None:
    assert (reason in unready(found)) if reason else (unready(found) == "")


def test_old_replicas_still_exist() -> None:
    found = deployment(updatedReplicas=2, availableReplicas=2)
    found["status"]["replicas"] = 3
    assert unready(found) == "1 old replicas still exist"


@pytest.mark.parametrize(
    "found",
    [
        job(condition("Failed", message="BackoffLimitExceeded")),
        deployment(conditions=[condition("Progressing", "False", "BackoffLimitExceeded")]),
    ],
)
def test_objects_that_will_never_be_ready_have_a_reason(found: dict[str, Any]) -> None:
    with pytest.raises(NeverReady, match="BackoffLimitExceeded"):
        unready(found)


@pytest.mark.parametrize(
    ("annotation", "ready"),
    [
        ("condition=Active", True),
        ("condition=Active=True", True),
        ("condition=Stopped=False", True),
        ("condition=Ready", False),
        ("jsonpath={.status.phase}=Running", True),
        ("jsonpath={.status.phase}=Pending", False),
        ("jsonpath={.status.list[0].ip}", True),
        ("jsonpath={.status.list[1].ip}", False),
        ("jsonpath={.status.count}=3", True),
        ("jsonpath={.status['odd.key']}=v", True),
        (json.dumps(["condition=Active", "jsonpath={.status.count}=3"]), True),
        (json.dumps(["condition=Active", "condition=Ready"]), False),
    ],
)
def test_wait_for(annotation: str, ready: bool) -> None:
    found = live("kueue.x-k8s.io/v1beta1", "ClusterQueue")
    found["metadata"]["annotations"] = {"pulumi.com/waitFor": annotation}
    found["status"] = {
        "phase": "Running",
        "count": 3,
        "odd.key": "v",
        "list": [{"ip": "1"}],
        "conditions": [condition("Active"), condition("Stopped", "False")],
    }
    assert (unready(found) == "") is ready


@pytest.mark.parametrize("annotation", ["for the rain", "[not json"])
def test_an_invalid_annotation_is_reported_at_once(annotation: str) -> None:
    found = live("v1", "ConfigMap")
    found["metadata"]["annotations"] = {"pulumi.com/waitFor": annotation}
    with pytest.raises(NeverReady, match="waitFor"):
        unready(found)


def test_skip_and_patience() -> None:
    annotated = {"metadata": {"annotations": {"pulumi.com/skipAwait": "true", "pulumi.com/timeoutSeconds": "7"}}}
    assert skips_await(annotated)
    assert (patience(annotated, 0), patience(annotated, 3), patience({}, 0)) == (7, 3, 600)
    assert not skips_await({"metadata": {}})
