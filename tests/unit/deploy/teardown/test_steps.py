"""The steps of `down`: each can be repeated, and an interrupted run continues from the first one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from mlcluster.deploy.node_labels import put_marks
from mlcluster.deploy.ownership.unplanned import Unplanned
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.teardown.steps import STEPS, Step, run_steps
from mlcluster.deploy.teardown.teardown import Teardown
from mlcluster.engine.identity import Identity
from mlcluster.progress import Silent
from mlcluster.report.screen import Screen
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installed import put, put_team, serve
from tests.fakes.kueue import put_queue, server_with_kueue
from tests.fakes.remembering import CONTROL_PLANE, RememberingEngine, held, workspace_of
from tests.specs import EXISTING, LOCAL, SHAPE, Data
from tests.unit.deploy.teardown.test_eks import Noted

pytestmark = pytest.mark.unit

TARGETS: dict[str, Data] = {"existing": EXISTING, "local": LOCAL, "eks": {}}
NODES: Data = {**SHAPE, "labels": {"ml-purpose": "training"}, "applyToNodes": {"labels": True}}
TEAMS = [{"name": "research"}]
RELEASE = replace(held("Release/jobset"), identity=Identity("Release", "jobset", "jobset-system"))
NOTHING = '{"namespace": "jobset-system", "definitions": [], "nodeLabels": []}'
STRAY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray", "namespace": "default"}}
DATA = "FileSystem/data"
READS = {
    "add objects that the state misses to the state",  # only with the official provider
    "recover stacks that a killed run left locked",
    "list the Helm releases to uninstall",
    "forget the platform",  # only where the cluster was gone before
}
"""Steps that change nothing in these clusters."""


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
    """A cluster with its stacks, and something for each step to delete.

    Attributes:
        log: operations of the stacks and of the lab, in order.
    """

    session: Session
    server: FakeApiServer
    log: list[str]

    def teardown(self) -> Teardown:
        """What a new `down` begins with."""
        stray = self.server.get("ConfigMap", "stray", "default")
        state = self.session.platform.engine if self.session.is_eks else None
        screen = Screen("text", color=False)
        return Teardown(self.session, screen, Unplanned((stray,) if stray else ()), (DATA,), platform_state=state)

    @property
    def state(self) -> str:
        """What a user still finds: objects in the cluster, stacks, and how often a stack was worked on."""
        # A real API server keeps the version of an object that a patch does not change; the fake counts it.
        # `stop_retaining` edits the state of a stack, and edits nothing the second time.
        retained = [line for line in self.log if "stop retaining" in line][:1]
        log = [line for line in self.log if "stop retaining" not in line] + retained
        objects = sorted(
            str({**entry, "metadata": {**entry["metadata"], "resourceVersion": "", "managedFields": []}})
            for entry in self.server.objects.values()
        )
        return str((objects, [stack.engine.exists() for stack in self.session.stacks], log))


@contextmanager
def cluster_of(target: str) -> Iterator[Cluster]:
    pools = (NODES,) if target == "existing" else ()
    workspace = workspace_of(*pools, teams=TEAMS, target=TARGETS[target])
    log: list[str] = []
    server = server_with_kueue()
    _fill(server, log)
    platform = RememberingEngine("platform", log, [held("ClusterQueue/research"), RELEASE])
    nodes = {
        "eks": [RememberingEngine("AWS", log, [CONTROL_PLANE, held(DATA)])],
        "local": [RememberingEngine("nodes", log, [held("Node/system-0")])],
    }
    engines = [*nodes.get(target, []), platform]
    with server.kube() as kube:
        owner.claim(kube, "atlas", home_of(workspace))
        if target == "existing":
            put_marks(workspace, kube, Silent())
        lab = cast("Any", Lab(log)) if target == "local" else None
        live = LiveCluster("kubeconfig", None, kube, "uid", lab, started=False)
        stacks = [engine.stack for engine in engines]
        yield Cluster(Session(workspace, Tools(Path("pulumi"), None), live, stacks, Silent()), server, log)


def _fill(server: FakeApiServer, log: list[str]) -> None:
    """Put a team, a queue, a node, residue of a chart, a stray object, a volume and a load balancer on the server."""
    server._kinds["v1", "persistentvolumes"] = ("PersistentVolume", False)
    put_team(server, "research")
    put_queue(server, "research")
    put(server, "v1", "Node", "own-0", labels={"example.com/pool": "own"}, spec={})
    put(server, "v1", "ConfigMap", "mlcluster-found", namespace="kube-system", data={"jobset": NOTHING})
    serve(server, "jobset.x-k8s.io/v1alpha2/JobSet", "jobsets")
    server.put(STRAY)
    put(server, "v1", "Service", "web", namespace="default", spec={"type": "LoadBalancer"})
    claim = {"name": "scratch", "namespace": "default"}
    spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": claim}
    put(server, "v1", "PersistentVolume", "pvc-1", spec=spec)
    put(server, "v1", "PersistentVolumeClaim", "scratch", namespace="default")
    volume = ("", "PersistentVolume", "", "pvc-1")
    server.calls = Noted([], {"DELETE scratch": lambda: server.objects.pop(volume, None)})


@pytest.mark.parametrize("target", TARGETS)
def test_each_step_deletes_something_once(target: str) -> None:
    """Twice in a row, each step changes the cluster or its stacks the first time only."""
    with cluster_of(target) as found:
        teardown = found.teardown()
        for step in STEPS[target]:
            before = found.state
            run_steps([step], teardown)
            after = found.state
            assert (before != after) is (step.title not in READS), step.title
            run_steps([step], teardown)
            assert found.state == after, step.title
        assert found.server.get("ConfigMap", "mlcluster-owner", "kube-system") is None


@pytest.mark.parametrize("target", TARGETS)
def test_a_teardown_that_was_interrupted_after_any_step_ends_the_same(target: str) -> None:
    """The next `down` begins anew: it knows nothing of the one that was interrupted."""
    with cluster_of(target) as whole:
        run_steps(STEPS[target], whole.teardown())
        run_steps(STEPS[target], whole.teardown())
    for done in range(1, len(STEPS[target])):
        with cluster_of(target) as found:
            run_steps(STEPS[target][:done], found.teardown())
            run_steps(STEPS[target], found.teardown())
            assert found.state == whole.state, STEPS[target][done - 1].title


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
        session = found.session
        gone = Session(session.workspace, session.tools, None, session.stacks[:1], session.progress)
        run_steps(steps, Teardown(gone, Screen("text", color=False)))
    assert ran == ["account"]
