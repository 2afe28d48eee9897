"""Fast and secondary networks: advertised devices, networks, and their owners."""

import json
from typing import Any

import pytest

from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.taints import toleration_manifests
from mlcluster.spec.problems import SpecInvalidError
from mlcluster.spec.secondary_networks import has_network_taint, networks, pools_of, pools_with_network_taint
from stacks.registration import in_order, platform_entries
from tests.specs import EXISTING, Data, checked, cluster, manifests, planned
from tests.upstream import closed, errors_of, needs_reference, schemas

pytestmark = pytest.mark.unit

GPU: Data = {"model": "h100", "count": 8, "memoryMib": 81920}
DEFINITION = "CustomResourceDefinition/network-attachment-definitions.k8s.cni.cncf.io"
TAINTS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, {"key": "own", "effect": "NoExecute"}]
FAST: Data = {
    "name": "fast",
    "nodeShape": {"cpu": "190", "memory": "1900Gi", "gpu": GPU},
    "maxSize": 4,
    "taints": TAINTS,
    "network": {"rdma": {"rdma/hca": 63}, "sriov": {"nvidia.com/vf": 8}},
}
LESS: Data = {
    "name": "less",
    "nodeShape": {"cpu": "60", "memory": "500Gi"},
    "maxSize": 2,
    "network": {"rdma": {"rdma/hca": 16, "rdma/storage": 4}},
}
PLAIN: Data = {"name": "plain", "nodeShape": {"cpu": "30", "memory": "120Gi"}, "minSize": 2, "maxSize": 2}
TEAMS = [{"name": "research", "guarantee": {"fast": {"nodes": 1}}}, {"name": "vision"}]
RAIL: Data = {"name": "rail0", "type": "macvlan", "master": "eth1", "ipam": {"range": "10.60.0.0/16"}}


def plan_of(*pools: Data, target: Data = EXISTING, teams: Any = TEAMS, **components: Any) -> Plan:
    return planned(*(pools or (FAST, LESS, PLAIN)), target=target, teams=teams, components=components)


def configs(plan: Plan, name: str) -> Manifest:
    found: Manifest = json.loads(manifests(plan, "ConfigMap")[f"kube-system/{name}"]["data"]["config.json"])
    return found


def landing(plan: Plan) -> dict[str, set[str]]:
    """Return daemon set -> the pools on which its pods run; each pod runs on one pool."""
    found: dict[str, set[str]] = {}
    for pod in plan.pods:
        if pod.kind == "DaemonSet" and pod.owner.kind == "DaemonSet":
            (pool,) = [pool.name for pool in plan.pools if lands_on(pod, pool)]
            found.setdefault(pod.name, set()).add(pool)
    return found


def attachments(plan: Plan) -> dict[str, Manifest]:
    found = manifests(plan, "NetworkAttachmentDefinition")
    return {name: json.loads(manifest["spec"]["config"]) for name, manifest in found.items()}


def test_each_pool_advertises_the_configured_number_of_devices() -> None:
    plan = plan_of(rdmaDevicePlugin={"resources": {"rdma/hca": {"linkTypes": ["infiniband"], "ifNames": ["ib0"]}}})
    fast, less = configs(plan, "rdma-devices-fast"), configs(plan, "rdma-devices-less")
    selectors = {"vendors": ["15b3"], "ifNames": ["ib0"], "linkTypes": ["infiniband"]}
    hca = {"resourceName": "hca", "resourcePrefix": "rdma", "selectors": selectors}
    assert fast["configList"] == [{**hca, "rdmaHcaMax": 63}]
    storage = {"resourceName": "storage", "resourcePrefix": "rdma", "selectors": {"vendors": ["15b3"]}}
    assert less["configList"] == [{**hca, "rdmaHcaMax": 16}, {**storage, "rdmaHcaMax": 4}]
    assert landing(plan) == {"rdma-shared-dp-fast": {"fast"}, "rdma-shared-dp-less": {"less"}}


