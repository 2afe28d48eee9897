"""Rules that every plan holds: of the examples, of each component's golden, of random specs.

Rules that need a real API server are tested in tests/lab.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings

from mlcluster.catalog.eks import eks_version
from mlcluster.plan import build
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_owners import OPERATOR, ownership
from mlcluster.plan.components.simulated import BUILT_IN
from mlcluster.plan.model import DefiningObject, Plan, PlanRelease
from mlcluster.plan.taints import HARD_EFFECTS, tolerates
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.load import load
from tests.specs import SYSTEM, checked, cluster
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[4]
SPECS = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests/golden/components").glob("*/cluster.yaml")])
every_spec = pytest.mark.parametrize(
    "path", SPECS, ids=lambda path: path.parent.name if path.stem == "cluster" else path.stem
)


@cache
def spec_of(path: Path) -> ClusterSpec:
    return load(path).spec


@cache
def plan_of(path: Path) -> Plan:
    return build(spec_of(path))


def context_of(spec: ClusterSpec, plan: Plan) -> ComponentContext:
    chosen = {component.name: component.spec_path for component in plan.components}
    return ComponentContext(spec, plan.pools, chosen, plan.teams, plan.cohorts)


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a manifest or in values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)


@every_spec
def test_kueue_objects_are_v1beta2(path: Path) -> None:
    plan = plan_of(path)
    versions = {entry.manifest["apiVersion"] for entry in plan.objects}
    assert {version for version in versions if version.startswith("kueue.x-k8s.io/")} <= {"kueue.x-k8s.io/v1beta2"}
    assert not [text for entry in plan.objects for text in texts(entry.manifest) if "kueue.x-k8s.io/v1beta1" in text]


RIVALS = ({"gpu-operator", "nvidia-device-plugin"}, {"cluster-autoscaler", "karpenter"})
"""Components that would do the same thing twice on every node."""

OF_THE_NETWORK_OPERATOR = ("kube-multus", "rdma-shared", "sriov", "whereabouts")
"""Names of managed daemon sets that the operator would run too."""


@every_spec
def test_every_duty_has_one_owner(path: Path) -> None:
    plan = plan_of(path)
    listed = {component.name for component in plan.components if component.realisation != "present"}
    for rivals in RIVALS:
        assert not rivals <= listed
    daemon_sets = [entry.id for entry in plan.objects if entry.id.startswith("DaemonSet/kube-system/")]
    if "network-operator" in listed:
        assert not [name for name in daemon_sets if name.split("/")[-1].startswith(OF_THE_NETWORK_OPERATOR)]
    discovered = [release for release in plan.releases if release.values.get("nfd", {}).get("enabled") is not False]
    assert len([release for release in discovered if release.name in {"gpu-operator", "network-operator"}]) <= 1


@every_spec
def test_the_operator_enables_exactly_the_parts_that_it_owns(path: Path) -> None:
    spec, plan = spec_of(path), plan_of(path)
    context = context_of(spec, plan)
    operator = next((release for release in plan.releases if release.name == OPERATOR), None)
    if operator is None:
        return
    table = ownership(context)
    for duty in ("driver", "toolkit", "devicePlugin", "migManager"):
        wanted = any(owners[duty] == OPERATOR for owners in table.values())
        assert operator.values[duty]["enabled"] is wanted, duty
    for pool in context.gpu_pools:
        if isinstance(spec.target, EksTarget):
            assert table[pool.name]["driver"] == table[pool.name]["toolkit"] == "image"


def assert_taints_are_tolerated(plan: Plan) -> None:
    for pod in plan.pods:
        if pod.kind != "DaemonSet" or not pod.node_selector:
            continue
        for pool in plan.pools:
            if all(pool.labels.get(key) == value for key, value in pod.node_selector.items()):
                for taint in pool.taints:
                    tolerated = any(tolerates(toleration, taint) for toleration in pod.tolerations)
                    assert tolerated or taint.effect not in HARD_EFFECTS, (pod.name, pool.name, taint)


@every_spec
def test_daemon_sets_tolerate_every_taint_of_the_pools_that_they_serve(path: Path) -> None:
    assert_taints_are_tolerated(plan_of(path))


@settings(max_examples=40)
@given(cluster_data(targets=("local", "existing", "eks")))
def test_daemon_sets_of_random_clusters_tolerate_every_taint(data: dict[str, Any]) -> None:
    data["components"] = {**data.get("components", {}), "gpuOperator": {}}
    assume(any("gpu" in json.dumps(pool) or pool.get("instanceType", "")[0:1] in "gp" for pool in data["nodePools"]))
    assert_taints_are_tolerated(build(ClusterSpec.model_validate({k: v for k, v in data.items() if k[:2] != "x-"})))


@every_spec
def test_tolerations_are_in_both_places_of_the_gpu_operator(path: Path) -> None:
    plan = plan_of(path)
    for release in plan.releases:
        if release.name == OPERATOR and release.values["nfd"]["enabled"]:
            operands = release.values["daemonsets"]["tolerations"]
            worker = release.values["node-feature-discovery"]["worker"]["tolerations"]
            assert [one for one in operands if one not in worker] == []


@every_spec
def test_every_resource_that_a_pod_can_request_is_counted(path: Path) -> None:
    """Every extended resource of a pool is in the queues that may use it, except hugepages."""
    plan = plan_of(path)
    groups = [
        group
        for entry in plan.objects
        if entry.manifest["kind"] in {"ClusterQueue", "Cohort"}
        for group in entry.manifest["spec"].get("resourceGroups", [])
    ]
    pools = {pool.spec_path: pool for pool in plan.pools}
    kinds = [entry for entry in plan.objects if entry.manifest["kind"] == "ResourceFlavor"]
    of_flavor = {entry.manifest["metadata"]["name"]: pools[entry.spec_path] for entry in kinds}
    for group in groups:
        offered = {name for flavor in group["flavors"] for name in of_flavor[flavor["name"]].allocatable}
        assert {name for name in offered if not name.startswith("hugepages-")} <= set(group["coveredResources"])


def needed(plan: Plan) -> dict[str, set[str]]:
    """Return id -> its direct and indirect needs."""
    entries = {entry.id: entry for part in (plan.releases, plan.objects) for entry in part}
    found: dict[str, set[str]] = {}

    def before(identifier: str) -> set[str]:
        if identifier not in found and identifier in entries:
            direct = set(entries[identifier].needs)
            found[identifier] = direct | {other for need in direct for other in before(need)}
        return found.get(identifier, set())

    for identifier in entries:
        before(identifier)
    return found


@pytest.mark.parametrize("minor", ["1.33", "1.34", "1.35", "1.36"])
def test_the_autoscalers_image_is_of_the_clusters_minor(minor: str) -> None:
    target = {"kind": "eks", "region": "us-west-2", "kubernetesVersion": minor, "endpoint": {"public": False}}
    plan = build(checked(cluster({**SYSTEM, "minSize": 2}, target=target)))
    release = next(release for release in plan.releases if release.name == "cluster-autoscaler")
    pins = eks_version(minor)
    assert pins is not None
    assert release.values["image"]["tag"] == pins.cluster_autoscaler
    assert pins.cluster_autoscaler.startswith(f"v{minor}.")


@every_spec
def test_custom_resources_wait_for_crds_and_webhooks(path: Path) -> None:
    """Each release with a kind of a managed object has a probe that runs before the object is created."""
    plan = plan_of(path)
    bringers: dict[str, PlanRelease | DefiningObject] = {release.id: release for release in plan.releases}
    bringers |= {one.id: one for one in plan.defining_objects}
    before = needed(plan)
    for entry in plan.objects:
        group = entry.manifest["apiVersion"].rpartition("/")[0]
        behind = [bringers[need] for need in before[entry.id] if need in bringers]
        if group not in BUILT_IN and any(release.realisation == "helm" for release in behind):
            asked = {name.partition(".")[2] for release in behind for name in release.crds}
            assert group in asked, entry.id


@every_spec
def test_no_query_uses_the_exporters_name_of_the_host(path: Path) -> None:
    """It was `Hostname` and became `hostname`: queries group by `node`, which the scrape relabels."""
    plan = plan_of(path)
    for entry in plan.objects:
        if entry.manifest["kind"] == "PrometheusRule":
            expressions = [rule["expr"] for group in entry.manifest["spec"]["groups"] for rule in group["rules"]]
            assert not [text for text in expressions if "ostname" in text]
