"""Job controllers and serving: releases, needs, and roles of members."""

from typing import Any

import pytest

from mlcluster.catalog.mpi_operator import RATE_FLAGS
from mlcluster.catalog.residue import residue_of
from mlcluster.plan.model import Plan
from mlcluster.plan.taints import toleration_manifests
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, manifests, planned, release

pytestmark = pytest.mark.unit


def components(plan: Plan) -> dict[str, str]:
    return {entry.name: entry.realisation for entry in plan.components}


def test_trainer_installs_jobset_once() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"trainer": {}})
    assert set(components(plan)) == {"jobset", "kubeflow-trainer", "kueue"}
    trainer = release(plan, "kubeflow-trainer")
    assert trainer.values["jobset"] == {"install": False}
    assert "Release/jobset" in trainer.needs
    assert {"Release/jobset", "Release/kubeflow-trainer"} <= set(release(plan, "kueue").needs)


def test_runtimes_tolerate_accelerators_but_the_plain_one() -> None:
    own: Data = {"jax": {"framework": "plain", "image": "example.com/jax:1"}, "torch": {**_TORCH}}
    plan = planned(SYSTEM, target=EXISTING, components={"trainer": {"runtimes": own}})
    found = manifests(plan, "ClusterTrainingRuntime")
    assert set(found) == {"torch", "deepspeed", "mpi", "plain", "jax"}
    for name, runtime in found.items():
        for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
            pod = job["template"]["spec"]["template"]["spec"]
            assert bool(pod.get("tolerations")) is (name not in {"plain", "jax"})
            assert "nodeSelector" not in pod
            assert pod["containers"][0]["resources"]["requests"]
    torch = found["torch"]["spec"]["template"]["spec"]["replicatedJobs"][0]
    assert torch["template"]["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/torch:2"


_TORCH: Data = {"framework": "torch", "image": "example.com/torch:2"}


def test_mpi_operator_is_managed_objects_or_a_lab_process() -> None:
    ours = planned(SYSTEM, target=EXISTING, components={"mpiOperator": {}})
    assert components(ours)["mpi-operator"] == "helm"
    (deployment,) = [name for name in manifests(ours, "Deployment") if name.endswith("mpi-operator")]
    assert "mpijobs.kubeflow.org" in manifests(ours, "CustomResourceDefinition")
    (pod,) = [pod for pod in ours.pods if pod.name == "mpi-operator"]
    spec = manifests(ours, "Deployment")[deployment]["spec"]["template"]["spec"]
    assert spec["tolerations"] == toleration_manifests(pod.tolerations)
    assert spec["priorityClassName"] == pod.priority_class
    (container,) = manifests(ours, "Deployment")["mpi-operator/mpi-operator"]["spec"]["template"]["spec"]["containers"]
    assert set(RATE_FLAGS) <= set(container["args"]), "as fast as on the lab"
    process = planned(SYSTEM, target=LOCAL, components={"mpiOperator": {}})
    assert components(process)["mpi-operator"] == "process"
    assert not manifests(process, "Deployment")


def test_sets_of_leaders_and_workers_are_in_the_queue() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"leaderWorkerSet": {}})
    found = release(plan, "lws")
    assert found.values["image"]["manager"]["tag"] == f"v{found.version}"
    assert found.id in release(plan, "kueue").needs
    configuration = release(plan, "kueue").values["managerConfig"]["controllerManagerConfigYaml"]
    assert "leaderworkerset.x-k8s.io/leaderworkerset" in configuration
    (pod,) = [pod for pod in plan.pods if pod.owner.id == "Release/lws"]
    assert (pod.name, pod.replicas) == ("lws-controller-manager", 2)
    assert found.values["replicaCount"] == 2
    assert "lws-system/lws-controller-manager" in manifests(plan, "PodDisruptionBudget")


@pytest.mark.parametrize("key", ["jobSet", "trainer", "mpiOperator", "kubeRay", "volcano", "kserve", "leaderWorkerSet"])
@pytest.mark.parametrize("target", [LOCAL, EXISTING], ids=["local", "existing"])
def test_members_may_write_the_kinds_but_not_their_status(key: str, target: Data) -> None:
    roles = manifests(planned(SYSTEM, target=target, components={key: {}}), "ClusterRole")
    edits = [role for name, role in roles.items() if name.startswith("mlcluster-") and name.endswith("-edit")]
    assert edits
    for role in edits:
        assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
        for rule in role["rules"]:
            assert not [resource for resource in rule["resources"] if "/" in resource]
            assert not {"trainingruntimes", "clustertrainingruntimes", "rayservices"} & set(rule["resources"])


