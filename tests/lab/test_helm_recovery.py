"""Releases that a killed run left pending, with helm itself: it refuses to go on, and does after `restart_releases`."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from mlcluster.deploy.ownership.adoption import restart_releases
from mlcluster.deploy.ownership.helm_records import records_of
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine.engine import Engine
from mlcluster.engine.state import Resource
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.lab.toolchain.find import find_tool
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.progress import Silent
from tests.fakes.remembering import held
from tests.specs import EXISTING, planned
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
RELEASE, SPACE = "pending", "helm-recovery"
CHART = "apiVersion: v2\nname: pending\nversion: 1.0.0\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: pending}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: pending}}
  template:
    metadata: {labels: {app: pending}}
    spec: {containers: [{name: main, image: none}]}
"""
"""Its pods wait for a node, so `helm --wait` waits until it is killed."""


@dataclass
class HeldStack:
    """A stack that holds the release."""

    forgotten: set[str] = field(default_factory=set)
    release: Resource = field(default_factory=lambda: held(f"Release/{RELEASE}"))

    def exists(self) -> bool:
        return True

    def resources(self) -> list[Resource]:
        return [self.release]

    def forget(self, urns: set[str]) -> None:
        self.forgotten |= urns


@dataclass(frozen=True)
class Helm:
    """The real helm, a chart, and the cluster that it is installed in."""

    program: Path
    chart: Path
    lab: Lab
    kube: Kube

    def upgrade(self, *options: str) -> "subprocess.Popen[str]":
        argv = [str(self.program), "upgrade", "--install", RELEASE, str(self.chart), "--namespace", SPACE, *options]
        environment = {**os.environ, "KUBECONFIG": str(self.lab.kubeconfig)}
        return subprocess.Popen(argv, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *options: str) -> tuple[int, str]:
        with self.upgrade(*options) as process:
            said, _ = process.communicate()
        return process.returncode, said

    def kill_while_it_waits(self, replicas: int) -> None:
        """Kill an installation or upgrade after it has written its objects."""
        with self.upgrade("--wait", "--set", f"replicas={replicas}") as process:
            wait_for("the Deployment", lambda: self.replicas() == replicas or process.poll() is not None)
            process.kill()

    def replicas(self) -> int:
        found = self.kube.get_object("apps/v1", "Deployment", RELEASE, SPACE)
        return int(found["spec"]["replicas"]) if found else 0

    def statuses(self) -> list[str]:
        return [record.status for record in records_of(self.kube, SPACE, RELEASE)]


@pytest.fixture
def helm(lab: Lab, toolchain: Toolchain, tmp_path: Path) -> Iterator[Helm]:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(CHART)
    (chart / "values.yaml").write_text("replicas: 1\n")
    (chart / "templates" / "deployment.yaml").write_text(DEPLOYMENT)
    program = find_tool("helm") or toolchain.path("helm")
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        yield Helm(program, chart, lab, kube)
        kube.delete("v1", "Namespace", SPACE)


def plan_of(helm: Helm) -> Plan:
    """Return a plan with the release, for the official provider."""
    release = PlanRelease(
        f"Release/{RELEASE}", RELEASE, str(helm.chart), "1.0.0", "", SPACE, {}, (), "helm", ("components",)
    )
    plan = planned(target={**EXISTING, "kubernetesProvider": "official"})
    return replace(plan, releases=(release,))


def test_helm_continues_from_a_pending_release(helm: Helm) -> None:
    live = LiveCluster(str(helm.lab.kubeconfig), None, helm.kube, helm.kube.cluster_uid(), None, started=False)
    stack = HeldStack()
    stacks = [Stack("platform", cast("Engine", stack))]

    helm.kill_while_it_waits(replicas=1)
    assert helm.statuses() == ["pending-install"]
    code, said = helm.run()
    assert (code, "another operation" in said) == (1, True), said
    assert restart_releases(plan_of(helm), live, stacks, Silent())
    assert stack.forgotten == {stack.release.urn}  # the engine installs it, and does not update it
    code, said = helm.run()
    assert code == 0, said
    assert helm.statuses() == ["deployed"]

    stack.forgotten.clear()
    helm.kill_while_it_waits(replicas=2)
    assert helm.statuses() == ["deployed", "pending-upgrade"]
    code, said = helm.run()
    assert (code, "another operation" in said) == (1, True), said
    assert restart_releases(plan_of(helm), live, stacks, Silent())
    assert not stack.forgotten
    code, said = helm.run("--set", "replicas=3")
    assert code == 0, said
    assert (helm.statuses(), helm.replicas()) == (["superseded", "deployed"], 3)
    assert not restart_releases(plan_of(helm), live, stacks, Silent())
