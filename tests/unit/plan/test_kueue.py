"""Kueue: its release, its configuration, its pod."""

import json
from typing import Any

import pytest

from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.plan.taints import toleration_manifests
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, manifests, planned, planned_unchecked

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2"}
PRESENT: Data = {"kueue": {"install": False}}


def configuration(plan: Plan) -> dict[str, Any]:
    """Return the configuration of Kueue from the values of its release."""
    (release,) = plan.releases
    found: dict[str, Any] = json.loads(release.values["managerConfig"]["controllerManagerConfigYaml"])
    return found


def configuration_of(plan: Plan) -> dict[str, Any]:
    """Return the same, of a plan with more releases."""
    release = next(release for release in plan.releases if release.name == "kueue")
    found: dict[str, Any] = json.loads(release.values["managerConfig"]["controllerManagerConfigYaml"])
    return found


@pytest.mark.parametrize(
    ("target", "components", "realisation"),
    [(LOCAL, {}, "process"), (EXISTING, {}, "helm"), (EXISTING, PRESENT, "present"), (EKS, {}, "helm")],
)
def test_kueue_is_installed_simulated_or_adopted_by_target(target: Data, components: Data, realisation: str) -> None:
    plan = planned_unchecked(SYSTEM, target=target, components=components)
    assert [release.realisation for release in plan.releases if release.name == "kueue"] == [realisation]
    parts = [(part.name, part.version, part.realisation) for part in plan.components if part.name == "kueue"]
    assert parts == [("kueue", "0.18.3", realisation)]
    assert len([pod for pod in plan.pods if pod.owner.id == "Release/kueue"]) == (realisation == "helm")


def test_everything_in_team_namespaces_is_queued() -> None:
    found = configuration(planned(SYSTEM))
    assert found["manageJobsWithoutQueueName"] is True
    assert found["managedJobsNamespaceSelector"] == {"matchExpressions": [{"key": names.TEAM, "operator": "Exists"}]}
    assert found["integrations"] == {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]}
    assert found["resources"] == {"excludeResourcePrefixes": ["hugepages-"]}


def test_patience_with_gangs_is_the_specs() -> None:
    found = configuration(planned(SYSTEM, components={"kueue": {"podsReadyTimeout": "10m"}}))
    assert (found["waitForPodsReady"]["timeout"], found["waitForPodsReady"]["recoveryTimeout"]) == ("10m", "10m")
    assert configuration(planned(SYSTEM))["waitForPodsReady"]["timeout"] == "30m"


def test_only_a_pod_listens_on_the_ports_of_the_chart() -> None:
    inside = {"health", "metrics", "webhook", "leaderElection"}
    assert not inside & set(configuration(planned(SYSTEM)))
    assert inside <= set(configuration(planned(SYSTEM, target=EXISTING)))


def test_the_pin() -> None:
    (release,) = planned(SYSTEM).releases
    assert (release.id, release.name, release.version, release.namespace) == (
        "Release/kueue",
        "kueue",
        "0.18.3",
        "kueue-system",
    )
    assert release.chart.startswith("oci://")
    assert release.values["controllerManager"]["manager"] == {"priorityClassName": "system-cluster-critical"}
    assert release.webhook_probes[0]["kind"] == "ResourceFlavor"
    assert len(release.crds) == 11


def test_the_controllers_pod_is_rendered_with_its_evidence() -> None:
    (pod,) = planned(SYSTEM, TRAIN, target=EXISTING).pods
    assert (pod.kind, pod.namespace, pod.requests) == (
        "Deployment",
        "kueue-system",
        {"cpu": 500, "memory": 512, "pods": 1},
    )
    assert pod.evidence == "rendered"
    assert "v0.18.3" in pod.source


def test_a_deployment_is_no_overhead_of_every_node() -> None:
    assert all(pool.overhead == {} for pool in planned(SYSTEM, TRAIN, target=EXISTING).pools)


def test_frameworks_are_those_of_the_plan() -> None:
    found = configuration_of(planned(SYSTEM, components={"trainer": {}, "mpiOperator": {}, "kubeRay": {}}))
    assert found["integrations"]["frameworks"][4:] == [
        "jobset.x-k8s.io/jobset",
        "trainer.kubeflow.org/trainjob",
        "kubeflow.org/mpijob",
        "ray.io/rayjob",
        "ray.io/raycluster",
    ]


def test_fair_sharing_sets_weights_and_strategies() -> None:
    teams: list[Data] = [{"name": "research", "borrow": "all"}, {"name": "students", "borrow": "all"}]
    sharing = {"kueue": {"fairSharing": {"weights": {"research": 3}}}}
    plan = planned(SYSTEM, components=sharing, teams=teams)
    assert configuration(plan)["fairSharing"]["preemptionStrategies"][0] == "LessThanOrEqualToFinalShare"
    queues = manifests(plan, "ClusterQueue")
    weights = {name: queue["spec"]["fairSharing"] for name, queue in queues.items()}
    assert weights == {"research": {"weight": "3"}, "students": {"weight": "1"}}
    assert all("borrowWithinCohort" not in queue["spec"]["preemption"] for queue in queues.values())


def test_retention_visibility_and_size_are_options() -> None:
    asked = {"keepFinished": "24h", "visibility": True, "replicas": 2, "memory": "2Gi"}
    plan = planned(SYSTEM, target=EXISTING, components={"kueue": asked})
    (release,) = plan.releases
    found = configuration(plan)
    assert found["objectRetentionPolicies"] == {"workloads": {"afterFinished": "24h"}}
    assert found["featureGates"] == {"VisibilityOnDemand": True}
    assert release.values["enableVisibilityAPF"] is True
    controller = release.values["controllerManager"]
    assert (controller["replicas"], controller["podDisruptionBudget"]) == (2, {"enabled": True, "minAvailable": 1})
    (pod,) = plan.pods
    assert (pod.replicas, pod.requests["memory"]) == (2, 2048)
    assert toleration_manifests(pod.tolerations) == controller["tolerations"]


def test_kueue_does_not_manage_teams_of_volcano() -> None:
    plan = planned(SYSTEM, components={"volcano": {}}, teams=[{"name": "research", "scheduler": "volcano"}])
    found = configuration_of(plan)["managedJobsNamespaceSelector"]["matchExpressions"]
    assert {"key": names.SCHEDULER, "operator": "DoesNotExist"} in found