def test_an_existing_controller_gives_rights_and_no_managed_release() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"jobSet": {"install": False}})
    assert components(plan)["jobset"] == "present"
    assert not [pod for pod in plan.pods if pod.owner.id == "Release/jobset"]
    assert "mlcluster-jobset-edit" in manifests(plan, "ClusterRole")


def test_kserve_requires_certificates_and_a_gateway_only_for_ingress() -> None:
    inside = planned(SYSTEM, target=EXISTING, components={"kserve": {}})
    assert set(components(inside)) == {"cert-manager", "kserve", "kueue"}
    values: dict[str, Any] = release(inside, "kserve").values["kserve"]["controller"]
    assert values["deploymentMode"] == "Standard"
    assert values["gateway"]["disableIngressCreation"] is True
    outside = planned(SYSTEM, target=EXISTING, components={"kserve": {"ingress": {"domain": "models.example.com"}}})
    assert "envoy-gateway" in components(outside)
    network = release(outside, "kserve").values["kserve"]["controller"]["gateway"]
    assert network["domain"] == "models.example.com"
    namespace, _, name = network["ingressGateway"]["kserveGateway"].partition("/")
    (gateway,) = manifests(outside, "Gateway").values()
    assert (gateway["metadata"]["namespace"], gateway["metadata"]["name"]) == (namespace, name)
    assert gateway["spec"]["gatewayClassName"] in manifests(outside, "GatewayClass")


def test_crds_of_kserve_are_installed_before_its_controller() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"kserve": {}})
    assert "Release/kserve-crd" in release(plan, "kserve").needs
    assert "inferenceservices.serving.kserve.io" in release(plan, "kserve-crd").crds


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("jobSet", "jobset"),
        ("trainer", "kubeflow-trainer"),
        ("certManager", "cert-manager"),
        ("kserve", "kserve"),
        ("leaderWorkerSet", "lws"),
    ],
)
def test_webhooks_are_probed_before_objects_need_them(key: str, name: str) -> None:
    (answer,) = release(planned(SYSTEM, target=EXISTING, components={key: {}}), name).webhook_probes
    assert answer["metadata"]["name"] == "mlcluster-probe"


def test_two_cohorts_share_the_remainder_once() -> None:
    cohorts: list[Data] = [{"name": "east"}, {"name": "west", "share": "none"}]
    teams: list[Data] = [
        {"name": "research", "cohort": "east", "guarantee": {"train": {"nodes": 3}}},
        {"name": "physics", "cohort": "west", "guarantee": {"train": {"nodes": 2}}},
    ]
    plan = planned(SYSTEM, TRAIN, cohorts=cohorts, teams=teams)
    made = manifests(plan, "Cohort")
    assert made["west"]["spec"] == {}
    train = next(entry for entry in made["east"]["spec"]["resourceGroups"][0]["flavors"] if entry["name"] == "train")
    gpus = next(entry for entry in train["resources"] if entry["name"] == "nvidia.com/gpu")
    assert gpus["nominalQuota"] == "24"
    queues = manifests(plan, "ClusterQueue")
    assert {name: queue["spec"]["cohortName"] for name, queue in queues.items()} == {
        "research": "east", "physics": "west",
    }  # fmt: skip


def test_a_team_may_preempt_lower_tiers_while_it_borrows() -> None:
    teams: list[Data] = [{"name": "research", "borrow": "all", "displaces": "best-effort-experiment"}]
    (queue,) = manifests(planned(SYSTEM, teams=teams), "ClusterQueue").values()
    assert queue["spec"]["preemption"]["borrowWithinCohort"] == {"policy": "LowerPriority", "maxPriorityThreshold": 100}


def test_every_resource_of_a_pool_is_covered_or_left_out_on_purpose() -> None:
    fabric: Data = {**TRAIN, "network": {"efa": True, "rdma": {"rdma/hca": 8}}}
    teams: list[Data] = [{"name": "research", "guarantee": {"train": {"nodes": 1}}}]
    plan = planned(SYSTEM, fabric, teams=teams)
    (queue,) = manifests(plan, "ClusterQueue").values()
    (group,) = queue["spec"]["resourceGroups"]
    offered = {name for pool in plan.pools if pool.name == "train" for name in pool.allocatable}
    assert {name for name in offered if not name.startswith("hugepages-")} <= set(group["coveredResources"])
    assert {"rdma/hca", "vpc.amazonaws.com/efa", "nvidia.com/gpu"} <= set(group["coveredResources"])


def test_certificates_of_other_owners_outlive_the_release() -> None:
    """The chart keeps its definitions, and `down` knows them."""
    plan = planned(SYSTEM, target=EXISTING, components={"certManager": {}})
    chart = release(plan, "cert-manager")
    assert chart.values["crds"] == {"enabled": True, "keep": True}
    assert set(chart.crds) <= set(residue_of("cert-manager").crds)
