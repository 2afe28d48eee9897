"""status, the end of `up` and the end of `down`, on an in-memory API server and an engine that only remembers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from mlcluster.deploy.apply.outputs import outputs_document, outputs_text
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.status.document import look
from mlcluster.deploy.status.runs import NO_RUN, RunState
from mlcluster.deploy.teardown.verification import leftovers, unmanaged
from mlcluster.engine.engine import Engine
from mlcluster.engine.events import Change, Changes
from mlcluster.kube.client import Kube
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from mlcluster.report.status_text import status_text
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import put_node, put_queue, server_with_kueue
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, checked, cluster, planned

pytestmark = pytest.mark.unit
EKS = {"kind": "eks", "region": "us-west-2"}

ONE_NODE = {**SYSTEM, "maxSize": 1}
TEAMS = [{"name": "research", "guarantee": {"system": {"nodes": 1}}}]


@dataclass
class Held:
    """One resource of a state."""

    plan_id: str
    is_child: bool = False


@dataclass
class FakeEngine:
    """A stack that holds these resources, of which some have drifted."""

    held: list[str]
    drifted: Changes = field(default_factory=Changes)
    children: tuple[str, ...] = ()

    def exists(self) -> bool:
        return bool(self.held)

    def resources(self) -> list[Held]:
        return [*map(Held, self.held), *(Held(identifier, is_child=True) for identifier in self.children)]

    def drift(self) -> Changes:
        return self.drifted


@dataclass
class Process:
    """A process of the lab."""

    name: str
    pid: int = 7
    alive: bool = True
    ready: bool = True


@dataclass
class FakeLab:
    """A lab with these processes and these keys left over."""

    processes: tuple[Process, ...] = (Process("kueue"),)
    left: frozenset[str] = frozenset()
    name: str = "atlas"

    def status(self) -> "FakeLab":
        return self

    def leftovers(self) -> frozenset[str]:
        return self.left


def live_on(kube: Kube, lab: FakeLab | None = None) -> LiveCluster:
    return LiveCluster("/tmp/kubeconfig", None, kube, "uid", cast("Any", lab), started=False)  # noqa: S108 - not opened


def status_of(
    plan: Plan, server: FakeApiServer, engine: FakeEngine, lab: FakeLab | None = None, runs: RunState = NO_RUN
) -> dict[str, Any]:
    with server.kube() as kube:
        return look(plan, live_on(kube, lab), [Stack("all", cast("Engine", engine))], Silent(), runs)


def everything(plan: Plan) -> list[str]:
    return sorted(plan.registered)


@pytest.fixture
def plan() -> Plan:
    """Return one simulated node, one team."""
    return planned(ONE_NODE, teams=TEAMS)


@pytest.fixture
def server() -> FakeApiServer:
    """Return a cluster that is ready."""
    made = server_with_kueue()
    put_node(made, "system-0", pool="system")
    put_queue(made, "research", admittedWorkloads=2, pendingWorkloads=3)
    return made


class TestStatus:
    def test_ready(self, plan: Plan, server: FakeApiServer) -> None:
        found = status_of(plan, server, FakeEngine(everything(plan)), FakeLab())
        assert found["state"] == "ready"
        assert found["pools"] == [{"name": "system", "nodes": 1, "readyNodes": 1, "plannedNodes": 1, "ready": True}]
        assert found["components"] == [{"name": "kueue", "version": "0.18.3", "ready": True, "detail": "process 7"}]
        (team,) = found["teams"]
        assert (team["there"], team["planned"], team["ready"], team["detail"]) == (6, 6, True, "")
        assert (team["admitted"], team["pending"]) == (2, 3)
        assert "research" in status_text(found, color=False)

    def test_missing_and_unplanned(self, plan: Plan, server: FakeApiServer) -> None:
        held = [*everything(plan), "Namespace/old"]
        held.remove("LocalQueue/research/default")
        found = status_of(plan, server, FakeEngine(held), FakeLab())
        assert found["state"] == "incomplete"
        assert found["missing"] == ["LocalQueue/research/default"]
        assert found["unplanned"] == ["Namespace/old"]
        (team,) = found["teams"]
        assert (team["there"], team["ready"], team["missing"]) == (5, False, ["LocalQueue/research/default"])

    def test_objects_that_a_component_created_are_not_unplanned(self, plan: Plan, server: FakeApiServer) -> None:
        engine = FakeEngine(everything(plan), children=("cluster-role",))
        assert status_of(plan, server, engine, FakeLab())["state"] == "ready"

    def test_releases_are_planned(self) -> None:
        plan = planned(ONE_NODE, target=EXISTING)
        held = everything(plan)
        assert "Release/kueue" in held
        assert status_of(plan, server_with_kueue(), FakeEngine(held))["unplanned"] == []
        held.remove("Release/kueue")
        assert status_of(plan, server_with_kueue(), FakeEngine(held))["missing"] == ["Release/kueue"]

    def test_a_run_in_progress_is_named_and_the_engine_left_alone(self, plan: Plan, server: FakeApiServer) -> None:
        class BusyEngine(FakeEngine):
            def drift(self) -> Changes:
                pytest.fail("the engine works for another run")

        run = {"command": "mlcluster up a.yaml", "pid": 7, "user": "jo", "host": "desk", "since": "2026-11-22T04:00:00"}
        runs = RunState(run, in_progress=True, reasons=(), unfinished=False)
        found = status_of(plan, server, BusyEngine(["Namespace/research"]), FakeLab(), runs)
        assert (found["state"], found["run"]) == ("inProgress", run)
        text = status_text(found, color=False)
        assert text.startswith("Cluster atlas: in progress\n`mlcluster up a.yaml` is running: pid 7 of jo@desk since ")
        assert "Run `mlcluster up" not in text

    def test_pending_operations_make_a_cluster_incomplete(self, plan: Plan, server: FakeApiServer) -> None:
        runs = RunState(None, in_progress=False, reasons=("creating Namespace/x had not ended",), unfinished=True)
        found = status_of(plan, server, FakeEngine(everything(plan)), FakeLab(), runs)
        assert found["state"] == "incomplete"
        text = status_text(found, color=False, spec="my.yaml")
        assert "creating Namespace/x had not ended" in text
        assert text.endswith("Run `mlcluster up my.yaml`; it continues from what is there.\n")

    def test_a_lab_that_was_stopped_is_absent_and_whole(self, plan: Plan) -> None:
        runs = RunState(None, in_progress=False, reasons=("lab atlas is stopped",), unfinished=False)
        stacks = [Stack("all", cast("Engine", FakeEngine(everything(plan))))]
        found = look(plan, None, stacks, Silent(), runs)
        assert (found["state"], found["missing"]) == ("absent", [])
        assert status_text(found, color=False) == (
            "Cluster atlas: absent\nlab atlas is stopped\nnot running. Run `mlcluster up cluster.yaml`.\n"
        )

    def test_drift(self, plan: Plan, server: FakeApiServer) -> None:
        items = (
            Change("ResourceQuota/research/team", "t", "update", ("__inputs.spec", "spec.hard")),
            Change("LimitRange/research/team", "t", "delete"),
            Change("Node/system-0", "t", "same"),
        )
        found = status_of(plan, server, FakeEngine(everything(plan), Changes(items)), FakeLab())
        assert found["state"] == "drifted"
        assert found["drifted"] == [
            {"id": "ResourceQuota/research/team", "was": "changed", "paths": ["spec.hard"]},
            {"id": "LimitRange/research/team", "was": "deleted", "paths": []},
        ]
        (team,) = found["teams"]
        assert team["drifted"] == ["LimitRange/research/team", "ResourceQuota/research/team"]
        assert (team["there"], team["planned"], team["ready"]) == (5, 6, False)
        assert team["detail"] == "LimitRange/research/team is not there"

    def test_not_ready_with_the_reason(self, plan: Plan) -> None:
        server = server_with_kueue()
        put_node(server, "system-0", ready=False, pool="system")
        put_queue(server, "research", active=False)
        found = status_of(plan, server, FakeEngine(everything(plan)), FakeLab(processes=()))
        assert found["state"] == "notReady"
        assert found["components"][0]["detail"] == "the process does not run"
        assert found["teams"][0]["detail"] == "flavor [train] is missing"
        assert found["pools"][0]["readyNodes"] == 0

    def test_a_process_that_hangs_is_not_ready(self, plan: Plan, server: FakeApiServer) -> None:
        lab = FakeLab(processes=(Process("kueue", ready=False),))
        assert status_of(plan, server, FakeEngine(everything(plan)), lab)["state"] == "notReady"

    def test_a_cluster_that_was_never_created(self, plan: Plan) -> None:
        found = status_of(plan, server_with_kueue(), FakeEngine([]), FakeLab())
        assert found["missing"] == sorted(everything(plan))
        assert found["teams"][0]["detail"] == "it is not there"
        assert found["state"] == "absent"

    def test_kueue_of_an_existing_cluster_is_a_deployment(self) -> None:
        plan = planned(ONE_NODE, target=EXISTING)
        server = server_with_kueue()
        assert "is not there" in status_of(plan, server, FakeEngine([]))["components"][0]["detail"]
        told = {"type": "Available", "status": "True", "message": "has minimum availability"}
        metadata = {"name": "kueue-controller-manager", "namespace": "kueue-system"}
        server.put({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "status": {"conditions": [told]},
        })  # fmt: skip
        (component,) = status_of(plan, server, FakeEngine([]))["components"]
        assert (component["ready"], component["detail"]) == (True, "has minimum availability")

    @pytest.mark.parametrize(
        ("available", "nodes", "ready", "detail"),
        [
            ("True", 3, True, ""),
            ("False", 3, False, "Deployment ca not ready"),
            ("True", 2, False, "DaemonSet ca not ready"),
        ],
    )
    def test_other_charts_are_recognized_by_their_workloads(
        self, available: str, nodes: int, ready: bool, detail: str
    ) -> None:
        plan = planned(SYSTEM, target=EKS)
        server = server_with_kueue()
        labels = {"app.kubernetes.io/instance": "cluster-autoscaler"}
        metadata = {"name": "ca", "namespace": "kube-system", "labels": labels}
        server.put({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "status": {"conditions": [{"type": "Available", "status": available}]},
        })  # fmt: skip
        server.put({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
            "status": {"desiredNumberScheduled": 3, "numberReady": nodes},
        })  # fmt: skip
        found = {part["name"]: part for part in status_of(plan, server, FakeEngine(everything(plan)))["components"]}
        assert (found["cluster-autoscaler"]["ready"], found["cluster-autoscaler"]["detail"]) == (ready, detail)

    def test_changes_of_an_autoscaler_are_no_drift(self) -> None:
        plan = planned(SYSTEM, target=EKS)
        size = Change("NodeGroup/system", "aws:eks/nodeGroup:NodeGroup", "update", ("scalingConfig.desiredSize",))
        label = Change("NodeGroup/system", "aws:eks/nodeGroup:NodeGroup", "update", (*size.paths, "labels.x"))
        for change, told in ((size, []), (label, ["NodeGroup/system"])):
            engine = FakeEngine(everything(plan), Changes((change,)))
            assert [one["id"] for one in status_of(plan, server_with_kueue(), engine)["drifted"]] == told

    def test_a_chart_of_which_nothing_runs(self) -> None:
        plan = planned(SYSTEM, target=EKS)
        found = status_of(plan, server_with_kueue(), FakeEngine(everything(plan)))["components"]
        told = {one["name"]: (one["ready"], one["detail"]) for one in found}
        assert told["cluster-autoscaler"] == (False, "Release/cluster-autoscaler is not there")

    @pytest.mark.parametrize(
        ("sharing", "releases"),
        [
            ([{"timeSlicing": {"replicas": 4}}], ["nvidia-device-plugin-slices-4"]),
            ([{"timeSlicing": {"replicas": 4}}, {}], ["nvidia-device-plugin", "nvidia-device-plugin-slices-4"]),
        ],
    )
    def test_a_component_is_ready_when_each_of_its_releases_is(self, sharing: list[Data], releases: list[str]) -> None:
        """With time slices everywhere no release is called like the component."""
        pools = [{**TRAIN, "name": f"gpu{index}", "gpu": how} for index, how in enumerate(sharing)]
        plan = planned(SYSTEM, *pools, target=EXISTING, components={"nvidiaDevicePlugin": {}})
        for missing in [*releases, ""]:
            server = server_with_kueue()
            for name in releases:
                labels = {"app.kubernetes.io/instance": name}
                metadata = {"name": name, "namespace": "kube-system", "labels": labels}
                if name != missing:
                    server.put({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata})
            found = {one["name"]: one for one in status_of(plan, server, FakeEngine(everything(plan)))["components"]}
            told = found["nvidia-device-plugin"]
            expected = f"Release/{missing} is not there" if missing else ""
            assert (told["ready"], told["detail"]) == (not missing, expected)

    def test_a_component_whose_objects_are_missing_is_not_ready(self) -> None:
        pool = {**TRAIN, "network": {"rdma": {"rdma/hca": 8}}}
        plan = planned(SYSTEM, pool, target=LOCAL, components={"rdmaDevicePlugin": {}})
        server = server_with_kueue()
        found = {one["name"]: one for one in status_of(plan, server, FakeEngine(everything(plan)))["components"]}
        told = found["rdma-shared-device-plugin"]
        assert (told["ready"], told["detail"]) == (False, "DaemonSet/kube-system/rdma-shared-dp-train is not there")

    def test_a_deleted_object_is_reported_with_its_component(self) -> None:
        pool = {**TRAIN, "network": {"rdma": {"rdma/hca": 8}}}
        plan = planned(SYSTEM, pool, target=LOCAL, components={"rdmaDevicePlugin": {}})
        server = server_with_kueue()
        for entry in plan.objects:
            if entry.manifest["apiVersion"] == "apps/v1":
                server.put(entry.manifest)
        gone = "ConfigMap/kube-system/rdma-devices-train"
        engine = FakeEngine(everything(plan), Changes((Change(gone, "t", "delete"),)))
        found = {one["name"]: one for one in status_of(plan, server, engine)["components"]}
        assert found["rdma-shared-device-plugin"]["detail"] == f"{gone} is not there"

    def test_a_simulated_component_is_shown_as_simulated(self) -> None:
        plan = planned(SYSTEM, TRAIN, target=LOCAL, components={"gpuOperator": {}})
        server = server_with_kueue()
        for entry in plan.objects:
            if entry.manifest["apiVersion"] == "apps/v1":
                server.put({**entry.manifest, "status": {"conditions": [{"type": "Available", "status": "True"}]}})
        found = {one["name"]: one for one in status_of(plan, server, FakeEngine(everything(plan)))["components"]}
        assert (found["gpu-operator"]["ready"], found["gpu-operator"]["detail"]) == (True, "simulated")


class TestLeftovers:
    def left(self, plan: Plan, server: FakeApiServer, lab: FakeLab | None = None) -> list[str]:
        with server.kube() as kube:
            return leftovers(plan, live_on(kube, lab))

    def test_unplanned_objects_with_managed_labels_are_listed(self, plan: Plan, server: FakeApiServer) -> None:
        put_node(server, "train-0", cluster="other")
        assert self.left(plan, server) == ["ClusterQueue/research", "Node/system-0"]

    def test_nothing_is_left(self, plan: Plan) -> None:
        assert self.left(plan, server_with_kueue(), FakeLab()) == []

    def test_kinds_that_went_with_kueue_are_no_error(self, plan: Plan) -> None:
        assert self.left(plan, FakeApiServer()) == []

    def test_objects_of_users_in_a_lab_are_not_leftovers(self, plan: Plan) -> None:
        lab = FakeLab(left=frozenset({"/registry/b", "/registry/a"}))
        server = server_with_kueue()
        assert self.left(plan, server, lab) == []
        with server.kube() as kube:
            assert unmanaged(live_on(kube, lab)) == ["/registry/a", "/registry/b"]
            assert unmanaged(live_on(kube)) == []


class TestOutputs:
    def workspace(self, teams: int) -> Workspace:
        data = cluster(SYSTEM, teams=[{"name": f"t{index}", "borrow": "all"} for index in range(teams)])
        plan = planned(*data["nodePools"], teams=data["teams"])
        return Workspace(Path("cluster.yaml"), checked(data), cast("Any", None), plan, ())

    def test_as_data(self) -> None:
        with FakeApiServer().kube() as kube:
            found = outputs_document(self.workspace(1), live_on(kube), 1)
        assert (found["cluster"], found["changed"], found["context"]) == ("atlas", 1, None)
        assert found["queues"] == [
            {"team": "t0", "namespace": "t0", "localQueue": "default", "clusterQueue": "t0"},
        ]

    def test_as_text(self) -> None:
        with FakeApiServer().kube() as kube:
            existing = outputs_text(self.workspace(10), live_on(kube))
            lab = outputs_text(self.workspace(0), live_on(kube, FakeLab()))
        assert existing.startswith("atlas is up.")
        assert existing.count("  queue        default in namespace") == 8
        assert "... and 2 more teams" in existing
        assert "  kubectl get nodes" in existing
        assert "mlcluster lab kubectl --name atlas -- get nodes" in lab
        assert "more teams" not in lab
