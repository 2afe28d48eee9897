"""Nodes that are not ready yet, and nodes that are not healthy any more: conditions, rules, taints."""

import json
import re
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.taints import GPU_TAINT, NETWORK_TAINT, tolerates
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.eks_contexts import eks_spec
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, checked, cluster, manifests

pytestmark = pytest.mark.unit

NETWORK, GPU = "readiness.k8s.io/secondary-network-not-ready", "readiness.k8s.io/gpu-unhealthy"
RAIL: Data = {
    "name": "rail0",
    "type": "ipvlan",
    "master": "eth1",
    "pools": ["train"],
    "ipam": {"range": "10.60.0.0/16"},
}
RAILS: Data = {"multus": {"networks": [RAIL]}}
POOLS = ({**SYSTEM, "minSize": 2}, TRAIN)
NODE_GROUP, NODE_POOL = "NodeGroup/train", "NodePool"
FELL_OFF = "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def spec_of(*pools: Data, target: Data = EXISTING, **components: Any) -> ClusterSpec:
    return checked(cluster(*(pools or POOLS), target=target, components=components))


def plan_of(*pools: Data, target: Data = EXISTING, **components: Any) -> Plan:
    return build(spec_of(*pools, target=target, **components))


def on_eks(components: Data, **target: Any) -> Plan:
    return build(eks_spec(*POOLS, rest={"components": components}, **target))


def rules(plan: Plan) -> dict[str, Manifest]:
    return {name: manifest["spec"] for name, manifest in manifests(plan, "NodeReadinessRule").items()}


def monitor(plan: Plan, file: str, name: str = "node-problem-detector") -> Manifest:
    found: Manifest = json.loads(manifests(plan, "ConfigMap")[f"node-health/{name}"]["data"][file])
    return found


def ids(spec: ClusterSpec) -> set[str]:
    return {finding.id for finding in findings(build(spec), spec)}


def test_new_nodes_wait_for_their_networks() -> None:
    plan = plan_of(**RAILS)
    rule = rules(plan)["train-secondary-network"]
    assert rule["conditions"] == [{"type": "SecondaryNetworkReady", "requiredStatus": "True"}]
    assert (rule["taint"]["key"], rule["taint"]["effect"], rule["enforcementMode"]) == (
        NETWORK,
        "NoSchedule",
        "bootstrap-only",
    )
    assert rule["nodeSelector"] == {"matchLabels": {"example.com/pool": "train"}}
    assert "system-secondary-network" not in rules(plan)


def test_broken_gpus_take_no_more_work() -> None:
    rule = rules(plan_of(nodeReadiness={}))["train-gpu-health"]
    assert rule["conditions"] == [{"type": "GpuUnhealthy", "requiredStatus": "False", "defaultStatus": "False"}]
    assert (rule["taint"], rule["enforcementMode"]) == ({"key": GPU, "effect": "NoSchedule"}, "continuous")


def test_node_readiness_rules_are_valid_against_their_crd() -> None:
    """CEL rules of the CRD (v0.5.0) that a schema does not show."""
    for rule in rules(plan_of(nodeReadiness={}, **RAILS)).values():
        assert rule["taint"]["key"].startswith("readiness.k8s.io/")
        assert rule["taint"]["key"].count("/") == 1
        assert rule["nodeSelector"]["matchLabels"]
        bootstrap = rule["enforcementMode"] == "bootstrap-only"
        assert not bootstrap or all("defaultStatus" not in condition for condition in rule["conditions"])


def test_the_readiness_controller_requires_the_detector() -> None:
    listed = {component.name: component.spec_path for component in plan_of(nodeReadiness={}).components}
    assert listed["node-problem-detector"] == listed["node-readiness-controller"] == ("components", "nodeReadiness")


@pytest.mark.parametrize(
    "components",
    [{}, {"multus": {}}, {"multus": {"networks": [RAIL], "startupTaint": False}}],
    ids=["nothing", "no networks", "declined"],
)
def test_pools_are_gated_only_if_configured(components: Data) -> None:
    assert rules(plan_of(**components)) == {}


def test_the_lab_gates_no_nodes() -> None:
    assert rules(plan_of(target=LOCAL, **RAILS)) == {}


