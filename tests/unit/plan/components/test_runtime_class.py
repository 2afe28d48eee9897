"""With which container runtime the standalone device plugin and DCGM exporter run: they have to see every GPU."""

import pytest

from mlcluster.plan.model import Plan
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, planned

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2", "endpoint": {"publicCidrs": ["203.0.113.0/24"]}}
BOTH: Data = {"nvidiaDevicePlugin": {}, "dcgmExporter": {}}
WITHOUT: Data = {"gpuOperator": {"without": ["devicePlugin", "dcgmExporter"]}}


def plan_of(target: Data, components: Data, **gpu: object) -> Plan:
    pool = {**TRAIN, **({"gpu": gpu} if gpu else {})}
    return planned({**SYSTEM, "minSize": 2}, pool, target=target, components=components)


def classes(plan: Plan) -> dict[str, str | None]:
    names = ("nvidia-device-plugin", "dcgm-exporter")
    return {entry.name: entry.values.get("runtimeClassName") for entry in plan.releases if entry.name in names}


def test_with_the_toolkit_of_the_operator_they_ask_for_its_runtime() -> None:
    """It makes `nvidia` a runtime class and not the default (gpu-operator v26.7.0, transformToolkitCtrForCDI)."""
    plan = plan_of(EXISTING, {**BOTH, **WITHOUT})
    assert classes(plan) == {"nvidia-device-plugin": "nvidia", "dcgm-exporter": "nvidia"}
    needs = {entry.name: entry.needs for entry in plan.releases}
    assert all("Release/gpu-operator" in needs[name] for name in classes(plan)), "the operator makes the RuntimeClass"


def test_images_of_eks_have_it_as_the_default() -> None:
    """And no RuntimeClass: nodeadm's runtime_config_nvidia.go, Bottlerocket's containerd-config-toml of NVIDIA."""
    assert classes(plan_of(EKS, BOTH)) == {"nvidia-device-plugin": None, "dcgm-exporter": None}


def test_the_spec_can_set_the_runtime_of_other_images() -> None:
    """The runtime classes of existing nodes are unknown; a missing class would block every pod."""
    assert classes(plan_of(EXISTING, BOTH)) == {"nvidia-device-plugin": None, "dcgm-exporter": None}
    told = {name: {"values": {"runtimeClassName": "nvidia"}} for name in BOTH}
    assert set(classes(plan_of(EXISTING, told)).values()) == {"nvidia"}
