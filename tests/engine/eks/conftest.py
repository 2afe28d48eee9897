"""An account in memory, simulated aws and eks plugins, and engines that use them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.engine.engine import Engine
from mlcluster.plan.model import Plan
from tests.fakes.aws_provider import serve_aws
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import CloudPlan, EngineOf, Running, cloud_engine, cloud_plan
from tests.fakes.eks_provider import serve_eks
from tests.fakes.in_memory_provider import World, serve


@pytest.fixture
def cloud() -> Cloud:
    """Return the account."""
    return Cloud()


@pytest.fixture
def aws_port(cloud: Cloud) -> Iterator[int]:
    """Return the port of the simulated aws plugin."""
    with serve_aws(cloud) as port:
        yield port


@pytest.fixture(scope="session")
def eks_port() -> Iterator[int]:
    """Return the port of the simulated eks plugin."""
    with serve_eks() as port:
        yield port


@pytest.fixture(scope="session")
def kubernetes_port() -> Iterator[int]:
    """Yield the port of the provider that the eks component registers and never uses."""
    with serve(World()) as port:
        yield port


@pytest.fixture
def cloud_engine_of(pulumi: Path, aws_port: int, eks_port: int, kubernetes_port: int, tmp_path: Path) -> EngineOf:
    """Return a function that makes an engine for a plan; all of them share one stack in the test's directory."""
    attach = {"aws": aws_port, "eks": eks_port, "kubernetes": kubernetes_port}
    return _engines(tmp_path / "atlas", attach, pulumi)


@pytest.fixture(scope="module")
def running(
    pulumi: Path, eks_port: int, kubernetes_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Yield a cluster that is up, for all tests of a module that only look."""
    cloud = Cloud()
    with serve_aws(cloud) as port:
        attach = {"aws": port, "eks": eks_port, "kubernetes": kubernetes_port}
        engine_of = _engines(tmp_path_factory.mktemp("running") / "atlas", attach, pulumi)
        engine_of(cloud_plan()).up()
        yield Running(cloud, engine_of)


def _engines(root: Path, attach: dict[str, int], binary: Path) -> EngineOf:
    def made(plan: CloudPlan | Plan, **arguments: Any) -> Engine:
        return cloud_engine(root, attach, plan, binary, **arguments)

    return made
