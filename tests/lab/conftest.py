"""Real control planes for tests. They end with the test run, even when that crashes (`tied`)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain, ensure
from mlcluster.progress import Silent
from mlcluster.report.progress import for_terminal

TEAM_LABEL = "mlcluster.dev/team"
KUEUE_CONFIG: dict[str, Any] = {
    "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]},
    "manageJobsWithoutQueueName": True,
    "managedJobsNamespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]},
}


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """The programs; built first where there are none, which takes about ten minutes."""
    return ensure(for_terminal())


@pytest.fixture(scope="session")
def make_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Makes labs that are not started yet; all are deleted in the end."""
    made: list[Lab] = []

    def make(name: str, **options: Any) -> Lab:
        root: Path = tmp_path_factory.mktemp("labs") / name
        made.append(Lab(name, root, **{"tied": True, **options}))
        return made[-1]

    yield make
    for lab in made:
        lab.reset(Silent())


@pytest.fixture(scope="session")
def lab(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Lab:
    """One bare control plane for all tests: use namespaces and names of your own, stop nothing."""
    shared = make_lab("shared")
    shared.start(toolchain, Silent())
    return shared


@pytest.fixture(scope="session")
def kueue_lab(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Lab:
    """One control plane with Kueue, which manages namespaces with the label `TEAM_LABEL`; shared like `lab`."""
    shared = make_lab("kueue")
    shared.start(toolchain, Silent())
    shared.start_kueue(KUEUE_CONFIG, toolchain, Silent())
    return shared
