"""Where EFA interfaces go, for every instance type of the catalog that has any, and how many pods a node takes."""

from functools import cache
from typing import Any

import pytest
import yaml

from mlcluster.catalog.instances import instance_names, instance_type
from mlcluster.catalog.networks import PRIMARY, enis_for, max_pods, network_layout, why_no_layout
from tests.upstream import REFERENCE, needs_reference

pytestmark = pytest.mark.unit

WITH_EFA = sorted(name for name in instance_names() if instance_type(name).efa)
ACCELERATED = sorted(name for name in instance_names() if instance_type(name).accelerator)
UNKNOWN = {"hpc6id.32xlarge"} | {
    f"{family}.metal-96xl" for family in ("m8ib", "m8idb", "m8idn", "m8in", "r8ib", "r8idb", "r8idn", "r8in")
}
"""Types whose EFA interfaces cannot be placed: see why_no_layout."""


@cache
def reference() -> dict[str, dict[str, Any]]:
    """Return the reference catalog of accelerator types, by name."""
    entries = yaml.safe_load((REFERENCE / "gpu-catalogue.yaml").read_text("utf-8"))["instance_types"]
    return {entry["instance_type"]: entry for entry in entries}


@pytest.mark.parametrize("name", [name for name in WITH_EFA if name not in UNKNOWN])
def test_every_efa_interface_has_a_card_of_its_own(name: str) -> None:
    layout = network_layout(name)
    assert layout is not None
    assert len(layout.efa_only) == instance_type(name).efa
    assert len({card for card, _ in layout.efa_only}) == len(layout.efa_only)
    assert PRIMARY not in layout.efa_only
    assert all(0 <= card < layout.cards for card, _ in layout.efa_only)
    assert layout.interfaces_per_card is None or layout.interfaces_per_card >= 2
    assert why_no_layout(name) is None


def test_types_without_a_known_layout_have_a_reason() -> None:
    assert {name for name in WITH_EFA if network_layout(name) is None} == UNKNOWN
    assert "no room" in str(why_no_layout("hpc6id.32xlarge"))
    assert "not known" in str(why_no_layout("m8ib.metal-96xl"))


def test_no_accelerator_type_is_without_a_layout() -> None:
    assert not [name for name in ACCELERATED if network_layout(name) is None]


@pytest.mark.parametrize(
    ("name", "cards", "efa_cards"),
    [
        ("g5.8xlarge", 1, [0]),
        ("p5.4xlarge", 1, [0]),
        ("g6e.24xlarge", 2, [0, 1]),
        ("g7e.48xlarge", 4, [0, 1, 2, 3]),
        ("p4d.24xlarge", 4, [0, 1, 2, 3]),
        ("p5.48xlarge", 32, list(range(32))),
        ("p5en.48xlarge", 16, list(range(16))),
        ("p6-b200.48xlarge", 8, list(range(8))),
        ("p6-b300.48xlarge", 17, list(range(1, 17))),
        ("p6e-gb200.36xlarge", 17, [1, 3, 5, 7]),
        ("trn2.48xlarge", 16, list(range(16))),
        ("hpc7a.96xlarge", 2, [0, 1]),
        ("m7i.2xlarge", 1, []),
    ],
)
def test_layouts_of_the_card_table(name: str, cards: int, efa_cards: list[int]) -> None:
    layout = network_layout(name)
    assert layout is not None
    assert layout.cards == cards
    assert layout.efa_only == tuple((card, 1) for card in efa_cards)
    assert layout.first_efa_card == (efa_cards[0] if efa_cards else None)


def test_an_unknown_type_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        network_layout("p9.huge")


@needs_reference
def test_cards_and_interfaces_agree_with_the_reference_catalog() -> None:
    for name, entry in reference().items():
        layout = network_layout(name)
        assert layout is not None, name
        assert layout.cards == (entry["network_cards"] or layout.cards), name
        assert entry["max_enis_per_card"] in {None, layout.interfaces_per_card}, name
        if entry["efa_max"] is not None:
            assert len(layout.efa_only) == entry["efa_max"], name


@pytest.mark.parametrize("name", ACCELERATED)
def test_interfaces_of_accelerator_types_are_known(name: str) -> None:
    found = enis_for(name)
    if name == "p3dn.24xlarge":
        assert found is None
        return
    assert found is not None
    assert found >= 1 + instance_type(name).efa


@pytest.mark.parametrize(("name", "expected"), [("p5.48xlarge", 64), ("p6e-gb200.36xlarge", 39), ("m7i.2xlarge", None)])
def test_interfaces_of_all_cards_together(name: str, expected: int | None) -> None:
    assert enis_for(name) == expected


@pytest.mark.parametrize(
    ("vcpu", "addresses", "expected"),
    [(2, None, 110), (29, None, 110), (30, None, 250), (192, None, 250), (1, 8, 98), (2, 29, 110), (192, 100, 250)],
)
def test_pods_of_a_node_follow_its_vcpus_and_its_addresses(vcpu: int, addresses: int | None, expected: int) -> None:
    assert max_pods(vcpu, addresses) == expected
