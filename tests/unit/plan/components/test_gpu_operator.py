"""The GPU operator: values, node labels, pods, and findings."""

import json
from typing import Any

import pytest

from mlcluster.catalog.gpus import gpus
from mlcluster.plan import build
from mlcluster.plan.components.gpu_sharing import mig_configuration
from mlcluster.plan.model import Manifest, Plan, PlanRelease
from mlcluster.plan.overhead import lands_on
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2"}
CUT: Data = {"name": "cut", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
SLICED: Data = {"name": "sliced", "instanceType": "g6.12xlarge", "maxSize": 2, "gpu": {"timeSlicing": {"replicas": 4}}}
TOGETHER: Data = {"name": "together", "instanceType": "g6.12xlarge", "maxSize": 2, "gpu": {"mps": {"replicas": 2}}}
ROCKET: Data = {**TRAIN, "name": "rocket", "ami": {"family": "bottlerocket"}}
RDMA: Data = {**TRAIN, "network": {"rdma": {"rdma/hca": 8}}}


def spec_of(*pools: Data, target: Data = EKS, **components: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(cluster(*pools, target=target, components=components))


def plan_of(*pools: Data, target: Data = EKS, **components: Any) -> Plan:
    return build(spec_of(SYSTEM, *pools, target=target, **components))


def release_of(plan: Plan) -> PlanRelease:
    (found,) = (release for release in plan.releases if release.name == "gpu-operator")
    return found


def values(*pools: Data, target: Data = EKS, **components: Any) -> Manifest:
    return release_of(plan_of(*pools, target=target, **components)).values


def config_map(plan: Plan, name: str) -> dict[str, str]:
    (found,) = (entry for entry in plan.objects if entry.id == f"ConfigMap/gpu-operator/{name}")
    data: dict[str, str] = found.manifest["data"]
    return data


def labels_of(plan: Plan, pool: str) -> dict[str, str]:
    (found,) = (one for one in plan.pools if one.name == pool)
    return {key: value for key, value in found.labels.items() if key.startswith("nvidia.com/")}


def ids(spec: ClusterSpec) -> list[str]:
    return [finding.id for finding in findings(build(spec), spec) if "GPU003" <= finding.id <= "GPU999"]


# Values


def test_eks_images_have_driver_and_toolkit() -> None:
    found = values(TRAIN)
    assert found["driver"] == found["toolkit"] == {"enabled": False}
    assert found["devicePlugin"] == {"enabled": True, "env": [{"name": "MOFED_ENABLED", "value": "false"}]}
    assert found["nfd"] == found["cdi"] == found["gfd"] == {"enabled": True}
    assert found["mig"] == {"strategy": "mixed"}


def test_bottlerocket_alone_leaves_plugin_and_mig_to_the_image() -> None:
    found = values(ROCKET)
    assert found["devicePlugin"] == found["migManager"] == {"enabled": False}
    assert found["dcgmExporter"]["enabled"] is True


def test_on_other_images_the_operator_installs_the_driver_and_waits_for_jobs() -> None:
    found = values(TRAIN, target=EXISTING, gpuOperator={})
    assert found["toolkit"]["enabled"] is True
    assert {entry["name"]: entry["value"] for entry in found["toolkit"]["env"]} == {
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED": "false",
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS": "false",
    }
    assert found["driver"]["enabled"] is True
    assert found["driver"]["upgradePolicy"]["waitForCompletion"]["podSelector"].startswith("kueue.x-k8s.io/")
    assert "rdma" not in found["driver"]


@pytest.mark.parametrize(
    ("network", "on_host"),
    [({}, True), ({"networkOperator": {}}, True), ({"networkOperator": {"ofedDriver": True}}, False)],
)
def test_driver_rdma_is_enabled_with_rdma_pools(network: Data, on_host: bool) -> None:
    found = values(RDMA, target=EXISTING, gpuOperator={}, **network)
    assert found["driver"]["rdma"] == {"enabled": True, "useHostMofed": on_host}


def test_optional_driver_parts_are_configurable() -> None:
    found = values(TRAIN, target=EXISTING, gpuOperator={"gds": True, "gdrcopy": True})
    assert found["gds"] == found["gdrcopy"] == {"enabled": True}
    assert not {"gds", "gdrcopy"} & set(values(TRAIN))


def test_one_node_feature_discovery() -> None:
    found = values(TRAIN, target=EXISTING, gpuOperator={}, networkOperator={})
    assert found["nfd"] == {"enabled": False}
    assert "node-feature-discovery" not in found


def test_taints_of_pools_are_tolerated_in_both_places() -> None:
    tainted = {
        **TRAIN,
        "taints": [{"key": "dedicated", "value": "training", "effect": "NoExecute"}],
        "startupTaints": [{"key": "example.com/checking", "effect": "NoSchedule"}],
    }
    found = values(tainted)
    wanted = {("nvidia.com/gpu", "NoSchedule"), ("dedicated", "NoExecute"), ("example.com/checking", "NoSchedule")}
    for tolerations in (
        found["daemonsets"]["tolerations"],
        found["node-feature-discovery"]["worker"]["tolerations"],
    ):
        assert {(one["key"], one["effect"]) for one in tolerations} == wanted
        assert {one["operator"] for one in tolerations} == {"Exists"}


def test_controllers_come_to_a_system_pool_of_their_own() -> None:
    system = {**SYSTEM, "minSize": 1, "taints": [{"key": "example.com/system", "effect": "NoSchedule"}]}
    found = release_of(build(spec_of(system, TRAIN))).values
    wanted = [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "example.com/system", "operator": "Exists", "effect": "NoSchedule"},
    ]
    assert found["operator"]["tolerations"] == wanted
    discovery = found["node-feature-discovery"]
    assert discovery["master"]["tolerations"] == discovery["gc"]["tolerations"] == wanted


def test_metrics_are_scraped_only_with_prometheus_and_by_a_managed_label() -> None:
    assert values(TRAIN)["dcgmExporter"]["serviceMonitor"] == {"enabled": False}
    there = {"install": False, "prometheus": {"serviceMonitorLabels": {"release": "prometheus"}}}
    for monitoring, labels in (({}, None), (there, {"release": "prometheus"})):
        found = values(TRAIN, monitoring=monitoring)["dcgmExporter"]["serviceMonitor"]
        assert (found["enabled"], found["honorLabels"], found.get("additionalLabels")) == (True, False, labels)
        assert [one["targetLabel"] for one in found["relabelings"]] == ["node"]


def test_planned_counters_replace_those_of_the_exporter() -> None:
    plan = plan_of(TRAIN)
    assert "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" in config_map(plan, "mlcluster-dcgm-counters")["dcgm-metrics.csv"]
    assert release_of(plan).values["dcgmExporter"]["config"] == {"name": "mlcluster-dcgm-counters"}
    assert "ConfigMap/gpu-operator/mlcluster-dcgm-counters" in release_of(plan).needs


@pytest.mark.parametrize("shared", [SLICED, TOGETHER])
def test_the_exporter_names_every_pod_where_pods_share_gpus(shared: Data) -> None:
    told = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    assert values(TRAIN, shared)["dcgmExporter"]["env"] == told
    assert "env" not in values(TRAIN, CUT)["dcgmExporter"]
    assert "env" not in values(shared, gpuOperator={"without": ["dcgmExporter"]})["dcgmExporter"]


def test_without_the_exporter_there_are_no_counters() -> None:
    plan = plan_of(TRAIN, gpuOperator={"without": ["dcgmExporter"]})
    assert release_of(plan).values["dcgmExporter"] == {"enabled": False}
    assert not [entry for entry in plan.objects if "dcgm" in entry.id]


# Sharing


def test_a_configuration_for_each_way_of_sharing() -> None:
    plan = plan_of(TRAIN, SLICED, TOGETHER, CUT)
    configs = {key: json.loads(text) for key, text in config_map(plan, "mlcluster-device-plugin").items()}
    assert set(configs) == {"whole", "time-slicing-4", "mps-2"}
    assert configs["whole"] == {"version": "v1", "flags": {"migStrategy": "mixed"}}
    assert configs["time-slicing-4"]["sharing"]["timeSlicing"] == {
        "renameByDefault": False,
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }
    assert configs["mps-2"]["sharing"] == {
        "mps": {"renameByDefault": False, "resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}
    }
    assert release_of(plan).values["devicePlugin"]["config"]["default"] == "whole"
    assert labels_of(plan, "train") == {}
    assert labels_of(plan, "sliced") == {"nvidia.com/device-plugin.config": "time-slicing-4"}
    assert labels_of(plan, "together") == {"nvidia.com/device-plugin.config": "mps-2"}
    assert labels_of(plan, "cut") == {"nvidia.com/mig.config": "all-1g.5gb"}


def test_whole_gpus_alone_need_no_configuration() -> None:
    plan = plan_of(TRAIN, CUT)
    assert "config" not in release_of(plan).values["devicePlugin"]
    assert not [entry for entry in plan.objects if entry.id.endswith("mlcluster-device-plugin")]


def test_bottlerocket_shares_by_itself() -> None:
    plan = plan_of({**ROCKET, "gpu": {"timeSlicing": {"replicas": 4}}}, TRAIN)
    assert "config" not in release_of(plan).values["devicePlugin"]
    assert set(labels_of(plan, "rocket")) == {
        "nvidia.com/gpu.deploy.device-plugin",
        "nvidia.com/gpu.deploy.mig-manager",
    }


def test_a_removed_layout_is_passed_to_the_mig_manager() -> None:
    plan = plan_of({**CUT, "gpu": {"mig": "all-disabled"}})
    assert labels_of(plan, "cut") == {"nvidia.com/mig.config": "all-disabled"}
    assert plan.pools[1].allocatable["nvidia.com/gpu"] == 8


def test_existing_nodes_are_unchanged_unless_a_layout_is_configured() -> None:
    assert values(CUT)["migManager"]["config"]["default"] == "all-disabled"
    assert values(CUT, target=EXISTING, gpuOperator={})["migManager"]["config"]["default"] == ""


def test_the_mig_manager_runs_for_every_gpu_with_mig() -> None:
    assert values(TRAIN)["migManager"]["enabled"] is True
    assert values(SLICED)["migManager"] == {"enabled": False}


def test_layouts_are_those_of_the_pools_and_none() -> None:
    configs = json.loads(config_map(plan_of(CUT), "mlcluster-mig")["config.yaml"])["mig-configs"]
    assert configs["all-disabled"] == [{"devices": "all", "mig-enabled": False}]
    assert configs["all-1g.5gb"] == [{"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}]
    assert configs["all-1g.5gb.me"][0]["mig-devices"] == {"1g.5gb+me": 1}
    assert configs["all-balanced"][0]["mig-devices"] == {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}
    assert "all-1g.23gb" not in configs


def test_an_ambiguous_layout_name_includes_the_card() -> None:
    configs = json.loads(mig_configuration(known for known in gpus() if known.model == "a100"))["mig-configs"]
    small, large = configs["all-1g.10gb"]
    assert (small["mig-devices"], large["mig-devices"]) == ({"1g.10gb": 4}, {"1g.10gb": 7})
    assert "0x20B010DE" in small["device-filter"]
    assert "0x20B210DE" in large["device-filter"]
    assert "device-filter" not in configs["all-1g.5gb"][0]
    assert "device-filter" not in configs["all-7g.80gb"][0]


def test_the_single_strategy_calls_instances_gpus() -> None:
    plan = plan_of(CUT, gpuOperator={"migStrategy": "single"})
    pool = plan.pools[1]
    assert pool.accelerator is not None
    assert (pool.accelerator.resource, pool.accelerator.slices) == ("nvidia.com/gpu", 56)
    assert pool.allocatable["nvidia.com/gpu"] == 56
    assert pool.labels["k8s.amazonaws.com/accelerator"] == "nvidia-tesla-a100"
    assert release_of(plan).values["mig"] == {"strategy": "single"}


def test_nodes_without_plain_gpus_are_not_waited_for() -> None:
    assert "k8s.amazonaws.com/accelerator" not in plan_of(CUT).pools[1].labels
    assert "k8s.amazonaws.com/accelerator" in plan_of(SLICED).pools[1].labels


# Pods and order


def pods_on(plan: Plan, pool_name: str) -> set[str]:
    (pool,) = (one for one in plan.pools if one.name == pool_name)
    return {
        pod.name
        for pod in plan.pods
        if pod.owner.id == "Release/gpu-operator" and pod.kind == "DaemonSet" and lands_on(pod, pool)
    }


def test_operands_land_where_they_are_needed() -> None:
    plan = plan_of(TRAIN, ROCKET, TOGETHER)
    everywhere = {
        "gpu-operator-node-feature-discovery-worker",
        "gpu-feature-discovery",
        "nvidia-dcgm-exporter",
        "nvidia-operator-validator",
    }
    assert pods_on(plan, "train") == everywhere | {"nvidia-device-plugin-daemonset", "nvidia-mig-manager"}
    assert pods_on(plan, "rocket") == everywhere
    assert pods_on(plan, "together") == everywhere | {
        "nvidia-device-plugin-daemonset",
        "nvidia-device-plugin-mps-control-daemon",
    }
    assert pods_on(plan, "system") == {"gpu-operator-node-feature-discovery-worker"}


def test_requested_resources_are_shown_with_their_source() -> None:
    pods = [pod for pod in plan_of(TRAIN).pods if pod.owner.id == "Release/gpu-operator"]
    requests = {pod.name: dict(pod.requests) for pod in pods}
    assert requests["gpu-operator"] == {"cpu": 200, "memory": 100, "pods": 1}
    assert requests["gpu-operator-node-feature-discovery-worker"] == {"cpu": 5, "memory": 64, "pods": 1}
    assert requests["nvidia-dcgm-exporter"] == {"pods": 1}
    assert {pod.evidence for pod in pods} == {"declared"}
    assert all("v26.7.0" in pod.source or "0.19.0" in pod.source for pod in pods)


def test_daemon_sets_take_pods_of_a_node() -> None:
    plan = plan_of(TRAIN)
    bare = build(spec_of(SYSTEM, TRAIN, nvidiaDevicePlugin={}))
    assert plan.pools[1].usable["pods"] == bare.pools[1].usable["pods"] - 5


def test_the_namespace_admits_privileged_pods() -> None:
    (namespace,) = (entry for entry in plan_of(TRAIN).objects if entry.id == "Namespace/gpu-operator")
    assert namespace.manifest["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_the_operator_is_simulated_in_a_lab() -> None:
    plan = build(spec_of(SYSTEM, TRAIN, target={"kind": "local"}, gpuOperator={}))
    assert release_of(plan).realisation == "simulated"
    daemon_sets = {
        entry.manifest["metadata"]["name"] for entry in plan.objects if entry.manifest["kind"] == "DaemonSet"
    }
    assert {"nvidia-driver-daemonset-train", "nvidia-device-plugin-daemonset-train"} <= daemon_sets


# Nodes and quotas


def test_every_kind_of_node_gets_its_labels() -> None:
    plan = plan_of(CUT)
    (group,) = (entry for entry in plan.resources if entry.id == "NodeGroup/cut")
    assert group.inputs["labels"]["nvidia.com/mig.config"] == "all-1g.5gb"
    tags = [entry.inputs["tag"] for entry in plan.resources if entry.type.endswith(":Tag")]
    wanted = {
        "k8s.io/cluster-autoscaler/node-template/label/nvidia.com/mig.config": "all-1g.5gb",
        "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/mig-1g.5gb": "56",
    }
    assert wanted.items() <= {tag["key"]: tag["value"] for tag in tags}.items()
    fixed = {**CUT, "minSize": 2}
    system = {**SYSTEM, "minSize": 4}
    karpenter = build(spec_of(system, fixed, target={**EKS, "autoscaler": "karpenter"}))
    (pool,) = (entry for entry in karpenter.objects if entry.id == "NodePool/cut")
    assert pool.manifest["spec"]["template"]["metadata"]["labels"]["nvidia.com/mig.config"] == "all-1g.5gb"
    (node, *_) = build(spec_of(SYSTEM, CUT, target={"kind": "local"}, gpuOperator={})).resources[4:]
    assert node.inputs["metadata"]["labels"]["nvidia.com/mig.config"] == "all-1g.5gb"


def test_every_size_of_instance_has_a_quota() -> None:
    balanced = {**CUT, "gpu": {"mig": "all-balanced"}}
    data = cluster(SYSTEM, balanced, target=EKS, teams=[{"name": "research", "guarantee": {"cut": {"gpus": 4}}}])
    plan = build(ClusterSpec.model_validate(data))
    sizes = {"nvidia.com/mig-1g.5gb": 8, "nvidia.com/mig-2g.10gb": 4, "nvidia.com/mig-3g.20gb": 4}
    nominal = plan.teams[0].quotas[-1].nominal
    assert {name: nominal[name] for name in sizes} == sizes
    (queue,) = (entry for entry in plan.objects if entry.id == "ClusterQueue/research")
    (group,) = queue.manifest["spec"]["resourceGroups"]
    assert set(sizes) <= set(group["coveredResources"])
    policies = json.dumps([entry.manifest for entry in plan.objects if entry.id.startswith("ValidatingAdmission")])
    assert all(name in policies for name in sizes)


# Findings


def test_all_gpus_and_no_home() -> None:
    assert "GPU005" in ids(spec_of(TRAIN))
    assert ids(spec_of(SYSTEM, TRAIN)) == []
    tainted = {**SYSTEM, "taints": [{"key": "CriticalAddonsOnly", "effect": "NoSchedule"}]}
    assert ids(spec_of(tainted, TRAIN)) == []


def test_an_existing_operator_must_be_configured() -> None:
    there = {"gpuOperator": {"install": False}}
    assert ids(spec_of(SYSTEM, TRAIN, target=EXISTING, **there)) == []
    plan = build(spec := spec_of(SYSTEM, CUT, SLICED, target=EXISTING, **there))
    (finding,) = (one for one in findings(plan, spec) if one.id == "GPU006")
    assert "cut, sliced" in finding.message
    assert "nvidia.com/mig.config" in finding.message
    assert release_of(plan).realisation == "present"
    assert not [entry for entry in plan.objects if "gpu-operator" in entry.id]
    assert not [pod for pod in plan.pods if pod.owner.id == "Release/gpu-operator"]


def test_existing_nodes_must_have_the_labels() -> None:
    assert "GPU009" in ids(spec_of(SYSTEM, CUT, target=EXISTING, gpuOperator={}))
    put = {**CUT, "applyToNodes": {"labels": True}}
    assert "GPU009" not in ids(spec_of(SYSTEM, put, target=EXISTING, gpuOperator={}))
    assert "GPU009" not in ids(spec_of(SYSTEM, TRAIN, target=EXISTING, gpuOperator={}))
