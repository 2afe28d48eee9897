"""Charts in Go modules of the toolchain, rendered with the values of the plan: pod shapes of the plan equal theirs.

MPI Operator has no chart: the CRD of MPIJob in the plan is compared with that of upstream, field by field.
"""

from pathlib import Path
from typing import Any

import pytest

from mlcluster.lab.controllers import rendering
from mlcluster.lab.controllers.rendering import Programs
from mlcluster.lab.toolchain import Program, Toolchain, ensure_optional
from mlcluster.plan import job_kinds
from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.taints import toleration_manifests
from mlcluster.progress import Silent
from mlcluster.quantities import parse
from tests.specs import EXISTING, Data, manifests, planned

pytestmark = pytest.mark.lab

TAINT: Data = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
DEDICATED: Data = {"key": "platform", "value": "yes", "effect": "NoSchedule"}
SYSTEM: Data = {
    "name": "system",
    "instanceType": "m7i.2xlarge",
    "minSize": 2,
    "maxSize": 4,
    "taints": [TAINT, DEDICATED],
}
CHARTS = ("kueue", "jobset", "kubeflow-trainer")
COMPONENTS: Data = {
    "kueue": {"replicas": 2, "memory": "1Gi", "visibility": True},
    "trainer": {},
    "mpiOperator": {},
}


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return every controller of a module, on a pool with taints."""
    return planned(SYSTEM, target=EXISTING, components=COMPONENTS)


@pytest.fixture(scope="module")
def programs(toolchain: Toolchain) -> dict[str, Program]:
    """Return the optional programs, with their charts or manifests."""
    names = ["jobset", "kubeflow-trainer", "mpi-operator"]
    return {**ensure_optional(names, Silent()), "kueue": Program(toolchain.path("kueue"), toolchain.chart)}


def rendered(plan: Plan, toolchain: Toolchain, programs: dict[str, Program], name: str) -> list[Manifest]:
    """Return the objects of a release, with the plan's values."""
    release = next(entry for entry in plan.releases if entry.name == name)
    with_ = Programs(toolchain.path("helm"), toolchain.path("kubectl"))
    return rendering.helm(with_, release.name, Path(programs[name].manifests), release.namespace, release.values)


def total(containers: list[Manifest]) -> dict[str, int]:
    """Return the sum of the requests of the containers of a pod."""
    found: dict[str, int] = {}
    for container in containers:
        for name, amount in (container.get("resources") or {}).get("requests", {}).items():
            found[name] = found.get(name, 0) + parse(name, str(amount))
    return found


@pytest.mark.parametrize("name", CHARTS)
def test_pods_of_the_plan_equal_those_of_the_chart(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program], name: str
) -> None:
    (pod,) = [entry for entry in plan.pods if entry.owner.id == f"Release/{name}"]
    assert pod.evidence == "rendered"
    (deployment,) = [item for item in rendered(plan, toolchain, programs, name) if item["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    assert deployment["metadata"]["name"] == pod.name
    assert deployment["metadata"]["namespace"] == pod.namespace
    assert deployment["spec"].get("replicas", 1) == pod.replicas
    assert total(spec["containers"]) == {key: amount for key, amount in pod.requests.items() if key != "pods"}
    assert spec["tolerations"] == toleration_manifests(pod.tolerations)
    assert spec.get("nodeSelector", {}) == dict(pod.node_selector)
    assert spec.get("priorityClassName", "") == pod.priority_class
    assert {entry.get("key") for entry in spec["tolerations"]} >= {"CriticalAddonsOnly", "platform"}


@pytest.mark.parametrize("name", ["jobset", "kubeflow-trainer"])
def test_policies_name_the_service_account_of_each_controller(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program], name: str
) -> None:
    items = rendered(plan, toolchain, programs, name)
    (deployment,) = [item for item in items if item["kind"] == "Deployment"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    namespace = deployment["metadata"]["namespace"]
    assert job_kinds.USERS[name] == f"system:serviceaccount:{namespace}:{account}"
    assert {item["kind"] for item in items} >= {"ServiceAccount", "CustomResourceDefinition"}


@pytest.mark.parametrize("name", CHARTS)
def test_crds_that_a_release_waits_for_are_those_of_the_chart(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program], name: str
) -> None:
    release = next(entry for entry in plan.releases if entry.name == name)
    items = rendered(plan, toolchain, programs, name)
    found = {item["metadata"]["name"] for item in items if item["kind"] == "CustomResourceDefinition"}
    assert found == set(release.crds)


def test_the_release_of_trainer_has_no_second_jobset_and_no_hooks(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program]
) -> None:
    items = rendered(plan, toolchain, programs, "kubeflow-trainer")
    assert not [item for item in items if item["kind"] in {"Job", "ClusterTrainingRuntime"}]
    assert len([item for item in items if item["kind"] == "Deployment"]) == 1
    assert len([entry for entry in plan.objects if entry.manifest["kind"] == "ClusterTrainingRuntime"]) == 4


def _shape(schema: Any, path: str = "") -> dict[str, tuple[Any, ...]]:
    """Return path -> schema of the field, without descriptions, down to objects that accept any field."""
    if path.endswith((".template", ".labelSelector")):
        return {path: ("object",)}
    found = {path: (schema.get("type"), schema.get("default"), str(schema.get("enum")), schema.get("format"))}
    for name, inner in (schema.get("properties") or {}).items():
        found |= _shape(inner, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            found |= _shape(schema[key], path + mark)
    return found


def _schema(crd: Manifest) -> Any:
    (version,) = crd["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def test_the_crd_of_mpi_jobs_has_the_fields_of_upstream(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program]
) -> None:
    with_ = Programs(toolchain.path("helm"), toolchain.path("kubectl"))
    overlay = Path(programs["mpi-operator"].manifests) / "overlays" / "standalone"
    theirs = next(
        item
        for item in rendering.kustomize(with_, "mpi-operator", overlay)
        if item["kind"] == "CustomResourceDefinition"
    )
    ours = manifests(plan, "CustomResourceDefinition")["mpijobs.kubeflow.org"]
    assert {key: value for key, value in theirs["spec"].items() if key != "versions"} == {
        key: value for key, value in ours["spec"].items() if key != "versions"
    }
    upstream, own = _shape(_schema(theirs)), _shape(_schema(ours))
    assert own == upstream


def test_the_rights_of_the_operator_are_a_subset_of_upstream(
    plan: Plan, toolchain: Toolchain, programs: dict[str, Program]
) -> None:
    with_ = Programs(toolchain.path("helm"), toolchain.path("kubectl"))
    overlay = Path(programs["mpi-operator"].manifests) / "overlays" / "standalone"
    items = rendering.kustomize(with_, "mpi-operator", overlay)

    def rights(role: Manifest) -> set[tuple[str, str, str]]:
        return {
            (group, resource, verb)
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    theirs = rights(next(i for i in items if (i["kind"], i["metadata"]["name"]) == ("ClusterRole", "mpi-operator")))
    ours = rights(manifests(plan, "ClusterRole")["mpi-operator"])
    assert ours
    assert {right for right in ours if right not in theirs and (*right[:2], "*") not in theirs} == set()
