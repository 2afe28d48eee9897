"""Waiting until quotas count custom resources."""

from typing import Any, cast

import pytest

from mlcluster.deploy.apply.quota_counts import uncounted_kinds, wait_until_counted
from mlcluster.kube.client import Kube
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from tests.specs import planned

pytestmark = pytest.mark.unit


class Answers:
    """An API server that serves these groups; its quota controller counts more from look to look."""

    def __init__(self, groups: list[str], *looks: list[str]) -> None:
        self.groups = groups
        self.looks = list(looks)
        self.requests = 0

    def request(self, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("GET", "/apis")
        self.requests += 1
        return {"groups": [{"name": name} for name in self.groups]}

    def get_object(self, _api_version: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
        assert (kind, name, namespace) == ("ResourceQuota", "team", "research")
        used = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return {"status": {"used": dict.fromkeys(used, "0")}}


def plan_with(**components: object) -> Plan:
    return planned(teams=[{"name": "research"}], components=components)


def waiting(groups: list[str], used: list[str]) -> list[str]:
    return uncounted_kinds(plan_with(jobSet={}, mpiOperator={}), cast("Kube", Answers(groups, used)))


def test_a_kind_that_the_quota_does_not_count_yet_is_told() -> None:
    groups = ["jobset.x-k8s.io", "kubeflow.org"]
    assert waiting(groups, ["count/jobsets.jobset.x-k8s.io"]) == [
        "the quota of research does not count mpijobs.kubeflow.org yet"
    ]
    assert not waiting(groups, ["count/jobsets.jobset.x-k8s.io", "count/mpijobs.kubeflow.org"])


def test_up_does_not_wait_for_a_kind_without_a_crd() -> None:
    """A component whose controller the lab only simulates has no CRD."""
    assert not waiting(["jobset.x-k8s.io"], ["count/jobsets.jobset.x-k8s.io"])


def test_up_waits_until_it_counts() -> None:
    kind = "count/jobsets.jobset.x-k8s.io"
    answers = Answers(["jobset.x-k8s.io"], [], [kind])
    wait_until_counted(plan_with(jobSet={}), cast("Kube", answers), Silent())
    assert answers.looks == [[kind]]


def test_a_cluster_without_kinds_of_jobs_or_without_teams_is_not_asked() -> None:
    answers = Answers([])
    for plan in (plan_with(), planned(components={"jobSet": {}})):
        wait_until_counted(plan, cast("Kube", answers), Silent())
    assert answers.requests == 0


def test_kinds_of_other_components_count_too() -> None:
    """They are those of the roles of members; Kubernetes' own kinds, which have limits too, are not waited for."""
    groups = ["ray.io", "serving.kserve.io", "networking.k8s.io", "apps"]
    plan = plan_with(kubeRay={}, certManager={}, kserve={})
    (told,) = uncounted_kinds(plan, cast("Kube", Answers(groups, ["count/rayjobs.ray.io"])))
    assert "rayclusters.ray.io" in told
    assert "inferenceservices.serving.kserve.io" in told
    for counted in ("rayjobs", "ingresses", "deployments"):
        assert counted not in told
