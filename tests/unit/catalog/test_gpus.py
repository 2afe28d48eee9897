"""GPU models: MIG layouts against the file of mig-parted, and names of instances."""

from typing import Any

import pytest
import yaml

from mlcluster.catalog.gpus import MIG_BALANCED, Gpu, gpu, gpus, mig_resource
from tests.upstream import REFERENCE, needs_reference

pytestmark = pytest.mark.unit
PARTITIONED = [known for known in gpus() if known.mig_layouts]


def name_of(known: Gpu) -> str:
    return f"{known.model}-{known.memory_mib}"


def shipped() -> dict[str, Any]:
    text = (REFERENCE / "charts" / "mig-parted" / "config-default.yaml").read_text("utf-8")
    configs: dict[str, Any] = yaml.safe_load(text)["mig-configs"]
    return configs


def applies(entry: dict[str, Any], known: Gpu) -> bool:
    cards = entry.get("device-filter", [])
    return not cards or bool(
        {cards} & set(known.device_ids) if isinstance(cards, str) else set(cards) & set(known.device_ids)
    )


@needs_reference
@pytest.mark.parametrize("known", PARTITIONED, ids=name_of)
def test_every_layout_equals_that_of_mig_parted(known: Gpu) -> None:
    configs = shipped()
    for layout, devices in known.mig_layouts.items():
        (entry,) = (entry for entry in configs[layout] if applies(entry, known))
        assert (entry["mig-devices"], entry["mig-enabled"]) == (devices, True), layout


@needs_reference
@pytest.mark.parametrize("known", PARTITIONED, ids=name_of)
def test_the_cards_of_a_model_are_those_of_the_balanced_layout(known: Gpu) -> None:
    (entry,) = (entry for entry in shipped()[MIG_BALANCED] if applies(entry, known))
    cards = entry["device-filter"]
    assert set(known.device_ids) <= ({cards} if isinstance(cards, str) else set(cards))


def test_models_are_distinguished_by_memory() -> None:
    small, large = gpu("a100", 40_960), gpu("a100", 81_920)
    assert small is not None
    assert large is not None
    assert (small.mig_layouts["all-1g.10gb"], large.mig_layouts["all-1g.10gb"]) == ({"1g.10gb": 4}, {"1g.10gb": 7})
    assert gpu("a100", None) is None
    assert len({name_of(known) for known in gpus()}) == len(gpus())


@pytest.mark.parametrize(
    ("profile", "resource"),
    [
        ("1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("1g.5gb+me", "nvidia.com/mig-1g.5gb.me"),
        ("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
        ("1g.24gb-me", "nvidia.com/mig-1g.24gb-me"),
    ],
)
def test_the_resource_that_pods_request_of_a_mig_instance(profile: str, resource: str) -> None:
    assert mig_resource(profile) == resource


def test_no_gpu_offers_more_than_seven_instances() -> None:
    assert max(sum(devices.values()) for known in gpus() for devices in known.mig_layouts.values()) == 7
