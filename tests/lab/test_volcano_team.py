"""A team that Volcano queues beside teams of Kueue: Volcano does not run here, but the limits of the team are real."""

from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from tests.lab.attacks import refused
from tests.lab.workloads import KUEUE, Tenant, assert_stays, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

QUEUE = {"scheduling.volcano.sh/queue-name": "chemistry"}


@pytest.fixture(scope="module")
def kube(rules: Kube) -> Kube:
    """Return the cluster of test_queue_rules.py."""
    wait_for("the policies hold", lambda: _is_refused(rules))  # the API server learns of them a little later
    return rules


def _is_refused(kube: Kube) -> bool:
    try:
        kube.create(pod("tried", "chemistry", pod_spec()), dry_run=True)
    except ApiError as error:
        return "Volcano places" in error.message
    return False


def volcanos(name: str, gpus: int, **more: Any) -> dict[str, Any]:
    """Return a pod as Volcano wants it."""
    spec = pod_spec(gpus=gpus, schedulerName="volcano", **more)
    return pod(name, "chemistry", spec, annotations=dict(QUEUE))


def test_pods_of_the_team_use_volcano_and_the_queue_of_the_team(kube: Kube) -> None:
    team = Tenant(kube, "chemistry")
    assert "Volcano places this team's pods" in refused(team, pod("default", "chemistry", pod_spec()))
    foreign = volcanos("foreign", 1)
    foreign["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "default"}
    assert "wait in its own queue" in refused(team, foreign)
    assert "GPU nodes are for GPU pods" in refused(team, volcanos("idle", 0, tolerate=True))
    assert "is not a tier" in refused(team, volcanos("urgent", 1, priorityClassName="system-node-critical"))


def test_the_resource_quota_limits_the_team_and_kueue_ignores_it(kube: Kube) -> None:
    team = Tenant(kube, "chemistry")
    team.submit(volcanos("first", 8))
    assert "exceeded quota" in refused(team, volcanos("second", 1))
    assert not (team.pod("first") or {})["spec"].get("schedulingGates")
    assert_stays("without a workload", lambda: not kube.list(KUEUE, "Workload", "chemistry"))
    assert not kube.list(KUEUE, "LocalQueue", "chemistry")
    team.clean()


def test_kueue_still_queues_the_other_team(kube: Kube) -> None:
    team = Tenant(kube, "physics")
    team.submit(job("own", "physics", pod_spec(gpus=8), pods=2))
    wait_for("it runs", lambda: team.running("own") == 2)
    team.submit(job("more", "physics", pod_spec(gpus=8)))
    team.assert_waits_because("more", "nvidia.com/gpu")
    team.clean()


def test_the_volcano_queue_has_the_amounts_of_the_guarantee(kube: Kube) -> None:
    queue = kube.get_object("scheduling.volcano.sh/v1beta1", "Queue", "chemistry") or {}
    assert queue["spec"]["capability"]["nvidia.com/gpu"] == "8"
    assert queue["spec"]["deserved"] == queue["spec"]["capability"]
