"""The arithmetic of a pool as it is read: the terms that are printed add up, and the words below them are true."""

import pytest
from hypothesis import given

from mlcluster.plan import build
from mlcluster.report.plan_text import plan_text
from mlcluster.report.pool_arithmetic import arithmetic_rows
from tests.specs import SYSTEM, TRAIN, Data, checked, planned
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit


@given(data=cluster_data(targets=("local", "existing", "eks")))
def test_the_printed_terms_of_every_line_add_up(data: Data) -> None:
    for row in arithmetic_rows(build(checked(data))):
        allocatable, daemon_sets, controllers, reserved, guaranteed, unassigned = map(_thousandths, row[3:9])
        assert allocatable - daemon_sets - controllers - reserved == guaranteed + unassigned, row


def _thousandths(cell: object) -> int:
    whole, _, decimals = str(cell).replace(",", "").partition(".")
    return int(whole) * 1000 + int(decimals.ljust(3, "0"))


def test_the_remainder_of_a_system_pool_cannot_be_borrowed() -> None:
    kept: Data = {**SYSTEM, "systemOnly": True}
    text = " ".join(plan_text(planned(kept, TRAIN, teams=[{"name": "a", "borrow": "all"}])).split())
    assert "Unassigned: every team may borrow it, but nothing of a systemOnly pool" in text
    text = " ".join(plan_text(planned(SYSTEM, TRAIN, teams=[{"name": "a", "borrow": "all"}])).split())
    assert "every team may borrow it" in text
    assert "nothing of a systemOnly pool" not in text
