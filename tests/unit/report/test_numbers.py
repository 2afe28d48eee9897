"""Figures for people."""

import pytest

from mlcluster.plan.model import Price
from mlcluster.report.numbers import amount, price_source, share, usd

pytestmark = pytest.mark.unit

LISTED = Price(1.0, "us-east-1", "2026-07-20", exact=True)
ELSEWHERE = Price(1.0, "us-east-1", "2026-07-20", exact=False)
OWN = Price(1.0, "", "", exact=True)


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 500, "0.5"),
        ("cpu", 7910, "7.9"),
        ("cpu", 8000, "8"),
        ("cpu", 191_450, "191"),
        ("memory", 0, "0 GiB"),
        ("memory", 256, "256 MiB"),
        ("memory", 1024, "1 GiB"),
        ("memory", 29_317, "29 GiB"),
        ("ephemeral-storage", 1_938_410, "1.8 TiB"),
        ("pods", 737, "737"),
        ("nvidia.com/mig-1g.5gb", 56, "56"),
    ],
)
def test_amounts(resource: str, value: int, text: str) -> None:
    assert amount(resource, value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "unknown"), (0.0, "$0.00"), (1234.567, "$1,234.57")])
def test_money(value: float | None, text: str) -> None:
    assert usd(value) == text


@pytest.mark.parametrize(("part", "whole", "text"), [(1, 2, "50%"), (0, 8, "0%"), (3, 8, "38%"), (0, 0, "-")])
def test_shares(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


@pytest.mark.parametrize(
    ("prices", "text"),
    [
        ([], ""),
        ([LISTED], "USD per hour, us-east-1 on-demand list price of 2026-07-20"),
        ([LISTED, ELSEWHERE], "USD per hour, ≈ us-east-1 on-demand list price of 2026-07-20"),
        ([OWN], "USD per hour, as the spec gives them"),
        ([OWN, LISTED], "USD per hour, us-east-1 on-demand list price of 2026-07-20, or as the spec gives them"),
    ],
)
def test_prices_are_shown_with_region_and_date(prices: list[Price], text: str) -> None:
    assert price_source(prices) == text
