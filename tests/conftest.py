"""Fixtures of every tier, and the guard that keeps unit tests away from this machine."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow and no failure. On CI this comes on top of the profile that Hypothesis chooses there.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files that golden tests compare with")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The checkout: where examples/ and docs/ are."""
    return Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _own_directories(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No test writes into the user's state or cache: unit tests get places of their own."""
    if request.node.get_closest_marker("unit") or request.node.get_closest_marker("golden"):
        private = tmp_path_factory.mktemp("private")
        monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(private / "state"))
        monkeypatch.setenv("MLCLUSTER_CACHE_DIR", str(private / "cache"))
        monkeypatch.setenv("HOME", str(private))
        monkeypatch.delenv("KUBECONFIG", raising=False)
