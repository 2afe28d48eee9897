"""GPU010: GPU shares of a device plugin that mlcluster does not configure."""

from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.rules import findings
from tests.specs import EXISTING, LOCAL, SYSTEM, Data, checked, cluster

pytestmark = pytest.mark.unit

SLICES: Data = {"timeSlicing": {"replicas": 4}}


def told(gpu: Data, target: Data = EXISTING, **components: Any) -> list[str]:
    pool = {"name": "notebooks", "instanceType": "g5.12xlarge", "maxSize": 2, "gpu": gpu}
    spec = checked(cluster({**SYSTEM, "instanceType": "m7i.8xlarge"}, pool, target=target, components=components))
    return [finding.message for finding in findings(build(spec), spec) if finding.id == "GPU010"]


@pytest.mark.parametrize(
    ("gpu", "components", "whose"),
    [
        (SLICES, {}, "the device plugin of the cluster"),
        (SLICES, {"nvidiaDevicePlugin": {"install": False}}, "the device plugin of the cluster"),
        (
            {**SLICES, "imageBrings": ["driver", "toolkit", "devicePlugin"]},
            {"gpuOperator": {}},
            "the device plugin of the image",
        ),
        ({"mps": {"replicas": 2}}, {}, "the device plugin of the cluster"),
    ],
)
def test_shares_of_an_unmanaged_plugin_are_reported_with_its_name(
    gpu: Data, components: dict[str, Any], whose: str
) -> None:
    (message,) = told(gpu, **components)
    assert whose in message


@pytest.mark.parametrize(
    ("gpu", "target", "components"),
    [
        ({}, EXISTING, {}),
        (SLICES, EXISTING, {"gpuOperator": {}}),
        (SLICES, EXISTING, {"nvidiaDevicePlugin": {}}),
        (SLICES, EXISTING, {"gpuOperator": {"install": False}}),
        (SLICES, LOCAL, {}),
    ],
)
def test_managed_shares_and_shares_with_another_finding_are_not_reported(
    gpu: Data, target: Data, components: dict[str, Any]
) -> None:
    assert told(gpu, target, **components) == []
