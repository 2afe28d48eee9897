"""Plans that tests of several rules start from."""

import pytest

from mlcluster.plan.model import Plan
from tests.specs import EXISTING, planned


@pytest.fixture(scope="session")
def base() -> Plan:
    """Return a plan of an existing cluster."""
    return planned(target=EXISTING)
