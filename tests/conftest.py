"""Fixtures of every tier, and the guard that keeps unit tests away from this machine."""

import os
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mlcluster.lab.toolchain import Toolchain, ensure
from mlcluster.report.progress import for_terminal

# A busy machine is slow and no failure. On CI this comes on top of the profile that Hypothesis chooses there.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
_NUMBERS = count()
EXPECTED = "Expected "
"""The start of the reason of every skip, such as "Expected without ../shared/reference: ..."."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files that golden tests compare with")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the skipped tests to $TIER_LOG, from which `.ci/run` prints them after the last tier."""
    if hasattr(terminalreporter.config, "workerinput"):  # each worker of xdist has a reporter too
        return
    log = os.environ.get("TIER_LOG")
    skipped = terminalreporter.stats.get("skipped", [])
    if log and skipped:
        with Path(log).open("a", encoding="utf-8") as file:
            file.writelines(f"skipped {one.nodeid}: {_reason(one)}\n" for one in skipped)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that is skipped without a reason that states where the skip is expected."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not _reason(report).startswith(EXPECTED):
        report.outcome = "failed"
        report.longrepr = f"skipped: {_reason(report)}\nThe reason must start with {EXPECTED!r}: where is it expected?"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that skips all of its tests: nothing would show how many there are."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = "skip tests by a mark in `pytestmark`, not the module"
    return report


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped, on one line."""
    found = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
    return " ".join(str(found).removeprefix("Skipped: ").split())


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def project_root() -> Path:
    """Return the checkout: where examples/ and docs/ are."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """Return the programs of the lab. If the cache has none, this builds them, which takes about ten minutes."""
    return ensure(for_terminal())


@pytest.fixture(scope="session")
def _private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all private places: pytest's own numbering lists it again for each of thousands of tests."""
    return tmp_path_factory.mktemp("private")


@pytest.fixture(autouse=True)
def _own_directories(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _private: Path) -> None:
    """Give unit and golden tests state, cache and home directories of their own."""
    if request.node.get_closest_marker("unit") or request.node.get_closest_marker("golden"):
        private = _private / str(next(_NUMBERS))
        private.mkdir()
        monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(private / "state"))
        monkeypatch.setenv("MLCLUSTER_CACHE_DIR", str(private / "cache"))
        monkeypatch.setenv("HOME", str(private))
        monkeypatch.delenv("KUBECONFIG", raising=False)