def test_daemon_sets_request_the_resources_of_the_plan() -> None:
    plan = plan_of(rdmaDevicePlugin={}, sriovDevicePlugin={}, multus={"networks": [RAIL]})
    by_id = {entry.id: entry.manifest["spec"]["template"]["spec"] for entry in plan.objects if "DaemonSet/" in entry.id}
    ours = [pod for pod in plan.pods if pod.owner.id in by_id]
    assert {pod.owner.id for pod in ours} == set(by_id)
    for pod in ours:
        spec = by_id[pod.owner.id]
        assert toleration_manifests(pod.tolerations) == spec["tolerations"]
        assert pod.priority_class == spec["priorityClassName"]
        assert pod.requests["memory"] > 0
        assert all(":" in container["image"] for container in spec["containers"])
        assert all("latest" not in container["image"] for container in spec["containers"])


def test_a_changed_configuration_restarts_the_pods() -> None:
    def digest(**resources: Any) -> str:
        plan = plan_of(rdmaDevicePlugin=resources)
        found = manifests(plan, "DaemonSet")["kube-system/rdma-shared-dp-fast"]["spec"]["template"]["metadata"]
        return str(found["annotations"]["mlcluster.dev/config"])

    assert digest() == digest()
    assert digest() != digest(resources={"rdma/hca": {"linkTypes": ["ether"]}})


def test_virtual_functions_are_announced_by_name() -> None:
    plan = plan_of(sriovDevicePlugin={"resources": {"nvidia.com/vf": {"pfNames": ["ens1#0-7"], "rdma": False}}})
    (entry,) = configs(plan, "sriovdp-config")["resourceList"]
    assert (entry["resourcePrefix"], entry["resourceName"]) == ("nvidia.com", "vf")
    assert entry["selectors"] == {"vendors": ["15b3"], "pfNames": ["ens1#0-7"], "isRdma": False}
    assert landing(plan) == {"sriov-network-device-plugin": {"fast"}}


def test_every_requestable_resource_is_counted() -> None:
    plan = plan_of(sriovDevicePlugin={}, rdmaDevicePlugin={})
    queue = manifests(plan, "ClusterQueue")["research"]["spec"]["resourceGroups"][0]
    assert {"rdma/hca", "nvidia.com/vf"} <= set(queue["coveredResources"])


def test_networks_are_created_in_namespaces_of_teams_that_may_join() -> None:
    second = {"name": "rail1", "type": "ipvlan", "master": "eth2", "teams": ["vision"], "namespaces": ["bench"]}
    plan = plan_of(rdmaDevicePlugin={}, multus={"networks": [{**RAIL, "resource": "rdma/hca", "mtu": 9000}, second]})
    found = attachments(plan)
    assert sorted(found) == ["bench/rail1", "research/rail0", "vision/rail0", "vision/rail1"]
    address = {"type": "whereabouts", "range": "10.60.0.0/16"}
    head = {"cniVersion": "0.3.1", "name": "rail0", "type": "macvlan"}
    assert found["research/rail0"] == {**head, "master": "eth1", "mode": "bridge", "mtu": 9000, "ipam": address}
    assert found["bench/rail1"]["ipam"] == {}
    annotations = manifests(plan, "NetworkAttachmentDefinition")["vision/rail0"]["metadata"]["annotations"]
    assert annotations == {"k8s.v1.cni.cncf.io/resourceName": "rdma/hca"}


