"""The teams of examples/lab.yaml. All tests of this folder and of the documentation share its cluster."""

from collections.abc import Iterator

import pytest

from tests.lab.example import Cluster
from tests.lab.workloads import Tenant

__all__ = ["Cluster"]


@pytest.fixture(scope="session")
def cluster(example: Cluster) -> Cluster:
    """Return the cluster of examples/lab.yaml on a lab of its own."""
    return example


@pytest.fixture
def research(cluster: Cluster) -> Iterator[Tenant]:
    """Yield team research: 32 GPUs guaranteed, may borrow everything."""
    team = cluster.team("research")
    yield team
    team.clean()


@pytest.fixture
def products(cluster: Cluster) -> Iterator[Tenant]:
    """Yield team products: 24 GPUs guaranteed, may borrow 16, lends 16."""
    team = cluster.team("products")
    yield team
    team.clean()


@pytest.fixture
def students(cluster: Cluster) -> Iterator[Tenant]:
    """Yield team students: CPU only, may borrow MIG slices."""
    team = cluster.team("students")
    yield team
    team.clean()
