"""`down` on `eks`: the order, what stops it, what is kept, and what it says. Stacks that only remember, no account."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.session import Session
from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.tools import Tools
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.teardown.account_search import Search
from mlcluster.deploy.teardown.eks import Kept, down_eks, kept_by, take_down, vpc_of
from mlcluster.deploy.teardown.teardown import TeardownOptions
from mlcluster.engine.engine import Engine
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.plan import names
from mlcluster.plan.objects import KUEUE_API
from mlcluster.report.screen import Screen
from tests.fakes.api_server import Call, FakeApiServer
from tests.fakes.kueue import put_pod, put_queue, server_with_kueue
from tests.fakes.remembering import CONTROL_PLANE, RememberingEngine, held, workspace_of
from tests.specs import LOCAL

pytestmark = pytest.mark.unit

DATA, VPC = "FileSystem/data", "Vpc/atlas"
TEAMS = [{"name": "research", "guarantee": {"system": {"nodes": 1}}}]
EVERYTHING_IN_ORDER = [
    "PATCH research",  # the queue is held before anything goes
    "DELETE web",  # load balancers while their controller runs
    "platform: destroy",
    "platform: remove",
    "DELETE scratch",  # volumes while their driver runs
    "DELETE mlcluster-owner",
    "AWS: destroy",
    "AWS: remove",
    "search",
]


class Noted(list[Call]):
    """What an API server is asked; deletions and patches are noted in the log of the stacks too.

    Args:
        then: what a controller does about a deletion: "DELETE name" -> that.
    """

    def __init__(self, log: list[str], then: Mapping[str, Callable[[], object]]) -> None:
        super().__init__()
        self._log, self._then = log, then

    def append(self, call: Call) -> None:
        super().append(call)
        if call.method in {"DELETE", "PATCH"}:
            told = f"{call.method} {call.path.rpartition('/')[2]}"
            self._log.append(told)
            self._then.get(told, lambda: None)()


@dataclass
class Scene:
    """A cluster that is up, and everything that happens to it.

    Attributes:
        log: in order: operations of the stacks, deletions and patches in the cluster, the search.
        result: what the search finds.
        searched: what it was asked for: (ID of the VPC, IDs that are kept).
    """

    workspace: Workspace
    live: LiveCluster | None
    log: list[str]
    result: Search = field(default_factory=lambda: Search((), "Nothing left.", {"searched": True}))
    searched: list[tuple[str | None, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        resources = [held(VPC, "vpc-0a"), CONTROL_PLANE, held(DATA, "fs-1"), held("Subnet/public-a", "subnet-1")]
        self.cloud = RememberingEngine("AWS", self.log, resources, {"deletionProtection": False})
        platform = [held("ClusterQueue/research"), held("Namespace/research")]
        self.platform = RememberingEngine("platform", self.log, platform)
        self.root.mkdir(parents=True)
        home_of(self.workspace).record(StackSettings("uid", "builtin", "eks", "atlas"))

    @property
    def root(self) -> Path:
        return home_of(self.workspace).root

    def without_control_plane(self) -> None:
        """As an interrupted `down` leaves it: the network is still there."""
        self.live = None
        self.cloud.held.remove(CONTROL_PLANE)

    def down(self, *named: str, yes: bool = True, plan: bool = False, output: str = "text") -> ExitCode:
        stacks = [self.cloud.stack, *([self.platform.stack] if self.live else [])]
        screen = Screen(output, color=False)
        session = Session(self.workspace, Tools(Path("pulumi"), None), self.live, stacks, screen.progress)
        options = TeardownOptions(yes, plan, named)
        return take_down(session, cast("Engine", self.platform), options, screen, looked=self.look)

    def look(self, _workspace: Workspace, vpc_id: str | None, kept: list[str], _screen: Screen) -> Search:
        self.log.append("search")
        self.searched.append((vpc_id, kept))
        return self.result


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    """A team, and a file system that `down` keeps."""
    return workspace_of(teams=TEAMS, storage={"volumes": [{"name": "data", "kind": "efs"}]})


@pytest.fixture(autouse=True)
def _no_backend_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLCLUSTER_BACKEND_URL", raising=False)


@pytest.fixture
def server() -> FakeApiServer:
    """A cluster with a queue, a service with a load balancer, and a volume with its claim."""
    made = server_with_kueue()
    made._kinds["v1", "persistentvolumes"] = ("PersistentVolume", False)
    put_queue(made, "research")
    made.put({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "LoadBalancer"},
    })  # fmt: skip
    made.put({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pvc-1"},
        "spec": {
            "persistentVolumeReclaimPolicy": "Delete", "claimRef": {"name": "scratch", "namespace": "default"},
        },
    })  # fmt: skip
    return made


@pytest.fixture
def scene(workspace: Workspace, server: FakeApiServer) -> Iterator[Scene]:
    """The cluster is ours, and its driver deletes volumes at once."""
    log: list[str] = []
    with server.kube() as kube:
        owner.claim(kube, "atlas", home_of(workspace))
        server.calls = Noted(log, {"DELETE scratch": lambda: server.objects.pop(("", "PersistentVolume", "", "pvc-1"))})
        yield Scene(workspace, LiveCluster("kubeconfig", None, kube, "uid", None, started=False), log)


def result_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The last line of a run with `-o jsonl`."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


class TestOrder:
    def test_everything_goes_and_nothing_is_left(self, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
        assert scene.down() is ExitCode.OK
        assert scene.log == EVERYTHING_IN_ORDER
        assert scene.searched == [("vpc-0a", ["fs-1"])]
        assert not scene.root.exists()
        assert capsys.readouterr().out == "atlas is down. Kept: fs-1. Nothing left.\n"

    def test_volumes_are_waited_for_only_after_the_platform(self, scene: Scene, server: FakeApiServer) -> None:
        """The driver is part of AWS's add-ons; the pods that use a volume go with the platform."""
        scene.down()
        assert scene.log.index("platform: remove") < scene.log.index("DELETE scratch") < scene.log.index("AWS: destroy")
        assert server.get("ConfigMap", "mlcluster-owner", "kube-system") is None

    def test_without_control_plane_the_platform_is_forgotten(self, scene: Scene) -> None:
        """A cluster that is gone took its objects along: there is nobody to delete them from."""
        scene.without_control_plane()
        assert scene.down() is ExitCode.OK
        assert scene.log == ["AWS: destroy", "AWS: remove", "platform: abandon", "search"]
        assert not scene.root.exists()

    def test_a_cluster_that_never_came_up(self, scene: Scene) -> None:
        """`up` recorded its settings and failed before the first resource."""
        scene.without_control_plane()
        scene.cloud.there = scene.platform.there = False
        assert scene.down(DATA) is ExitCode.OK
        assert scene.log == ["search"]
        assert scene.searched == [(None, [])]
        assert not scene.root.exists()

    def test_a_cluster_of_which_this_machine_knows_nothing(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its state may be lost, so the account is searched all the same."""
        found = Search(("vpc-1",), "VPC vpc-1", {"searched": True})
        monkeypatch.setattr("mlcluster.deploy.teardown.eks.search", lambda *_: found)
        with pytest.raises(MlclusterError, match="1 resource is left in the account"):
            down_eks(workspace, TeardownOptions(yes=True), Screen("jsonl", color=False))
        assert result_of(capsys)["left"] == ["vpc-1"]

    def test_a_step_that_fails_stops_the_rest(self, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
        scene.cloud.fails = MlclusterError("taking the cluster down", "DependencyViolation")
        with pytest.raises(MlclusterError, match="DependencyViolation"):
            scene.down()
        assert scene.log == EVERYTHING_IN_ORDER[:-2]
        assert scene.root.exists()
        assert capsys.readouterr().out == ""

    def test_it_is_run_again_after_it_failed(self, scene: Scene) -> None:
        scene.cloud.fails = MlclusterError("taking the cluster down", "DependencyViolation")
        with pytest.raises(MlclusterError):
            scene.down()
        scene.cloud.fails, scene.live = None, None
        scene.log.clear()
        assert scene.down() is ExitCode.OK
        assert scene.log == ["AWS: destroy", "AWS: remove", "search"]


class TestAgreement:
    def test_plan_only_shows(self, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
        scene.cloud.told = {"deletionProtection": True}
        assert scene.down(plan=True, yes=False, output="jsonl") is ExitCode.OK
        assert scene.log == []
        found = result_of(capsys)
        assert (found["kind"], found["kept"]) == ("DownPlan", [DATA])

    def test_what_goes_and_what_lives_in_it_is_said(
        self, scene: Scene, server: FakeApiServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        put_pod(server, "trainer", "research")
        scene.down(plan=True)
        said = capsys.readouterr().err.splitlines()
        assert said[:4] == [
            "platform: 2 to delete",
            "  - Namespace/research with 1 pods (trainer)",
            "AWS: 4 to delete",
            "  kept: FileSystem/data (fs-1); --delete-retained FileSystem/data deletes it too",
        ]

    def test_unplanned_objects_are_shown_first_and_deleted_only_then(
        self, scene: Scene, server: FakeApiServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scene.workspace = workspace_of(teams=TEAMS, target={"kubernetesProvider": "official"})
        written = [{"manager": "pulumi-kubernetes"}]
        for version, kind, name in ((KUEUE_API, "WorkloadPriorityClass", "old"), ("v1", "Namespace", "stale")):
            metadata = {"name": name, "labels": names.owned("atlas"), "managedFields": written}
            server.put({"apiVersion": version, "kind": kind, "metadata": metadata})
        scene.down(plan=True)
        said = capsys.readouterr().err
        assert "  - WorkloadPriorityClass old\n" in said
        assert "  left: Namespace stale: " in said
        assert scene.log == []
        scene.down()
        assert "DELETE old" in scene.log
        assert "DELETE stale" not in scene.log

    def test_deletion_protection_is_lifted_by_hand(self, scene: Scene) -> None:
        scene.cloud.told = {"deletionProtection": True}
        with pytest.raises(MlclusterError, match="protected against deletion") as caught:
            scene.down()
        assert "target.deletionProtection: false" in caught.value.hint
        assert scene.log == []

    def test_a_control_plane_that_is_gone_is_not_protected(self, scene: Scene) -> None:
        scene.cloud.told = {"deletionProtection": True}
        scene.without_control_plane()
        assert scene.down() is ExitCode.OK

    @pytest.mark.parametrize("outputs", [{}, {"deletionProtection": False}])
    def test_an_unprotected_cluster_is_deleted(self, scene: Scene, outputs: dict[str, Any]) -> None:
        scene.cloud.told = outputs
        assert scene.down() is ExitCode.OK
        assert not scene.root.exists()

    def test_without_a_terminal_yes_is_needed(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("atlas\n"))
        with pytest.raises(MlclusterError, match="no terminal"):
            scene.down(yes=False)
        assert scene.log == []

    @pytest.mark.parametrize(("typed", "gone"), [("atlas", True), ("n", False), ("", False)])
    def test_the_name_is_typed(self, typed: str, gone: bool, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = io.StringIO(f"{typed}\n")
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr("sys.stdin", terminal)
        assert scene.down(yes=False) is (ExitCode.OK if gone else ExitCode.DECLINED)
        assert bool(scene.log) is gone
        assert scene.root.exists() is not gone


class TestKept:
    def test_what_is_named_goes_too(self, scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
        assert scene.down(DATA, output="jsonl") is ExitCode.OK
        assert "AWS: stop retaining FileSystem/data" in scene.log
        assert scene.log.index("AWS: stop retaining FileSystem/data") < scene.log.index("AWS: destroy")
        assert scene.searched == [("vpc-0a", [])]
        found = result_of(capsys)
        assert (found["left"], found["kept"], found["searched"]) == ([], [], True)

    @pytest.mark.parametrize("named", ["FileSystem/date", "data", "fs-1"])
    def test_a_name_that_nothing_has_is_refused_before_anything_goes(self, named: str, scene: Scene) -> None:
        with pytest.raises(MlclusterError, match=f"there is no {named} to delete") as caught:
            scene.down(named)
        assert DATA in caught.value.hint
        assert scene.log == []

    def test_a_volume_that_left_the_spec_can_be_named(self, workspace: Workspace) -> None:
        """The state still keeps it; the plan does not know it any more."""
        engine = RememberingEngine("AWS", [], [held("FileSystem/old", "fs-0"), held(DATA, "fs-1")])
        assert kept_by(workspace, engine.stack, ("FileSystem/old",)) == [Kept(DATA, "fs-1")]

    def test_what_is_not_there_is_not_kept(self, workspace: Workspace) -> None:
        assert kept_by(workspace, RememberingEngine("AWS", [], [held(VPC)]).stack, ()) == []
        assert kept_by(workspace, RememberingEngine("AWS", [], [held(DATA)], there=False).stack, ()) == []


class TestVpc:
    def test_ours_by_its_id(self, workspace: Workspace) -> None:
        engine = RememberingEngine("AWS", [], [held("Subnet/a"), held(VPC, "vpc-0a")])
        assert vpc_of(workspace, engine.stack) == "vpc-0a"
        engine.there = False
        assert vpc_of(workspace, engine.stack) is None
        assert vpc_of(workspace, RememberingEngine("AWS", [], [held("Subnet/a")]).stack) is None

    def test_the_specs_own_is_not_ours(self) -> None:
        network = {"vpcId": "vpc-0b1", "privateSubnets": {"us-west-2a": "subnet-0a1", "us-west-2b": "subnet-0b1"}}
        engine = RememberingEngine("AWS", [], [held(VPC, "vpc-0a")])
        assert vpc_of(workspace_of(target={"network": network}), engine.stack) is None

    def test_other_targets_have_none(self) -> None:
        engine = RememberingEngine("AWS", [], [held(VPC, "vpc-0a")])
        assert vpc_of(workspace_of(target=LOCAL), engine.stack) is None


def test_what_is_left_is_an_error_and_the_stack_is_remembered(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.result = Search(("vol-0a", "eni-0b"), "2 things are left", {"searched": True, "leftovers": {}})
    with pytest.raises(MlclusterError, match="2 resources are left in the account"):
        scene.down(output="jsonl")
    assert result_of(capsys)["left"] == ["vol-0a", "eni-0b"]
    assert scene.root.exists()


def test_an_account_that_was_not_searched_is_said(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.result = Search((), "The account was not searched.", {"searched": False})
    assert scene.down() is ExitCode.OK
    assert capsys.readouterr().out.endswith("The account was not searched.\n")
