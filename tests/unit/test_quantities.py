"""Amounts as integers and as Kubernetes spells them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcluster.quantities import add, canonical, fraction, ordered, parse, subtract, unit

pytestmark = pytest.mark.unit

INT64 = 2**63 - 1
RESOURCES = ["cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "rdma/hca"]
STEPS = {"": 1000, **dict.fromkeys("kMGTP", 1000), **dict.fromkeys(("Mi", "Gi", "Ti", "Pi"), 1024)}


@st.composite
def resources_and_amounts(draw: st.DrawFn) -> tuple[str, int]:
    """Return a resource and an amount that the API server can hold: 64 bits of bytes, of thousandths, of pieces."""
    resource = draw(st.sampled_from(RESOURCES))
    most = INT64 // 2**20 if unit(resource) == "MiB" else INT64
    round_numbers = st.builds(
        lambda n, step, power: n * step**power, st.integers(0, 2000), st.sampled_from([1000, 1024]), st.integers(0, 6)
    )
    return resource, min(draw(st.integers(0, most) | round_numbers), most)


@given(resources_and_amounts())
def test_parsing_a_formatted_quantity_gives_the_amount(case: tuple[str, int]) -> None:
    resource, amount = case
    assert parse(resource, canonical(resource, amount)) == amount


@given(resources_and_amounts())
def test_no_spelling_can_be_shortened(case: tuple[str, int]) -> None:
    """The largest suffix that leaves no fraction: a number that a step divides would have had the next one."""
    resource, amount = case
    match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", canonical(resource, amount))
    assert match
    number, suffix = int(match[1]), match[2]
    assert not match[1].startswith("0") or match[0] == "0"
    if suffix == "m":
        assert number % 1000
    elif number and suffix in STEPS:
        assert number % STEPS[suffix]


@pytest.mark.parametrize(
    ("resource", "amount", "spelled"),
    [
        ("cpu", 0, "0"),
        ("cpu", 500, "500m"),
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("cpu", 191_450, "191450m"),
        ("cpu", 1_000_000, "1k"),
        ("cpu", 1_500_000, "1500"),
        ("memory", 0, "0"),
        ("memory", 1, "1Mi"),
        ("memory", 1000, "1000Mi"),
        ("memory", 1024, "1Gi"),
        ("memory", 1536, "1536Mi"),
        ("memory", 2048, "2Gi"),
        ("memory", 1024 * 1024, "1Ti"),
        ("memory", 1024**4, "1Ei"),
        ("ephemeral-storage", 51_200, "50Gi"),
        ("pods", 110, "110"),
        ("pods", 1000, "1k"),
        ("nvidia.com/gpu", 8, "8"),
        ("nvidia.com/gpu", 2_000_000, "2M"),
        ("rdma/hca", 10**18, "1E"),
    ],
)
def test_canonical_forms(resource: str, amount: int, spelled: str) -> None:
    assert canonical(resource, amount) == spelled


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "0.5", 500),
        ("cpu", "190", 190_000),
        ("cpu", "190500m", 190_500),
        ("cpu", "1k", 1_000_000),
        ("cpu", "0.0001", 0),
        ("memory", "64Gi", 65_536),
        ("memory", "1.5Gi", 1536),
        ("memory", "1G", 953),
        ("memory", "1048575", 0),
        ("memory", "512Ki", 0),
        ("pods", "1.9", 1),
    ],
)
def test_parsing_rounds_down_to_the_unit_of_the_plan(resource: str, text: str, amount: int) -> None:
    assert parse(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "0.9999999999999999999999999999999", 999),
        ("memory", "1.9999999999999999999999999999Mi", 1),
        ("pods", "99999999999999999999999999999.9", 99_999_999_999_999_999_999_999_999_999),
    ],
)
def test_no_digit_of_a_long_quantity_is_rounded_up(resource: str, text: str, amount: int) -> None:
    assert parse(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "250000u", 250),
        ("cpu", "1500000000n", 1500),
        ("cpu", "1e3", 1_000_000),
        ("cpu", "25E-1", 2500),
        ("memory", "128e6", 122),
        ("memory", "1E", 953_674_316_406),
        ("memory", ".5Gi", 512),
        ("pods", "110.", 110),
    ],
)
def test_every_form_of_the_api_is_parsed(resource: str, text: str, amount: int) -> None:
    """The API server keeps the form in which a pod was written."""
    assert parse(resource, text) == amount


@pytest.mark.parametrize("text", ["", ".", "Gi", "e3", "1.2.3", "1Zi", "-1", "1 Gi", "1e", "\u0661"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        parse("cpu", text)


def test_units() -> None:
    assert {name: unit(name) for name in ("cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu")} == {
        "cpu": "m",
        "memory": "MiB",
        "ephemeral-storage": "MiB",
        "pods": "",
        "nvidia.com/gpu": "",
    }


def test_arithmetic_of_amounts() -> None:
    whole = {"cpu": 1000, "pods": 7}
    assert add(whole, {"cpu": 1, "x/y": 2}) == {"cpu": 1001, "pods": 7, "x/y": 2}
    assert add() == {}
    assert subtract(whole, {"pods": 9, "x/y": 2}) == {"cpu": 1000, "pods": 0}
    assert fraction(whole, 2, 3) == {"cpu": 666, "pods": 4}
    assert whole == {"cpu": 1000, "pods": 7}


def test_order_of_resources() -> None:
    names = {"rdma/hca", "pods", "nvidia.com/gpu", "memory", "cpu"}
    assert ordered(names) == ["cpu", "memory", "pods", "nvidia.com/gpu", "rdma/hca"]


def test_a_part_of_huge_pages_is_whole_pages() -> None:
    """An eighth of 1,004 pages of 2 MiB would be 251 MiB; the API server rejects a pod that requests that."""
    assert fraction({"hugepages-2Mi": 2008, "memory": 2008}, 1, 8) == {"hugepages-2Mi": 250, "memory": 251}
