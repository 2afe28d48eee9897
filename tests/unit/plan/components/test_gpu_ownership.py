"""Owners of GPU duties by pool, and the resulting node labels."""

from typing import Any

import pytest

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_owners import opt_outs, ownership, served
from mlcluster.plan.components.index import selected
from mlcluster.plan.pools import plan_pools
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2"}
CUT: Data = {"name": "cut", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
ROCKET: Data = {**TRAIN, "name": "rocket", "ami": {"family": "bottlerocket"}}
SMALL: Data = {"name": "small", "instanceType": "g6.xlarge", "maxSize": 2}
GRACE: Data = {
    "name": "grace",
    "nodeShape": {"cpu": "140", "memory": "900Gi", "gpu": {"model": "gb200", "count": 4}},
    "maxSize": 2,
}


def context(*pools: Data, target: Data = EKS, **components: Any) -> ComponentContext:
    spec = ClusterSpec.model_validate(cluster(SYSTEM, *pools, target=target, components=components))
    resolved = plan_pools(spec)
    return ComponentContext(spec, resolved, selected(spec, resolved))


def owner(here: ComponentContext, pool: str = "train") -> dict[str, str]:
    return {str(duty): name for duty, name in ownership(here)[pool].items()}


def test_on_eks_the_operator_installs_the_parts_that_the_image_lacks() -> None:
    here = context(TRAIN)
    assert owner(here) == {
        "driver": "image",
        "toolkit": "image",
        "devicePlugin": "gpu-operator",
        "gpuFeatureDiscovery": "gpu-operator",
        "nodeFeatureDiscovery": "gpu-operator",
        "migManager": "gpu-operator",
        "dcgm": "gpu-operator",
        "dcgmExporter": "gpu-operator",
        "validator": "gpu-operator",
    }
    assert list(ownership(here)) == ["train"]


def test_bottlerocket_has_a_plugin_and_a_mig_manager() -> None:
    found = owner(context(ROCKET), "rocket")
    images = {duty for duty, name in found.items() if name == "image"}
    assert images == {"driver", "toolkit", "devicePlugin", "migManager"}
    assert found["dcgmExporter"] == found["validator"] == "gpu-operator"


def test_gpus_without_mig_need_no_mig_manager() -> None:
    assert owner(context(SMALL), "small")["migManager"] == ""
    assert owner(context(GRACE, target=EXISTING, gpuOperator={}), "grace")["migManager"] == ""


def test_without_a_component_an_existing_cluster_is_unchanged() -> None:
    found = owner(context(TRAIN, target=EXISTING))
    assert {duty for duty, name in found.items() if name == "cluster"} == {"driver", "toolkit", "devicePlugin"}
    assert owner(context(CUT, target=EXISTING), "cut")["migManager"] == "cluster"


@pytest.mark.parametrize("target", [EXISTING, {"kind": "local"}], ids=["existing", "local"])
def test_the_spec_declares_the_parts_of_other_images(target: Data) -> None:
    pool = {**TRAIN, "gpu": {"imageBrings": ["driver"]}}
    found = owner(context(pool, target=target, gpuOperator={}))
    assert (found["driver"], found["toolkit"], found["devicePlugin"]) == ("image", "gpu-operator", "gpu-operator")


def test_the_plugin_replaces_the_operator() -> None:
    here = context(TRAIN, nvidiaDevicePlugin={})
    assert "gpu-operator" not in here.selected
    found = owner(here)
    assert (found["devicePlugin"], found["dcgmExporter"]) == ("nvidia-device-plugin", "")


def test_the_operator_leaves_duties_to_components_that_are_configured_for_them() -> None:
    here = context(TRAIN, dcgmExporter={})
    assert owner(here)["dcgmExporter"] == owner(here)["dcgm"] == "dcgm-exporter"
    assert owner(here)["devicePlugin"] == "gpu-operator"


def test_one_node_feature_discovery() -> None:
    here = context(TRAIN, target=EXISTING, gpuOperator={}, networkOperator={})
    assert owner(here)["nodeFeatureDiscovery"] == "network-operator"


def test_disabled_parts_are_left_out_by_the_operator() -> None:
    here = context(TRAIN, gpuOperator={"without": ["dcgmExporter", "nodeFeatureDiscovery"]})
    assert (owner(here)["dcgmExporter"], owner(here)["nodeFeatureDiscovery"]) == ("", "")
    there = context(TRAIN, target=EXISTING, gpuOperator={"without": ["driver", "dcgmExporter"]})
    assert owner(there)["driver"] == owner(there)["dcgmExporter"] == owner(there)["dcgm"] == "cluster"


def test_existing_components_own_duties_too() -> None:
    assert owner(context(TRAIN, gpuOperator={"install": False}))["devicePlugin"] == "gpu-operator"
    assert owner(context(TRAIN, nvidiaDevicePlugin={"install": False}))["devicePlugin"] == "nvidia-device-plugin"


def test_served() -> None:
    here = context(TRAIN, ROCKET, SMALL)
    assert [pool.name for pool in served(here, "gpu-operator", "devicePlugin")] == ["train", "small"]
    assert [pool.name for pool in served(here, "image", "devicePlugin")] == ["rocket"]
    assert [pool.name for pool in served(here, "gpu-operator", "migManager")] == ["train"]


def labels(here: ComponentContext) -> dict[str, dict[str, str]]:
    return {pool.name: opt_outs(here, pool, ownership(here)) for pool in here.gpu_pools}


def test_a_duty_is_declined_only_if_another_component_has_it() -> None:
    declined = {"nvidia.com/gpu.deploy.device-plugin": "false", "nvidia.com/gpu.deploy.mig-manager": "false"}
    assert labels(context(TRAIN, ROCKET)) == {"train": {}, "rocket": declined}
    assert labels(context(ROCKET)) == {"rocket": {}}
    assert labels(context(TRAIN, ROCKET, nvidiaDevicePlugin={})) == {"train": {}, "rocket": {}}


def test_drivers_of_images_and_of_the_operator_side_by_side() -> None:
    own = {**TRAIN, "name": "own", "gpu": {"imageBrings": ["driver", "toolkit"]}}
    here = context(TRAIN, own, target=EXISTING, gpuOperator={})
    declined = {"nvidia.com/gpu.deploy.driver": "false", "nvidia.com/gpu.deploy.container-toolkit": "false"}
    assert labels(here) == {"train": {}, "own": declined}


def test_a_gpu_that_only_could_be_cut_declines_the_mig_manager() -> None:
    here = context(TRAIN, GRACE, SMALL, target=EXISTING, gpuOperator={})
    assert labels(here) == {"train": {}, "grace": {"nvidia.com/gpu.deploy.mig-manager": "false"}, "small": {}}
