"""Controllers on the pools that the spec keeps for them: in values of charts, objects, add-ons and the plan's pods."""

import pytest

from mlcluster.plan import names
from mlcluster.plan.controllers import is_controller
from mlcluster.rules import findings
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, checked, cluster, manifests, planned
from tests.upstream import errors_of, needs_reference

pytestmark = pytest.mark.unit
KEPT: Data = {**SYSTEM, "systemOnly": True, "minSize": 2, "maxSize": 2}
EKS: Data = {"kind": "eks", "region": "us-west-2", "autoscaler": "karpenter"}
WORK: Data = {"name": "work", "instanceType": "m7i.2xlarge", "maxSize": 2}
FABRIC: Data = {**TRAIN, "network": {"rdma": {"rdma/hca": 8}}}
NETWORKS: Data = {
    "networkOperator": {},
    "multus": {
        "networks": [
            {
                "name": "rail",
                "type": "macvlan",
                "master": "eth1",
                "pools": ["train"],
                "ipam": {"type": "nv-ipam", "range": "10.60.0.0/16"},
            }
        ]
    },
}


def test_every_controller_of_the_plan_selects_the_system_pools() -> None:
    plan = planned(KEPT, WORK, TRAIN, target=EKS, components={"monitoring": {}, "kserve": {}, "mpiOperator": {}})
    pods = [pod for pod in plan.pods if is_controller(pod) and names.POOL not in pod.node_selector]
    assert len(pods) > 10
    assert {pod.name or pod.owner: dict(pod.node_selector) for pod in pods if pod.node_selector != _SELECTOR} == {}
    assert plan.pools[1].controllers == {}
    (mpi,) = [manifest for name, manifest in manifests(plan, "Deployment").items() if "mpi" in name]
    assert mpi["spec"]["template"]["spec"]["nodeSelector"] == _SELECTOR


_SELECTOR = {names.SYSTEM_ONLY: "true"}


def test_addons_of_eks_run_there_too() -> None:
    plan = planned(KEPT, WORK, target=EKS)
    settings = {
        entry.inputs["addonName"]: entry.inputs["configurationValues"].document
        for entry in plan.resources
        if entry.type.endswith(":Addon") and entry.inputs.get("configurationValues")
    }
    assert settings["coredns"]["nodeSelector"] == _SELECTOR
    assert settings["aws-ebs-csi-driver"]["controller"]["nodeSelector"] == _SELECTOR


def test_on_existing_controllers_select_the_common_labels_of_the_system_pools() -> None:
    first: Data = {**KEPT, "selector": {"role": "system", "row": "1"}}
    second: Data = {**KEPT, "name": "more", "selector": {"role": "system", "row": "2"}}
    plan = planned(first, second, TRAIN, target=EXISTING)
    assert {tuple(pod.node_selector.items()) for pod in plan.pods if is_controller(pod)} == {(("role", "system"),)}
    assert plan.pools[0].taints == (), "mlcluster does not taint nodes that another party made"


@needs_reference
def test_controllers_of_the_network_operator_have_affinity() -> None:
    plan = planned(KEPT, FABRIC, target=EXISTING, components=NETWORKS)
    (policy,) = manifests(plan, "NicClusterPolicy").values()
    required = policy["spec"]["deploymentNodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    expression = {"key": "example.com/pool", "operator": "In", "values": ["system"]}
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [expression]}]
    assert errors_of(policy) == []


def test_the_selector_is_not_the_users_to_change() -> None:
    values: Data = {"keda": {"values": {"nodeSelector": {"role": "mine"}}}}
    spec = checked(cluster(KEPT, WORK, components=values))
    assert "CMP001" in {finding.id for finding in findings(planned(KEPT, WORK, components=values), spec)}
    spec = checked(cluster(SYSTEM, components=values))
    assert "CMP001" not in {finding.id for finding in findings(planned(SYSTEM, components=values), spec)}