@pytest.mark.parametrize(
    ("network", "wanted"),
    [
        ({"type": "sriov", "resource": "nvidia.com/vf", "vlan": 7}, {"type": "sriov", "vlan": 7, "ipam": {}}),
        ({"type": "ib-sriov", "resource": "nvidia.com/vf"}, {"type": "ib-sriov", "link_state": "enable", "ipam": {}}),
        (
            {"type": "ib-sriov", "resource": "nvidia.com/vf", "pKey": "0x8001", "linkState": "auto"},
            {"type": "ib-sriov", "link_state": "auto", "pkey": "0x8001", "ipam": {}},
        ),
        ({"type": "host-device", "resource": "nvidia.com/vf"}, {"type": "host-device", "ipam": {}}),
        ({"type": "ipoib", "master": "ib0"}, {"type": "ipoib", "master": "ib0", "ipam": {}}),
        (
            {"type": "ipvlan", "master": "eth1", "ipam": {"type": "dhcp"}},
            {"type": "ipvlan", "master": "eth1", "mode": "l2", "ipam": {"type": "dhcp"}},
        ),
        (
            {"type": "macvlan", "master": "e", "ipam": {"type": "static", "addresses": ["10.1.0.2/16"]}},
            {
                "type": "macvlan",
                "master": "e",
                "mode": "bridge",
                "ipam": {"type": "static", "addresses": [{"address": "10.1.0.2/16"}]},
            },
        ),
    ],
    ids=lambda value: str(value.get("type")) if isinstance(value, dict) else "",
)
def test_each_type_has_its_configuration(network: Data, wanted: Manifest) -> None:
    plan = plan_of(rdmaDevicePlugin={}, sriovDevicePlugin={}, multus={"networks": [{"name": "n", **network}]})
    assert attachments(plan)["research/n"] == {"cniVersion": "0.3.1", "name": "n", **wanted}


def test_multus_runs_on_every_node_and_its_plugins_where_needed() -> None:
    plan = plan_of(rdmaDevicePlugin={"install": False}, multus={"startupTaint": False, "networks": [RAIL]})
    assert landing(plan) == {"kube-multus-ds": {"fast", "less", "plain"}, "whereabouts": {"fast", "less"}}


def test_a_reconciler_frees_leaked_addresses() -> None:
    """Upstream v0.9.4, doc/crds/reconciler-deployment.yaml: one replica, because there is no leader election."""
    kept = {**PLAIN, "taints": [{"key": "dedicated", "value": "system", "effect": "NoSchedule"}]}
    plan = plan_of(FAST, kept, rdmaDevicePlugin={"install": False}, multus={"startupTaint": False, "networks": [RAIL]})
    found = manifests(plan, "Deployment")["kube-system/whereabouts-reconciler"]["spec"]
    assert (found["replicas"], found["strategy"]) == (1, {"type": "Recreate"})
    spec = found["template"]["spec"]
    (container,) = spec["containers"]
    assert container["command"] == ["/ip-reconciler"]
    assert {entry["name"] for entry in container["env"]} == {"WHEREABOUTS_NAMESPACE"}
    (mounted,), (volume,) = container["volumeMounts"], spec["volumes"]
    assert (mounted["name"], mounted["mountPath"]) == (volume["name"], "/cron-schedule")
    assert volume["configMap"]["items"] == [{"key": "cron-expression", "path": "config"}]
    config = manifests(plan, "ConfigMap")["kube-system/whereabouts-config"]["data"]
    assert config == {"cron-expression": "*/15 * * * *"}
    (pod,) = [pod for pod in plan.pods if pod.name == "whereabouts-reconciler"]
    assert toleration_manifests(pod.tolerations) == spec["tolerations"]
    assert {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]
    assert pod.requests == {"cpu": 100, "memory": 50, "pods": 1}
    (rules,) = [role["rules"] for name, role in manifests(plan, "ClusterRole").items() if name == "whereabouts"]
    verbs = {
        (group, one): set(rule["verbs"]) for rule in rules for group in rule["apiGroups"] for one in rule["resources"]
    }
    assert {"list", "update", "delete"} <= verbs["whereabouts.cni.cncf.io", "ippools"]
    assert {"list", "delete"} <= verbs["whereabouts.cni.cncf.io", "overlappingrangeipreservations"]
    assert {"get", "list"} <= verbs["", "pods"]
    assert spec["serviceAccountName"] == "whereabouts"


