"""Real control planes for tests. They end with the test run, even when that crashes (`tied`).

`GROUPS` lists the files that share a cluster, and therefore a worker.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.remote import Producer

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.example import Cluster, example_cluster
from tests.scheduling import Groups

if TYPE_CHECKING:
    from tests.lab.test_jobs import Cluster as JobKinds

TEAM_LABEL = "mlcluster.dev/team"
KUEUE_CONFIG: dict[str, Any] = {
    "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]},
    "manageJobsWithoutQueueName": True,
    "managedJobsNamespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]},
}


GROUPS = Groups(
    parts={
        "interruptions": ("promise/test_interruptions.py",),
        "the example": ("promise/", "test_documentation.py"),  # README takes the cluster down at the end
        "job kinds": (
            "test_job_kinds_policy.py",
            "test_leader_worker_sets.py",
            "test_jobs.py",
        ),  # the last test of test_jobs.py takes it down
        "queues": ("test_queue_rules.py", "test_volcano_team.py"),
        "Kueue alone": ("test_existing.py", "test_official_provider.py", "test_existing_discovery.py"),
        "bare": (
            "test_fabric_objects.py",
            "test_gates.py",
            "test_helm_recovery.py",
            "test_impersonation.py",
            "test_node_marks.py",
            "test_node_pool_size.py",
            "test_pod_networks.py",
        ),
    },
    longest_first=(
        "the example",
        "test_eks.py",
        "test_guarantees.py",
        "job kinds",
        "interruptions",
        "test_lab_lifecycle.py",
        "test_lab_kueue.py",
        "test_components.py",
        "Kueue alone",
        "queues",
        "bare",
    ),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the groups that take longest first: workers end at about the same time."""
    GROUPS.sort(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> object:
    """Keep each group on one worker."""
    return GROUPS.scheduler(config, log)


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    """Make SIGHUP and SIGINT end child processes, even under `nohup` and in the background, where they ignore both."""
    handlers: dict[int, Any] = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def make_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Return a function that makes labs that are not started yet; all are deleted in the end.

    Even an idle lab takes a tenth of a processor: reset it as soon as its tests are over.
    """
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
    """Return one bare control plane for all tests: use namespaces and names of your own, stop nothing."""
    shared = make_lab("shared")
    shared.start(toolchain, Silent())
    return shared


@pytest.fixture(scope="session")
def kueue_lab(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Lab:
    """Return one control plane with Kueue, which manages namespaces with the label `TEAM_LABEL`; shared like `lab`.

    It is a foreign cluster for tests of the `existing` target: delete the objects that you create in it.
    """
    shared = make_lab("kueue")
    shared.start(toolchain, Silent())
    shared.start_kueue(KUEUE_CONFIG, toolchain, Silent())
    return shared


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield the cluster of examples/lab.yaml: leave it as the spec describes it, without workloads."""
    with example_cluster(tmp_path_factory.mktemp("state")) as found:
        yield found


@pytest.fixture(scope="session")
def job_kinds(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[JobKinds]":
    """Yield the cluster of test_jobs.py, whose last test takes it down: leave it without workloads."""
    from tests.lab.test_jobs import job_kinds_cluster

    with job_kinds_cluster(tmp_path_factory.mktemp("state")) as found:
        yield found


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """Yield the cluster of test_queue_rules.py and test_volcano_team.py: leave it without workloads."""
    from tests.lab.test_queue_rules import rules_cluster

    with rules_cluster(tmp_path_factory.mktemp("state")) as found:
        yield found
