"""Components of GPUs without the operator: device plugin, DCGM exporter, DRA driver."""

import json
from itertools import product
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan, PlanRelease
from mlcluster.plan.observe.counters import dcgm_counters_csv
from mlcluster.plan.overhead import lands_on
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, cluster
from tests.upstream import needs_reference, unknown_values

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2", "kubernetesVersion": "1.36"}
LOCAL: Data = {"kind": "local"}
TAINTED: Data = {
    **TRAIN,
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    "startupTaints": [{"key": "example.com/checking", "effect": "NoExecute"}],
}
SLICED: Data = {**TRAIN, "name": "sliced", "gpu": {"timeSlicing": {"replicas": 4}}}
TOGETHER: Data = {**TRAIN, "name": "together", "gpu": {"mps": {"replicas": 2}}}
CUT: Data = {"name": "cut", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
ROCKET: Data = {**TRAIN, "name": "rocket", "ami": {"family": "bottlerocket"}}
EVERY = (SYSTEM, TAINTED, SLICED, TOGETHER, ROCKET)


def plan_of(*pools: Data, target: Data = EKS, **components: Any) -> Plan:
    return build(ClusterSpec.model_validate(cluster(*pools, target=target, components=components)))


def releases(plan: Plan, chart: str) -> dict[str, PlanRelease]:
    return {release.name: release for release in plan.releases if release.chart.rpartition("/")[2] == chart}


def plugins(*pools: Data, target: Data = EKS) -> dict[str, PlanRelease]:
    return releases(plan_of(*(pools or EVERY), target=target, nvidiaDevicePlugin={}), "nvidia-device-plugin")


def selected_by(affinity: Manifest) -> list[dict[str, str]]:
    terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [
        dict(zip((one["key"] for one in term["matchExpressions"]), values, strict=True))
        for term in terms
        for values in product(*(one["values"] for one in term["matchExpressions"]))
    ]


def landing(plan: Plan, owner: str) -> dict[str, list[str]]:
    """Return daemon set -> the pools on which its pods run."""
    found: dict[str, list[str]] = {}
    for pod in plan.pods:
        if pod.owner.id == owner and pod.kind == "DaemonSet":
            found.setdefault(pod.name, []).extend(pool.name for pool in plan.pools if lands_on(pod, pool))
    return found


# Device plugin


def test_one_release_for_each_way_of_sharing_on_nodes_of_its_own() -> None:
    third = {**SLICED, "name": "third", "gpu": {"timeSlicing": {"replicas": 8}}}
    second = {**SLICED, "name": "second"}
    found = plugins(*EVERY, second, third)
    assert {name: [one["mlcluster.dev/pool"] for one in selected_by(release.values["affinity"])]
            for name, release in found.items()} == {
        "nvidia-device-plugin": ["train"],
        "nvidia-device-plugin-mps-2": ["together"],
        "nvidia-device-plugin-slices-4": ["sliced", "second"],
        "nvidia-device-plugin-slices-8": ["third"],
    }  # fmt: skip


def test_on_existing_clusters_nodes_are_those_of_the_selector() -> None:
    pool = {**TRAIN, "selector": {"example.com/pool": "train", "example.com/row": "4"}}
    (release,) = plugins(SYSTEM, pool, target=EXISTING).values()
    assert selected_by(release.values["affinity"]) == [{"example.com/pool": "train", "example.com/row": "4"}]


def test_the_plugin_tolerates_only_the_taints_of_its_pools() -> None:
    found = plugins(SYSTEM, TAINTED, SLICED)
    keys = {name: [one["key"] for one in release.values["tolerations"]] for name, release in found.items()}
    assert keys["nvidia-device-plugin"] == [
        "nvidia.com/gpu",
        "dedicated",
        "example.com/checking",
    ]
    assert keys["nvidia-device-plugin-slices-4"] == ["nvidia.com/gpu"]


def test_slices_keep_the_name_that_quotas_count() -> None:
    found = plugins()
    slices = json.loads(found["nvidia-device-plugin-slices-4"].values["config"]["map"]["default"])
    assert slices["sharing"]["timeSlicing"] == {
        "renameByDefault": False,
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }
    mps = json.loads(found["nvidia-device-plugin-mps-2"].values["config"]["map"]["default"])
    assert mps["sharing"]["mps"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 2}]
    assert "config" not in found["nvidia-device-plugin"].values


def test_no_second_plugin_beside_the_images() -> None:
    assert plugins(SYSTEM, ROCKET) == {}
    ready = {**TRAIN, "gpu": {"imageBrings": ["devicePlugin"]}}
    assert plugins(SYSTEM, ready, target=EXISTING) == {}


def test_mig_instances_of_existing_nodes_are_advertised_by_size() -> None:
    (release,) = plugins(SYSTEM, CUT, TRAIN, target=EXISTING).values()
    assert release.values["migStrategy"] == "mixed"
    assert plugins()["nvidia-device-plugin"].values["migStrategy"] == "none"


def test_the_mps_daemon_finds_its_nodes() -> None:
    plan = plan_of(*EVERY, nvidiaDevicePlugin={})
    labels = {pool.name: pool.labels.get("nvidia.com/mps.capable") for pool in plan.pools}
    assert [name for name, value in labels.items() if value] == ["together"]
    assert landing(plan, "Release/nvidia-device-plugin-mps-2") == {
        "nvidia-device-plugin-mps-2": ["together"],
        "nvidia-device-plugin-mps-2-mps-control-daemon": ["together"],
    }


