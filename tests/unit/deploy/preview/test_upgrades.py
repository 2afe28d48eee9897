"""Which version steps EKS takes, what has to be true of the nodes before one, and when support ends."""

from datetime import date, timedelta
from typing import Any

import pytest

from mlcluster.catalog.eks import eks_version
from mlcluster.deploy.preview.upgrades import path_between, version_findings
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.findings import Finding, Severity
from mlcluster.plan import names
from mlcluster.rules.allowances import with_reasons
from tests.fakes.api_server import FakeApiServer
from tests.fakes.remembering import workspace_of
from tests.specs import SYSTEM

pytestmark = pytest.mark.unit

LONG_AGO = date(2020, 1, 1)
BLOCK = {
    "name": "train", "instanceType": "p5.48xlarge", "maxSize": 2, "zones": ["us-west-2b"],
    "capacity": {"type": "capacityBlock", "reservationId": "cr-0a1b2c3d", "endsAt": "2026-12-24T11:30:00Z"},
}  # fmt: skip


def reading_for(version: str, *pools: dict[str, Any], **rest: Any) -> Workspace:
    return workspace_of({**SYSTEM, "minSize": 2}, *pools, target={"kubernetesVersion": version}, **rest)


def found_by(
    workspace: Workspace, running: str = "", server: FakeApiServer | None = None, today: date = LONG_AGO
) -> tuple[Finding, ...]:
    outputs = {"kubernetesVersion": running} if running else {}
    if server is None:
        return version_findings(workspace, outputs, None, today)
    with server.kube() as kube:
        live = LiveCluster("kubeconfig", None, kube, "uid", None, started=False)
        return version_findings(workspace, outputs, live, today)


def put_node(server: FakeApiServer, name: str, kubelet: str | None, pool: str = "system") -> None:
    info = {} if kubelet is None else {"nodeInfo": {"kubeletVersion": kubelet}}
    metadata = {"name": name, "labels": {names.POOL: pool}}
    server.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": info})


class TestSteps:
    @pytest.mark.parametrize("running", ["", "1.33", "1.34"])
    def test_one_minor_or_none_is_fine(self, running: str) -> None:
        assert found_by(reading_for("1.34"), running) == ()

    @pytest.mark.parametrize(
        ("running", "wanted", "steps"),
        [("1.33", "1.35", "1.34, then 1.35"), ("1.33", "1.36", "1.34, then 1.35, then 1.36")],
    )
    def test_a_jump_is_refused_with_the_way(self, running: str, wanted: str, steps: str) -> None:
        (found,) = found_by(reading_for(wanted), running)
        assert (found.id, found.severity, found.blocks) == ("VER001", Severity.ERROR, True)
        assert found.place == ("target", "kubernetesVersion")
        assert found.message.startswith(f"from {running} to {wanted} are ")
        assert found.hint == f"run `mlcluster up` with {steps}"

    def test_eks_never_goes_back(self) -> None:
        (found,) = found_by(reading_for("1.34"), "1.35")
        assert found.id == "VER001"
        assert "does not downgrade to 1.34" in found.message
        assert found.hint == 'set kubernetesVersion: "1.35"'

    def test_what_the_spec_allows_blocks_no_more(self) -> None:
        workspace = reading_for("1.35", allow=[{"id": "VER001", "reason": "EKS went ahead by itself"}])
        (found,) = with_reasons(found_by(workspace, "1.33"), workspace.spec)
        assert (found.allowed, found.blocks) == ("EKS went ahead by itself", False)

    def test_the_way(self) -> None:
        assert path_between("1.32", "1.34") == ["1.33", "1.34"]
        assert path_between("1.34", "1.34") == path_between("1.35", "1.34") == []
        assert path_between("v1.9.3-eks-1a2b", "1.11+") == ["1.10", "1.11"]


class TestOldKubelets:
    @pytest.fixture
    def server(self) -> FakeApiServer:
        """A cluster with one node that is new, and one that has not told its version yet."""
        made = FakeApiServer()
        put_node(made, "new", "v1.35.2-eks-1a2b3c4")
        put_node(made, "booting", None)
        made.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}})
        return made

    def test_three_minors_behind_is_fine(self, server: FakeApiServer) -> None:
        put_node(server, "old", "v1.33.9-eks-1a2b3c4")
        assert found_by(reading_for("1.36"), "1.35", server) == ()

    def test_four_are_too_many(self, server: FakeApiServer) -> None:
        put_node(server, "old", "v1.32.9-eks-1a2b3c4")
        (found,) = found_by(reading_for("1.36"), "1.35", server)
        assert (found.id, found.hint) == ("VER001", "replace that node first")
        assert found.message == "a node runs Kubernetes 1.32, too old for a control plane of 1.36"

    @pytest.mark.parametrize("running", ["", "1.36"])
    def test_without_a_step_nodes_are_not_asked(self, running: str, server: FakeApiServer) -> None:
        put_node(server, "old", "v1.30.1")
        assert found_by(reading_for("1.36"), running, server) == ()
        assert not [call for call in server.calls if call.path.endswith("/nodes")]

    def test_before_there_are_nodes(self) -> None:
        assert found_by(reading_for("1.36"), "1.35", FakeApiServer()) == ()


class TestSupport:
    def test_it_ends_after_its_last_day(self) -> None:
        pins = eks_version("1.34")
        assert pins is not None
        last = date.fromisoformat(pins.standard_support_ends)
        assert found_by(reading_for("1.34"), today=last) == ()
        (found,) = found_by(reading_for("1.34"), today=last + timedelta(days=1))
        assert (found.id, found.severity, found.blocks) == ("VER002", Severity.WARNING, False)
        assert f"ended on {last}" in found.message

    def test_it_is_told_beside_the_step(self) -> None:
        found = found_by(reading_for("1.35"), "1.33", today=date(2100, 1, 1))
        assert [one.id for one in found] == ["VER002", "VER001"]


class TestCapacityBlocks:
    def test_nodes_of_a_block_stop_the_step(self) -> None:
        server = FakeApiServer()
        put_node(server, "block-0", "v1.34.1", pool="train")
        put_node(server, "block-1", "v1.34.1", pool="train")
        put_node(server, "system-0", "v1.34.1")
        (found,) = found_by(reading_for("1.35", BLOCK), "1.34", server)
        assert (found.id, found.severity) == ("VER003", Severity.ERROR)
        assert found.place == ("nodePools", 1, "capacity")
        assert found.message.startswith("pool train has 2 nodes of a capacity block")

    def test_without_nodes_of_the_block_the_step_is_fine(self) -> None:
        server = FakeApiServer()
        put_node(server, "system-0", "v1.34.1")
        assert found_by(reading_for("1.35", BLOCK), "1.34", server) == ()

    def test_without_a_step_the_block_is_let_be(self) -> None:
        server = FakeApiServer()
        put_node(server, "block-0", "v1.34.1", pool="train")
        assert found_by(reading_for("1.34", BLOCK), "1.34", server) == ()
