"""A real control plane, the real engine and the installed built-in provider."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.fakes.provider_stack import ProviderStack

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def provider_lab(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Lab]:
    """Yield one bare control plane for all of these tests."""
    lab = Lab("provider", tmp_path_factory.mktemp("labs") / "provider", tied=True)
    lab.start(toolchain, Silent())
    yield lab
    lab.reset(Silent())


@pytest.fixture
def kube(provider_lab: Lab) -> Iterator[Kube]:
    with Kube.from_kubeconfig(provider_lab.kubeconfig) as kube:
        yield kube


@pytest.fixture
def name() -> str:
    """Return a name that no other test uses: for a namespace, a cluster label, cluster-wide objects."""
    return f"trial-{next(_NUMBERS)}"


@pytest.fixture
def make_stack(provider_lab: Lab, toolchain: Toolchain, tmp_path: Path, name: str) -> Callable[..., ProviderStack]:
    """Return a function that makes stacks on the lab, which is thrown away with all that they leave."""
    numbers = count()

    def make(environment: dict[str, str] | None = None) -> ProviderStack:
        variables = {"MLCLUSTER_HELM": str(toolchain.path("helm")), **(environment or {})}
        directory = tmp_path / f"stack-{next(numbers)}"
        return ProviderStack(directory, provider_lab.kubeconfig, toolchain.path("pulumi"), variables)

    return make


@pytest.fixture
def stack(make_stack: Callable[..., ProviderStack]) -> ProviderStack:
    return make_stack()