def test_plugins_land_on_their_pools_and_on_no_others() -> None:
    plan = plan_of(*EVERY, nvidiaDevicePlugin={})
    assert landing(plan, "Release/nvidia-device-plugin") == {"nvidia-device-plugin": ["train"]}
    assert landing(plan, "Release/nvidia-device-plugin-slices-4") == {"nvidia-device-plugin-slices-4": ["sliced"]}


def test_values_of_the_spec_reach_every_release() -> None:
    plan = plan_of(SYSTEM, SLICED, TOGETHER, nvidiaDevicePlugin={"values": {"failOnInitError": True}})
    found = releases(plan, "nvidia-device-plugin")
    assert len(found) == 2
    assert all(release.values["failOnInitError"] for release in found.values())


def test_an_existing_plugin_is_left_unchanged() -> None:
    plan = plan_of(SYSTEM, SLICED, nvidiaDevicePlugin={"install": False})
    (release,) = releases(plan, "nvidia-device-plugin").values()
    assert (release.realisation, release.values) == ("present", {})
    assert not [pod for pod in plan.pods if "device-plugin" in pod.name]


# DCGM exporter


def test_the_exporter_runs_only_on_gpu_nodes_with_the_planned_counters() -> None:
    plan = plan_of(SYSTEM, TAINTED, target=EXISTING, dcgmExporter={})
    (release,) = releases(plan, "dcgm-exporter").values()
    assert selected_by(release.values["affinity"]) == [{"example.com/pool": "train"}]
    assert {one["key"] for one in release.values["tolerations"]} >= {"nvidia.com/gpu", "dedicated"}
    assert release.values["customMetrics"] == dcgm_counters_csv()
    assert "extraEnv" not in release.values
    assert release.values["serviceMonitor"] == {"enabled": False}
    assert landing(plan, "Release/dcgm-exporter") == {"dcgm-exporter": ["train"]}


def test_the_exporter_names_every_pod_where_pods_share_gpus() -> None:
    sliced = {**TAINTED, "name": "sliced", "gpu": {"timeSlicing": {"replicas": 4}}}
    plan = plan_of(SYSTEM, TAINTED, sliced, target=EXISTING, dcgmExporter={}, nvidiaDevicePlugin={})
    (release,) = releases(plan, "dcgm-exporter").values()
    assert release.values["extraEnv"] == [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]


def test_with_the_operator_there_is_one_exporter() -> None:
    plan = plan_of(SYSTEM, TRAIN, dcgmExporter={})
    (operator,) = releases(plan, "gpu-operator").values()
    assert operator.values["dcgmExporter"] == {"enabled": False}
    assert [pod.name for pod in plan.pods if pod.name.endswith("dcgm-exporter")] == ["dcgm-exporter"]


# DRA driver


def dra(*pools: Data, target: Data = EKS, **settings: Any) -> tuple[Plan, Manifest]:
    plan = plan_of(*(pools or (SYSTEM, TAINTED)), target=target, draDriver=settings)
    (release,) = releases(plan, "dra-driver-nvidia-gpu").values()
    return plan, release.values


def test_compute_domains_work_with_the_device_plugin() -> None:
    plan, values = dra()
    assert values["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert "gpuResourcesEnabledOverride" not in values
    assert values["nvidiaDriverRoot"] == "/"
    assert releases(plan, "gpu-operator")["gpu-operator"].values["devicePlugin"]["enabled"] is True


def test_gpus_by_claims_take_the_place_of_the_plugin() -> None:
    plan, values = dra(gpus=True)
    assert values["resources"]["gpus"] == {"enabled": True}
    assert values["gpuResourcesEnabledOverride"] is True
    assert releases(plan, "gpu-operator")["gpu-operator"].values["devicePlugin"] == {"enabled": False}


def test_where_the_operators_driver_is() -> None:
    plan = plan_of(SYSTEM, TRAIN, target=EXISTING, gpuOperator={}, draDriver={})
    (release,) = releases(plan, "dra-driver-nvidia-gpu").values()
    assert release.values["nvidiaDriverRoot"] == "/run/nvidia/driver"


def test_the_dra_plugin_runs_on_gpu_nodes_and_its_controller_on_others() -> None:
    plan, _ = dra()
    assert landing(plan, "Release/dra-driver-nvidia-gpu") == {"dra-driver-nvidia-gpu-kubelet-plugin": ["train"]}
    (controller,) = (pod for pod in plan.pods if pod.name == "dra-driver-nvidia-gpu-controller")
    assert [pool.name for pool in plan.pools if lands_on(controller, pool)] == ["system"]
    without, _ = dra(computeDomains=False, gpus=True)
    assert not [pod for pod in without.pods if pod.name == "dra-driver-nvidia-gpu-controller"]


# All of them


@needs_reference
@pytest.mark.parametrize("chart", ["nvidia-device-plugin", "dcgm-exporter"])
def test_every_value_exists_in_the_chart(chart: str) -> None:
    plan = plan_of(*EVERY, nvidiaDevicePlugin={}, dcgmExporter={})
    found = releases(plan, chart)
    assert found
    for release in found.values():
        assert unknown_values(chart, release.values) == []


def test_in_a_lab_their_pods_are_simulated() -> None:
    plan = plan_of(SYSTEM, TRAIN, target=LOCAL, nvidiaDevicePlugin={}, dcgmExporter={}, draDriver={})
    assert {one.realisation for one in plan.components if one.name != "kueue"} == {"simulated"}
    names = {entry.manifest["metadata"]["name"] for entry in plan.objects if entry.manifest["kind"] == "DaemonSet"}
    assert names == {
        "nvidia-device-plugin-train",
        "dcgm-exporter-train",
        "dra-driver-nvidia-gpu-kubelet-plugin-train",
    }