def test_the_daemon_set_of_addresses_has_no_schedule() -> None:
    """Its control loop does not read one any more (v0.9.4, cmd/controlloop)."""
    plan = plan_of(rdmaDevicePlugin={"install": False}, multus={"startupTaint": False, "networks": [RAIL]})
    spec = manifests(plan, "DaemonSet")["kube-system/whereabouts"]["spec"]["template"]["spec"]
    assert {volume["name"] for volume in spec["volumes"]} == {"cnibin", "cni-net-dir"}


def test_a_network_of_virtual_functions_includes_its_cni_plugin() -> None:
    network = {"name": "vf", "type": "sriov", "resource": "nvidia.com/vf"}
    plan = plan_of(rdmaDevicePlugin={}, multus={"startupTaint": False, "networks": [network]})
    assert landing(plan)["sriov-cni"] == {"fast"}
    assert landing(plan)["sriov-network-device-plugin"] == {"fast"}


def test_a_network_of_virtual_functions_on_infiniband_has_its_own_plugin_and_devices() -> None:
    network = {"name": "ib", "type": "ib-sriov", "resource": "nvidia.com/vf"}
    plan = plan_of(rdmaDevicePlugin={}, multus={"networks": [network]})
    assert landing(plan)["ib-sriov-cni"] == {"fast"}
    assert landing(plan)["sriov-network-device-plugin"] == {"fast"}
    assert "sriov-cni" not in landing(plan)
    (entry,) = configs(plan, "sriovdp-config")["resourceList"]
    assert entry["selectors"] == {"vendors": ["15b3"], "linkTypes": ["infiniband"], "isRdma": True}
    texts = [data for found in manifests(plan, "ConfigMap").values() for data in found["data"].values()]
    assert any('need "/opt/cni/bin/ib-sriov"' in text for text in texts)


def test_networks_of_ethernet_take_every_virtual_function() -> None:
    network = {"name": "vf", "type": "sriov", "resource": "nvidia.com/vf"}
    (entry,) = configs(plan_of(rdmaDevicePlugin={}, multus={"networks": [network]}), "sriovdp-config")["resourceList"]
    assert "linkTypes" not in entry["selectors"]


_IB: Data = {"name": "ib", "type": "ib-sriov", "resource": "nvidia.com/vf"}


@pytest.mark.parametrize(
    ("components", "words"),
    [
        ({"multus": {"networks": [{**RAIL, "pKey": "0x8001"}]}}, "pKey"),
        ({"multus": {"networks": [{**RAIL, "linkState": "auto"}]}}, "linkState"),
        ({"multus": {"networks": [{**_IB, "pKey": "8001"}]}}, "pKey"),
        ({"multus": {"networks": [{**_IB, "ipam": {"type": "dhcp"}}]}}, "do not support DHCP"),
        ({"multus": {"networks": [{**_IB, "resource": "rdma/hca"}]}}, "virtual function"),
        ({"multus": {"networks": [_IB, {**_IB, "name": "vf", "type": "sriov"}]}}, "InfiniBand"),
        (
            {
                "multus": {"networks": [_IB]},
                "sriovDevicePlugin": {"resources": {"nvidia.com/vf": {"linkTypes": ["ether"]}}},
            },
            "needs InfiniBand devices",
        ),
        (
            {"multus": {"networks": [_IB]}, "sriovDevicePlugin": {"resources": {"nvidia.com/vf": {"rdma": False}}}},
            "rdma",
        ),
    ],
)
def test_infiniband_that_cannot_be_is_refused(components: Data, words: str) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        plan_of(rdmaDevicePlugin={}, **components)
    assert words in str(caught.value)