def test_managed_nodes_start_with_the_taint_and_the_autoscaler_ignores_it() -> None:
    plan = on_eks(RAILS)
    (group,) = [entry for entry in plan.resources if entry.id == NODE_GROUP]
    assert {"key": NETWORK, "value": "pending", "effect": "NO_SCHEDULE"} in group.inputs["taints"]
    autoscaler = next(release for release in plan.releases if release.name == "cluster-autoscaler")
    arguments = autoscaler.values["extraArgs"]
    assert arguments["startup-taint_0"] == NETWORK
    assert arguments["status-taint_0"] == GPU
    tagged = [entry.inputs["tag"]["key"] for entry in plan.resources if entry.id.startswith("Tag/train")]
    assert not [key for key in tagged if "readiness.k8s.io" in key]


def test_karpenters_nodes_start_with_the_taint_too() -> None:
    plan = on_eks(RAILS, autoscaler="karpenter")
    spec = manifests(plan, NODE_POOL)["train"]["spec"]["template"]["spec"]
    assert spec["startupTaints"] == [{"key": NETWORK, "value": "pending", "effect": "NoSchedule"}]
    assert GPU not in json.dumps(spec)


def test_a_taint_that_the_spec_also_has_is_planned_once() -> None:
    gated = {**TRAIN, "startupTaints": [{"key": NETWORK, "value": "mine", "effect": "NoSchedule"}]}
    plan = build(eks_spec(POOLS[0], gated, rest={"components": RAILS}))
    (group,) = [entry for entry in plan.resources if entry.id == NODE_GROUP]
    assert [taint["value"] for taint in group.inputs["taints"] if taint["key"] == NETWORK] == ["mine"]


def test_quotas_do_not_see_these_taints() -> None:
    plan = on_eks(RAILS)
    assert not [taint for pool in plan.pools for taint in pool.taints if taint.key in {NETWORK, GPU}]
    assert "readiness.k8s.io" not in json.dumps(list(manifests(plan, "ResourceFlavor").values()))


def test_every_daemon_set_of_a_gated_pool_tolerates_its_taint() -> None:
    plan = on_eks(RAILS)
    there = [pod for pod in plan.pods if pod.kind == "DaemonSet" and lands_on(pod, plan.pools[1])]
    assert {"kube-multus-ds", "whereabouts", "node-problem-detector-rail0"} <= {pod.name for pod in there}
    for pod in there:
        for taint in (NETWORK_TAINT, GPU_TAINT):
            assert any(tolerates(toleration, taint) for toleration in pod.tolerations), (pod.owner, pod.name, taint)


def test_another_version_is_another_image() -> None:
    plan = plan_of(nodeReadiness={"version": "0.5.1"}, nodeProblemDetector={"version": "v1.36.0"})
    release = next(release for release in plan.releases if release.name == "node-readiness-controller")
    assert (release.version, release.values["image"]["tag"]) == ("0.5.1", "v0.5.1")
    daemon = manifests(plan, "DaemonSet")["node-health/node-problem-detector"]["spec"]["template"]["spec"]
    assert daemon["containers"][0]["image"].endswith(":v1.36.0")


def test_images_come_from_the_mirror() -> None:
    plan = plan_of(registry="mirror.example.com/ai", nodeReadiness={}, **RAILS)
    made = json.dumps([entry.manifest["spec"] for entry in plan.objects if entry.manifest["kind"] == "DaemonSet"])
    images = re.findall(r'"image": "([^"]*)"', made)
    assert len(images) >= 4
    assert all(image.startswith("mirror.example.com/ai/") for image in images)


def test_the_controller_can_run_on_the_nodes_that_need_it() -> None:
    """Where every pool is gated, the one who takes the taint off must not wait for that."""
    plan = plan_of(POOLS[1], multus={"networks": [RAIL]})
    pod = next(pod for pod in plan.pods if pod.name == "node-readiness-controller-manager")
    assert {NETWORK, GPU} <= {toleration.key for toleration in pod.tolerations}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (FELL_OFF, "GpuXid"),
        ("NVRM: Xid (PCI:0000:cb:00): 48, pid=1797828, name=python3, Ch 00000008", "GpuXid"),
        ("NVRM: Xid (PCI:0001:00:00): 119, pid=1, name=nvidia-smi, Timeout waiting for RPC from GSP", "GpuXid"),
        ("NVRM: Xid (PCI:0000:cb:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row", "GpuXidTold"),
        ("NVRM: Xid (PCI:0000:cb:00): 94, pid=7, name=train, Contained: SM (0x1)", "GpuXidTold"),
        ("NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception", ""),
        ("NVRM: Xid (PCI:0000:cb:00): 31, pid=7, name=train, MMU Fault", ""),
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.159.03", ""),
    ],
)
def test_xids_of_the_kernel_log(line: str, told: str) -> None:
    """The rule of the detector: a pattern matches to the end of the text that was read (log_buffer.go)."""
    found = monitor(plan_of(nodeProblemDetector={}), "gpu-monitor.json")
    reasons = [rule["reason"] for rule in found["rules"] if re.search(rule["pattern"] + r"\Z", f"before\n{line}")]
    assert reasons == ([told] if told else [])


