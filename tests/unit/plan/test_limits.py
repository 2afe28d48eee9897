"""The hard limits of a ResourceQuota on stored and exposed objects of a team."""

import pytest

from mlcluster.plan import names
from mlcluster.report.plan_text import plan_text
from mlcluster.spec.problems import SpecInvalidError
from tests.specs import Data, manifests, planned

pytestmark = pytest.mark.unit

RESEARCH: Data = {"name": "research", "guarantee": {"train": {"nodes": 2}}}


def hard(**limits: object) -> dict[str, str]:
    """Return the hard limits of a team with these limits in the spec."""
    (team,) = planned(teams=[{**RESEARCH, "limits": limits}]).teams
    return dict(team.limits)


def test_limits_of_the_plan_equal_those_of_the_resource_quota() -> None:
    plan = planned(teams=[RESEARCH])
    assert manifests(plan, "ResourceQuota")["research/team"]["spec"]["hard"] == dict(plan.teams[0].limits)


def test_the_defaults_open_nothing_to_the_outside() -> None:
    found = hard()
    assert found["services.loadbalancers"] == found["services.nodeports"] == "0"
    assert found["count/ingresses.networking.k8s.io"] == "0"
    assert (found["count/configmaps"], found["count/secrets"], found["requests.storage"]) == ("250", "250", "10Ti")


def test_a_limit_in_the_spec_is_the_hard_limit() -> None:
    found = hard(configMaps=7, secrets=8, services=9, volumeClaims=0, storage="1500Gi", jobs=2000, otherObjects=30)
    assert (found["count/configmaps"], found["count/secrets"], found["count/services"]) == ("7", "8", "9")
    assert (found["count/persistentvolumeclaims"], found["requests.storage"]) == ("0", "1500Gi")
    assert (found["count/jobs.batch"], found["count/deployments.apps"]) == ("2k", "30")
    assert found["count/replicasets.apps"] == "360"


def test_finished_pods_are_stored_beside_those_that_run() -> None:
    found = hard(finishedPods=100)
    assert int(found["count/pods"]) == int(found["pods"]) + 100


def test_the_bound_of_grace_periods_lets_the_default_of_kubernetes_pass() -> None:
    """A pod that names no period gets 30 seconds, and those of many controllers name none."""
    assert hard(gracePeriodSeconds=30)
    with pytest.raises(SpecInvalidError, match="gracePeriodSeconds"):
        hard(gracePeriodSeconds=29)


def test_a_load_balancer_takes_node_ports_and_opens_its_policy() -> None:
    found = hard(loadBalancers=2)
    assert (found["services.loadbalancers"], found["services.nodeports"]) == ("2", "32")
    team = {**RESEARCH, "limits": {"loadBalancers": 2}}
    assert manifests(planned(teams=[team]), "Namespace")["research"]["metadata"]["annotations"][names.CLOSED] == (
        "ingresses"
    )
    opened = {**RESEARCH, "limits": {"loadBalancers": 1, "ingresses": 1}}
    annotations = manifests(planned(teams=[opened]), "Namespace")["research"]["metadata"]["annotations"]
    assert names.CLOSED not in annotations


def test_the_text_of_the_plan_groups_teams_with_the_same_limits() -> None:
    teams = [RESEARCH, {"name": "guests"}, {"name": "web", "limits": {"loadBalancers": 1, "storage": "1Ti"}}]
    lines = [line for line in plan_text(planned(teams=teams), color=False, width=400).splitlines() if "Limits" in line]
    assert [line.split(":")[0].split(None, 1)[1] for line in lines] == ["research, guests", "web"]
    assert "load balancers 0" in lines[0]
    assert "pods end within 600 s" in lines[0]
    assert "load balancers 1" in lines[1]
    assert "storage 1Ti" in lines[1]


def test_job_kinds_of_components_are_limited() -> None:
    components: Data = {"jobSet": {}, "trainer": {}, "mpiOperator": {}, "kubeRay": {}}
    (team,) = planned(teams=[RESEARCH], components=components).teams
    for kind in (
        "jobsets.jobset.x-k8s.io",
        "trainjobs.trainer.kubeflow.org",
        "mpijobs.kubeflow.org",
        "rayjobs.ray.io",
        "rayclusters.ray.io",
    ):
        assert team.limits[f"count/{kind}"] == "500"
