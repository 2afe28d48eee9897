"""The steps of `down`: each can be repeated, and an interrupted run continues from the first one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.teardown.steps import STEPS, Step, Teardown, run_steps
from mlcluster.progress import Silent
from mlcluster.report.screen import Screen
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import put_queue, server_with_kueue
from tests.fakes.remembering import CONTROL_PLANE, RememberingEngine, held, reading_of
from tests.specs import EXISTING, LOCAL, Data

pytestmark = pytest.mark.unit

TARGETS: dict[str, Data] = {"existing": EXISTING, "local": LOCAL, "eks": {}}
TEAMS = [{"name": "research", "guarantee": {"system": {"nodes": 1}}}]


@dataclass
class Lab:
    """A lab whose controllers are stopped once."""

    log: list[str]
    running: bool = True

    def controllers(self) -> tuple[str, ...]:
        return ("kueue",) if self.running else ()

    def stop_controllers(self, names: tuple[str, ...], _progress: object) -> None:
        if names:
            self.log.append(f"lab: stop {', '.join(names)}")
        self.running = False


@dataclass
class Cluster:
    """A cluster with its stacks.

    Attributes:
        log: operations of the stacks and of the lab, in order.
    """

    teardown: Teardown
    server: FakeApiServer
    log: list[str]

    @property
    def state(self) -> object:
        """What a user still finds: objects in the cluster, and stacks."""
        return sorted(map(str, self.server.objects)), [stack.engine.exists() for stack in self.teardown.session.stacks]


@contextmanager
def cluster_of(target: str) -> Iterator[Cluster]:
    workspace = reading_of(teams=TEAMS, target=TARGETS[target])
    log: list[str] = []
    server = server_with_kueue()
    server._kinds["v1", "persistentvolumes"] = ("PersistentVolume", False)
    put_queue(server, "research")
    platform = RememberingEngine("platform", log, [held("ClusterQueue/research"), held("Namespace/research")])
    nodes = {"eks": [RememberingEngine("AWS", log, [CONTROL_PLANE])], "local": [RememberingEngine("nodes", log)]}
    engines = [*nodes.get(target, []), platform]
    with server.kube() as kube:
        owner.claim(kube, "atlas", home_of(workspace))
        lab = cast("Any", Lab(log)) if target == "local" else None
        live = LiveCluster("kubeconfig", None, kube, "uid", lab, started=False)
        stacks = [engine.stack for engine in engines]
        session = Session(workspace, Tools(Path("pulumi"), None), live, stacks, Silent())
        state = stacks[-1].engine if target == "eks" else None
        yield Cluster(Teardown(session, Screen("text", color=False), platform_state=state), server, log)


@pytest.mark.parametrize("target", TARGETS)
def test_a_teardown_that_is_run_again_deletes_nothing(target: str) -> None:
    with cluster_of(target) as found:
        run_steps(STEPS[target], found.teardown)
        log, state = list(found.log), found.state
        assert log
        assert found.server.get("ConfigMap", "mlcluster-owner", "kube-system") is None
        run_steps(STEPS[target], found.teardown)
        assert (found.log, found.state) == (log, state)


@pytest.mark.parametrize("target", TARGETS)
def test_a_teardown_that_was_interrupted_after_any_step_ends_the_same(target: str) -> None:
    with cluster_of(target) as whole:
        run_steps(STEPS[target], whole.teardown)
    for done in range(len(STEPS[target])):
        with cluster_of(target) as found:
            run_steps(STEPS[target][:done], found.teardown)
            run_steps(STEPS[target], found.teardown)
            assert (found.log, found.state) == (whole.log, whole.state), STEPS[target][done - 1].title


@pytest.mark.parametrize("target", TARGETS)
def test_the_platform_goes_before_its_cluster_and_the_owner_last_of_the_objects(target: str) -> None:
    titles = [step.title for step in STEPS[target]]
    assert titles.index("stop the ClusterQueues and drain them") < titles.index("delete the platform")
    assert titles.index("delete the platform") < titles.index("delete the record of the owner")
    assert len(set(titles)) == len(titles)


def test_steps_on_the_cluster_are_skipped_where_it_is_gone() -> None:
    ran: list[str] = []
    steps = [
        Step("on the cluster", lambda _: ran.append("cluster")),
        Step("beside it", lambda _: ran.append("account"), needs_cluster=False),
    ]
    with cluster_of("eks") as found:
        session = found.teardown.session
        gone = Session(session.workspace, session.tools, None, session.stacks[:1], session.progress)
        run_steps(steps, Teardown(gone, found.teardown.screen))
    assert ran == ["account"]