@pytest.mark.parametrize("which", [{}, {"pools": ["plain"]}, {"resource": "rdma/storage"}])
@pytest.mark.parametrize("pools", [(FAST, LESS, PLAIN), (PLAIN, LESS)])
def test_one_pool_is_gated_as_all_of_them_are(which: Data, pools: tuple[Data, ...]) -> None:
    spec = checked(cluster(*pools, target=EXISTING, teams=[], components={"multus": {"networks": [{**RAIL, **which}]}}))
    of_networks = {pool.name for network in networks(spec) for pool in pools_of(spec, network)}
    assert of_networks == {pool.name for pool in pools_with_network_taint(spec)}
    assert of_networks == {pool.name for pool in spec.node_pools if has_network_taint(spec, pool)}
    assert of_networks


def test_multus_waits_for_the_first_network_on_eks() -> None:
    target = {"kind": "eks", "region": "us-west-2", "endpoint": {"public": False}}
    pool = {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 4}
    network = {**RAIL, "type": "ipvlan"}
    plan = planned(pool, target=target, components={"multus": {"networks": [network]}})
    daemon = manifests(plan, "ConfigMap")["kube-system/multus-daemon-config"]["data"]["daemon-config.json"]
    assert json.loads(daemon)["readinessindicatorfile"] == "/host/etc/cni/net.d/10-aws.conflist"
    elsewhere = manifests(plan_of(multus={}), "ConfigMap")["kube-system/multus-daemon-config"]["data"]
    assert "readinessindicatorfile" not in json.loads(elsewhere["daemon-config.json"])


def test_workloads_without_a_release_are_ordered_as_components() -> None:
    """Components that start nodes are created before the nodes and deleted after them."""
    target = {"kind": "eks", "region": "us-west-2", "endpoint": {"public": False}, "autoscaler": "clusterAutoscaler"}
    pool = {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 4}
    multus = {"networks": [{**RAIL, "type": "ipvlan"}], "startupTaint": False}
    plan = planned(pool, target=target, components={"multus": multus, "mpiOperator": {}})
    needs = {entry.id: set(entry.needs) for entry in plan.objects}
    assert "Release/cluster-autoscaler" in needs["Deployment/mpi-operator/mpi-operator"]
    assert {"Release/cluster-autoscaler", "DaemonSet/kube-system/kube-multus-ds"} <= needs[
        "DaemonSet/kube-system/whereabouts"
    ]
    assert not any(
        "Release/cluster-autoscaler" in found for one, found in needs.items() if one.startswith("ConfigMap/")
    )


def test_teams_join_no_network_of_other_teams() -> None:
    daemon = manifests(plan_of(multus={}), "ConfigMap")["kube-system/multus-daemon-config"]["data"]
    assert json.loads(daemon["daemon-config.json"])["namespaceIsolation"] is True


def test_an_existing_multus_gets_only_the_networks() -> None:
    plan = plan_of(rdmaDevicePlugin={"install": False}, multus={"install": False, "startupTaint": False})
    assert [entry for entry in plan.objects if "DaemonSet/" in entry.id or entry.id == DEFINITION] == []
    network = {**RAIL, "ipam": {"type": "static", "addresses": ["10.1.0.2/16"]}}
    multus = {"install": False, "startupTaint": False, "networks": [network]}
    plan = plan_of(rdmaDevicePlugin={"install": False}, multus=multus)
    assert sorted(attachments(plan)) == ["research/rail0", "vision/rail0"]
    assert landing(plan) == {}


@needs_reference
def test_the_crd_accepts_the_objects_that_upstream_accepts() -> None:
    plan = plan_of(multus={})
    ours = manifests(plan, "CustomResourceDefinition")[DEFINITION.partition("/")[2]]["spec"]
    theirs = schemas()["k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition"]
    mine = closed(ours["versions"][0]["schema"]["openAPIV3Schema"])
    assert shape(mine) == shape(theirs)


def shape(schema: Manifest) -> Manifest:
    """Return the schema without descriptions."""
    return {
        key: {name: shape(part) for name, part in value.items()} if key == "properties" else value
        for key, value in schema.items()
        if key != "description"
    }


