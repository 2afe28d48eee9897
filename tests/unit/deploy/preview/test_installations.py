"""The look at a cluster in the verbs: what is shown, what stops, what is asked."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mlcluster.catalog.components import pin
from mlcluster.commands.plan import plan
from mlcluster.deploy.preview.findings import report_findings
from mlcluster.deploy.preview.installations import deployed_in, discovered, show
from mlcluster.deploy.preview.upgrades import by_hand, component_findings, component_steps, show_steps
from mlcluster.deploy.session.prompts import agreed_to_steps
from mlcluster.deploy.session.stack import PLATFORM, home_of, project_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.report.installed_text import installed_document, installed_text, upgrades_document, upgrades_text
from mlcluster.report.screen import Screen
from mlcluster.rules.cluster_facts import Seen
from mlcluster.rules.installed import Discovery
from mlcluster.rules.upgrades import Deployed
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installations import helm_record, workload
from tests.fakes.remembering import workspace_of
from tests.specs import EXISTING, SYSTEM, cluster

pytestmark = pytest.mark.unit
ADOPTS: dict[str, Any] = {"kueue": {"install": False}}
KUEUE = ("kueue", "kueue-system", "kueue")


def existing(**rest: Any) -> Workspace:
    """A spec for a cluster that somebody else made; a pool has the selector that such a target wants."""
    return workspace_of({**SYSTEM, "selector": {"role": "cpu"}}, target=EXISTING, **rest)


def looked(workspace: Workspace, *objects: dict[str, Any], deployed: Iterable[Deployed] = ()) -> Discovery:
    server = FakeApiServer()
    for entry in objects:
        server.put(entry)
    with server.kube() as kube:
        return discovered(workspace, kube, deployed)


class TestRefusal:
    def test_it_names_the_owner_the_way_out_and_the_allow(self) -> None:
        made = looked(existing(), helm_record(*KUEUE, "0.18.3"))
        with pytest.raises(MlclusterError) as caught:
            report_findings(existing(), made.findings, Screen("text", color=False))
        assert "EXI001: Kueue 0.18.3 is already installed" in caught.value.happened
        assert "created by Helm release kueue-system/kueue" in caught.value.happened
        assert "components.kueue.install: false" in caught.value.hint
        assert "allow: [{id: EXI001" in caught.value.hint

    def test_every_further_one_is_told_before(self, capsys: pytest.CaptureFixture[str]) -> None:
        workspace = existing(components={"jobSet": {}})
        made = looked(
            workspace, helm_record(*KUEUE, "0.18.3"), helm_record("jobset", "jobset-system", "jobset", "0.9.0")
        )
        with pytest.raises(MlclusterError, match="and 1 more, above"):
            report_findings(workspace, made.findings, Screen("text", color=False))
        assert "error EXI001: " in capsys.readouterr().err

    def test_an_allowed_one_does_not_stop(self, capsys: pytest.CaptureFixture[str]) -> None:
        allow = [{"id": "EXI001", "reason": "it is removed tonight"}]
        workspace = existing(allow=allow)
        made = looked(workspace, helm_record(*KUEUE, "0.18.3"))
        assert [finding.id for finding in made.findings] == ["EXI001"]
        report_findings(workspace, made.findings, Screen("text", color=False))
        assert "(allowed: it is removed tonight)" in capsys.readouterr().err

    def test_what_the_state_holds_is_ours(self) -> None:
        deployed = [Deployed("kueue-system", "kueue", "kueue", "0.18.3")]
        assert looked(existing(), helm_record(*KUEUE, "0.18.3"), deployed=deployed).findings == ()


class TestTable:
    def test_it_says_what_who_which_and_then(self) -> None:
        plugin = workload(
            "DaemonSet", "nvidia-device-plugin", "kube-system", "nvidia/k8s-device-plugin:v1", manager="eks"
        )
        text = installed_text(looked(existing(), plugin), color=False)
        (line,) = [line for line in text.splitlines() if line.startswith("nvidia-device-plugin")]
        assert line.split("  ")[0] == "nvidia-device-plugin"
        for part in ("DaemonSet kube-system/nvidia-device-plugin", "an EKS add-on", "v1", "leave alone"):
            assert part in line
        assert "Kubernetes v1.36.3" in text

    def test_nothing_is_cut_however_long(self) -> None:
        name = "nvidia-device-plugin-" + "x" * 200
        text = installed_text(looked(existing(), workload("DaemonSet", name, "n", "i:1")), color=False)
        assert f"DaemonSet n/{name}" in text

    def test_as_data(self) -> None:
        document = installed_document(looked(existing(components=ADOPTS), helm_record(*KUEUE, "0.18.3")))
        assert json.loads(json.dumps(document)) == {
            "kubernetes": "v1.36.3",
            "notLookedAt": {},
            "components": [
                {
                    "component": "kueue", "title": "Kueue", "found": "Helm release kueue-system/kueue",
                    "by": "Helm release kueue-system/kueue", "version": "0.18.3", "decision": "adopt", "note": "",
                }
            ],
        }  # fmt: skip

    @pytest.mark.parametrize(("target", "shown"), [(EXISTING, True), ({"kind": "local"}, False)])
    def test_what_was_to_be_expected_is_shown_on_existing_clusters_only(
        self, target: dict[str, Any], shown: bool, capsys: pytest.CaptureFixture[str]
    ) -> None:
        workspace = existing() if target["kind"] == "existing" else workspace_of(SYSTEM, target=target)
        show(workspace, looked(workspace), Screen("text", color=False))
        assert ("In the cluster already" in capsys.readouterr().out) == shown


class TestUpgrades:
    def running(self, version: str) -> list[Deployed]:
        return [Deployed("kueue-system", "kueue", pin("kueue").chart, version)]

    def test_steps_and_findings(self) -> None:
        workspace = existing(components={"kueue": {"version": "0.20.5"}})
        changing = component_steps(workspace, self.running("0.15.4"), None)
        (finding,) = component_findings(workspace, changing, None)
        assert (finding.id, finding.blocks) == ("UPG001", True)
        text = upgrades_text(changing)
        assert "Kueue 0.15.4 -> 0.20.5: blocked" in text
        assert "1. go to the last 0.19 first" in text
        assert [(entry["from"], entry["class"]) for entry in upgrades_document(changing)] == [("0.15.4", "blocked")]

    def test_a_release_of_ours_that_the_state_has_lost(self) -> None:
        workspace = existing()
        made = looked(workspace, helm_record(*KUEUE, "0.15.4", cluster="atlas"))
        (found,) = component_steps(workspace, [], made)
        assert (found.running, found.wanted) == ("0.15.4", pin("kueue").version)

    def test_somebody_elses_is_none_of_our_steps(self) -> None:
        workspace = existing()
        assert component_steps(workspace, [], looked(workspace, helm_record(*KUEUE, "0.15.4"))) == ()

    def test_the_server_tells_the_kubernetes_version(self) -> None:
        workspace = existing()
        for version, expected in (("v1.36.3", []), ("v1.28.15-gke.7", ["UPG003"])):
            made = Discovery(Seen(kubernetes=version), (), ())
            assert [finding.id for finding in component_findings(workspace, (), made)] == expected

    def test_nothing_is_said_where_nothing_changes(self, capsys: pytest.CaptureFixture[str]) -> None:
        show_steps((), Screen("text", color=False))
        assert capsys.readouterr().out == ""

    def test_steps_by_hand_are_asked_for_unless_the_spec_allows_them(self) -> None:
        workspace = existing(components={"kueue": {"version": "0.19.2"}})
        changing = component_steps(workspace, self.running("0.18.3"), None)
        assert by_hand(workspace, changing) == ["Kueue 0.19.2"]
        allow = [{"id": "UPG002", "reason": "no Ray here"}]
        assert by_hand(existing(components={"kueue": {"version": "0.19.2"}}, allow=allow), changing) == []


class TestAsking:
    def test_nothing_to_ask(self) -> None:
        assert agreed_to_steps([], yes=False)

    def test_yes_says_that_they_are_done(self) -> None:
        assert agreed_to_steps(["Kueue 0.19.2"], yes=True)

    def test_nobody_to_ask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(MlclusterError, match="no terminal"):
            agreed_to_steps(["Kueue 0.19.2"], yes=False)


class TestPlanLive:
    def test_there_has_to_be_a_cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path / "state"))
        spec = tmp_path / "cluster.yaml"
        spec.write_text(json.dumps(cluster(SYSTEM)), "utf-8")
        with pytest.raises(MlclusterError, match="there is none that runs"):
            plan(spec, "text", live=True)

    def test_the_state_is_read_where_it_is_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path))
        workspace = existing()
        checkpoint = home_of(workspace).checkpoint(project_of(PLATFORM))
        assert checkpoint is not None
        checkpoint.parent.mkdir(parents=True)
        inputs = {"chart": "kueue", "name": "kueue", "namespace": "kueue-system", "version": "0.18.1"}
        release = {"urn": "u", "type": "kubernetes:helm.sh/v3:Release", "id": "kueue-system/kueue", "inputs": inputs}
        checkpoint.write_text(json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [release]}}}), "utf-8")
        with FakeApiServer().kube() as kube:
            assert deployed_in(workspace, kube) == [Deployed("kueue-system", "kueue", "kueue", "0.18.1")]

    @pytest.mark.parametrize(("stack", "expected"), [("atlas", ["0.18.1"]), ("other", [])])
    def test_elsewhere_the_cluster_names_its_owner(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str, expected: list[str]
    ) -> None:
        monkeypatch.setenv("MLCLUSTER_STATE_DIR", str(tmp_path))
        workspace = existing(state={"backend": "s3://states"})
        server = FakeApiServer()
        server.put(helm_record(*KUEUE, "0.18.1"))
        metadata = {"name": "mlcluster-owner", "namespace": "kube-system"}
        data = {"stack": stack, "backend": "s3://states"}
        server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        with server.kube() as kube:
            assert [one.version for one in deployed_in(workspace, kube)] == expected