def test_a_restarted_detector_forgets_nothing() -> None:
    found = monitor(plan_of(nodeProblemDetector={}), "gpu-monitor.json")
    hours = int(found["lookback"].removesuffix("h"))
    assert hours > 24 * 365
    assert found["plugin"] == "kmsg"


def test_other_xids_can_be_chosen() -> None:
    found = monitor(plan_of(nodeProblemDetector={"gpuXids": [94, 79]}), "gpu-monitor.json")
    assert [rule["type"] for rule in found["rules"]] == ["permanent", "temporary"]
    assert "(79|94)" in found["rules"][0]["pattern"]
    assert "(63)" in found["rules"][1]["pattern"]


def test_every_condition_that_a_rule_sets_is_announced() -> None:
    plan = plan_of(nodeReadiness={}, **RAILS)
    for file in ("gpu-monitor.json", "network-monitor.json"):
        found = monitor(plan, file, "node-problem-detector-rail0")
        known = {condition["type"] for condition in found["conditions"]}
        assert {rule["condition"] for rule in found["rules"] if rule["type"] == "permanent"} == known


def test_the_check_includes_the_devices_of_a_network() -> None:
    plan = plan_of(nodeReadiness={}, **RAILS)
    data = manifests(plan, "ConfigMap")["node-health/node-problem-detector-rail0"]["data"]
    wanted = {
        "/etc/cni/net.d/00-multus.conf",
        "/run/multus/multus.sock",
        "/opt/cni/bin/ipvlan",
        "/opt/cni/bin/whereabouts",
        "/sys/class/net/eth1",
    }
    assert set(re.findall(r'^need "(.*)"$', data["network-ready.sh"], flags=re.MULTILINE)) == wanted


def test_the_detector_runs_on_nodes_with_checks() -> None:
    def pools(**components: Any) -> dict[str, list[str]]:
        plan = plan_of(**components)
        found: dict[str, list[str]] = {}
        for pod in plan.pods:
            if pod.name.startswith("node-problem-detector"):
                found.setdefault(pod.name, []).extend(pool.name for pool in plan.pools if lands_on(pod, pool))
        return found

    assert pools(nodeReadiness={}) == {"node-problem-detector": ["train"]}
    assert pools(nodeProblemDetector={}) == {"node-problem-detector": ["system", "train"]}
    everywhere = {"node-problem-detector": ["system"], "node-problem-detector-rail0": ["train"]}
    assert pools(nodeProblemDetector={}, **RAILS) == everywhere


def test_long_names_of_networks_are_cut() -> None:
    rails = [{**RAIL, "name": f"the-{place}-rail-of-the-storage-network"} for place in ("upper", "lower")]
    plan = plan_of(multus={"networks": rails})
    names = [pod.name for pod in plan.pods if pod.name.startswith("node-problem-detector-")]
    assert names
    assert all(len(name) <= 50 for name in names)


def test_conditions_without_an_action_have_a_finding() -> None:
    assert "HEA001" in ids(spec_of(nodeProblemDetector={}))
    assert "HEA001" not in ids(spec_of(nodeProblemDetector={}, nodeReadiness={}))
    assert "HEA002" in ids(spec_of(nodeProblemDetector={"gpuXids": [79, 13]}))
    assert "HEA002" not in ids(spec_of(nodeProblemDetector={}))


def detector_images(plan: Plan) -> set[str]:
    return {
        manifest["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]
        for name, manifest in manifests(plan, "DaemonSet").items()
        if name.startswith("node-health/")
    }


@pytest.mark.parametrize(("minor", "version"), [("1.34", "v1.35.3"), ("1.35", "v1.35.3"), ("1.36", "v1.36.0")])
def test_the_detector_follows_the_minor_version_of_the_cluster(minor: str, version: str) -> None:
    assert detector_images(on_eks({"nodeProblemDetector": {}}, kubernetesVersion=minor)) == {version}


def test_the_detector_of_an_unknown_cluster_is_the_pinned_one() -> None:
    assert detector_images(plan_of(nodeProblemDetector={})) == {"v1.35.3"}


def test_the_version_of_the_spec_comes_before_that_of_the_cluster() -> None:
    asked = {"nodeProblemDetector": {"version": "v1.34.0"}}
    assert detector_images(on_eks(asked, kubernetesVersion="1.36")) == {"v1.34.0"}