def test_pools_are_distinguished_by_all_their_labels() -> None:
    hall: Data = {**LESS, "name": "hall", "selector": {"example.com/pool": "big", "example.com/hall": "2"}}
    plan = plan_of(FAST, hall, PLAIN, multus={})
    made = manifests(plan, "DaemonSet")["kube-system/kube-multus-ds"]["spec"]["template"]["spec"]["affinity"]
    terms = made["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    found = [{one["key"]: one["values"] for one in term["matchExpressions"]} for term in terms]
    assert found == [
        {"example.com/pool": ["fast", "plain"]},
        {"example.com/pool": ["big"], "example.com/hall": ["2"]},
    ]


# The Network Operator


def operated(**components: Any) -> Plan:
    networks = [{**RAIL, "ipam": {"type": "nv-ipam", "range": "10.60.0.0/20", "gateway": "10.60.0.1"}}]
    multus = {"networks": networks, "startupTaint": False}
    return plan_of(FAST, PLAIN, networkOperator={}, multus=multus, **components)


def test_the_operator_is_the_one_owner() -> None:
    plan = operated()
    assert landing(plan) == {}
    assert DEFINITION not in {entry.id for entry in plan.objects}
    policy = manifests(plan, "NicClusterPolicy")["nic-cluster-policy"]["spec"]
    assert {"rdmaSharedDevicePlugin", "sriovDevicePlugin", "secondaryNetwork", "nvIpam"} <= set(policy)
    rdma = json.loads(policy["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert [(entry["resourceName"], entry["rdmaHcaMax"]) for entry in rdma] == [("hca", 63)]
    (term,) = policy["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "example.com/pool", "operator": "In", "values": ["fast"]}]
    assert {one["key"] for one in policy["tolerations"]} == {"nvidia.com/gpu", "own"}


def test_the_operator_runs_only_configured_parts() -> None:
    plan = plan_of(PLAIN, networkOperator={}, teams=[])
    policy = manifests(plan, "NicClusterPolicy")["nic-cluster-policy"]["spec"]
    assert set(policy) == {"global", "nodeAffinity", "tolerations", "deploymentTolerations"}


def test_addresses_of_nv_ipam_come_in_blocks() -> None:
    plan = operated()
    pool = manifests(plan, "IPPool")["nvidia-network-operator/rail0"]["spec"]
    assert (pool["subnet"], pool["perNodeBlockSize"], pool["gateway"]) == ("10.60.0.0/20", 64, "10.60.0.1")
    assert attachments(plan)["research/rail0"]["ipam"] == {"type": "nv-ipam", "poolName": "rail0"}


def test_networks_of_slow_pools_are_brought_there_too() -> None:
    """Else a network that names such a pool had neither Multus nor addresses there."""
    slow: Data = {**RAIL, "pools": ["plain"], "ipam": {"type": "nv-ipam", "range": "10.60.0.0/16"}}
    plan = plan_of(FAST, PLAIN, networkOperator={}, multus={"networks": [slow]})
    for name in ("kube-multus-ds", "nv-ipam-node"):
        assert {pool.name for pool in plan.pools for pod in plan.pods if pod.name == name and lands_on(pod, pool)} == {
            "fast",
            "plain",
        }
    (policy,) = manifests(plan, "NicClusterPolicy").values()
    terms = policy["spec"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [value for term in terms for one in term["matchExpressions"] for value in one["values"]] == ["fast", "plain"]


def test_address_pools_need_no_foreign_objects() -> None:
    rail: Data = {**RAIL, "ipam": {"type": "nv-ipam", "range": "10.60.0.0/16"}}
    plan = plan_of(FAST, PLAIN, networkOperator={"install": False}, multus={"install": False, "networks": [rail]})
    entries, elsewhere = platform_entries(plan.objects, plan.releases)
    assert {entry.id for entry in in_order(entries, elsewhere)} == {entry.id for entry in entries}
    assert "NicClusterPolicy" not in {entry.manifest["kind"] for entry in plan.objects}


def test_pools_of_addresses_wait_for_their_definition() -> None:
    plan = operated()
    objects = {entry.id: entry for entry in plan.objects}
    policy = objects["NicClusterPolicy/nic-cluster-policy"]
    assert "annotations" not in policy.manifest["metadata"], "it is never ready while no node of a fabric is up"
    assert policy.id in objects["IPPool/nvidia-network-operator/rail0"].needs
    (waited_for,) = plan.defining_objects
    assert waited_for.id == policy.id
    assert waited_for.crds == ("ippools.nv-ipam.nvidia.com",)
    bare = plan_of(PLAIN, networkOperator={}, teams=[])
    assert bare.defining_objects == ()


@needs_reference
def test_the_deployments_of_the_operator_get_onto_the_system_pool() -> None:
    kept = {**PLAIN, "taints": [{"key": "dedicated", "value": "system", "effect": "NoSchedule"}]}
    rail: Data = {**RAIL, "ipam": {"type": "nv-ipam", "range": "10.60.0.0/16"}}
    plan = plan_of(FAST, kept, networkOperator={}, multus={"startupTaint": False, "networks": [rail]})
    policy = manifests(plan, "NicClusterPolicy")["nic-cluster-policy"]
    assert errors_of(policy) == []
    assert {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"} in policy["spec"]["deploymentTolerations"]
    resources = {entry["name"]: entry["requests"] for entry in policy["spec"]["nvIpam"]["containerResources"]}
    assert resources["nv-ipam-controller"] == {"cpu": "100m", "memory": "300Mi"}


@needs_reference
def test_the_nic_cluster_policy_is_valid_against_its_crd() -> None:
    plan = plan_of(
        FAST,
        PLAIN,
        networkOperator={"ofedDriver": True},
        rdmaDevicePlugin={"resources": {"rdma/hca": {"drivers": ["mlx5_core"]}}},
        multus={"startupTaint": False, "networks": [{"name": "ib", "type": "ipoib", "master": "ib0"}]},
    )
    policy = manifests(plan, "NicClusterPolicy")["nic-cluster-policy"]
    assert errors_of(policy) == []
    assert policy["spec"]["ofedDriver"]["version"].startswith("doca")
    assert errors_of({**policy, "spec": {**policy["spec"], "nvIpams": {}}})


def test_the_images_of_the_operands_come_from_the_mirror() -> None:
    plan = operated(registry="mirror.example.com/ai")
    policy = manifests(plan, "NicClusterPolicy")["nic-cluster-policy"]["spec"]
    assert policy["global"]["repository"] == "mirror.example.com/ai/nvidia/mellanox"


def test_every_node_that_is_labelled_runs_discovery() -> None:
    plan = operated()
    workers = [pod for pod in plan.pods if pod.name == "network-operator-node-feature-discovery-worker"]
    assert [pool.name for pod in workers for pool in plan.pools if lands_on(pod, pool)] == ["fast", "plain"]


def test_the_controller_of_nv_ipam_is_counted_where_a_network_has_its_addresses() -> None:
    (pod,) = (pod for pod in operated().pods if pod.name == "nv-ipam-controller")
    assert (pod.kind, pod.replicas, dict(pod.requests)) == ("Deployment", 2, {"cpu": 100, "memory": 300, "pods": 1})
    bare = plan_of(PLAIN, networkOperator={}, teams=[])
    assert "nv-ipam-controller" not in {pod.name for pod in bare.pods}


def test_one_feature_discovery_beside_the_gpu_operator() -> None:
    releases = {release.name: release for release in operated(gpuOperator={}).releases}
    assert releases["network-operator"].values["nfd"]["enabled"] is True
    assert releases["gpu-operator"].values["nfd"]["enabled"] is False
    assert "Release/network-operator" in releases["gpu-operator"].needs
