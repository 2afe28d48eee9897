"""A real release of a real Helm: its record in the state and in the cluster, and upgrades from it."""

from dataclasses import replace
from pathlib import Path

import pytest
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.helm.v3 import Release

from mlcluster.catalog.signatures import all_signatures
from mlcluster.engine.state import releases_in
from mlcluster.kube.client import Kube
from mlcluster.kube.installed import look
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.rules.existing_installations import ManagedState
from mlcluster.rules.installed import discover
from mlcluster.rules.upgrades import Deployed, upgrade_findings, upgrades
from tests.fakes.provider_stack import Program, ProviderStack
from tests.specs import EXISTING, planned

pytestmark = pytest.mark.engine

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager, labels: {helm.sh/chart: "{{ .Chart.Name }}-{{ .Chart.Version }}"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: kueue}}
  template:
    metadata: {labels: {app: kueue}}
    spec: {containers: [{name: manager, image: "registry.example.test/kueue/kueue:v0.15.4"}]}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return a chart that is called kueue, of an old version."""
    folder = tmp_path / "kueue"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: kueue\nversion: 0.15.4\nappVersion: 0.15.4\n")
    (folder / "templates" / "deployment.yaml").write_text(DEPLOYMENT)
    return folder


def plan_for(namespace: str, cluster: str) -> Plan:
    """Return a plan whose Kueue has that namespace, in a version that is blocked from 0.15."""
    plan = planned(target=EXISTING)
    (kueue,) = (release for release in plan.releases if release.name == "kueue")
    release = replace(kueue, namespace=namespace, version="0.20.5")
    return replace(plan, releases=(release,), objects=(), cluster=replace(plan.cluster, name=cluster))


def test_a_managed_release_is_seen_and_a_blocked_upgrade_of_it_is_found(
    stack: ProviderStack, kube: Kube, name: str, chart: Path
) -> None:
    stack.cluster = name

    def program(options: ResourceOptions) -> None:
        labels = names.owned(name)
        space = Namespace("space", metadata={"name": name, "labels": labels}, opts=options)
        Release("Release/kueue", name="kueue", chart=str(chart), namespace=space.metadata.name, opts=options)

    registered: Program = program
    assert stack.up(registered).error == ""
    state = {"resources": [stack.resource("Release/kueue")]}
    assert releases_in(state) == [Deployed(name, "kueue", str(chart), "0.15.4")]

    seen = look(kube)
    (release,) = (one for one in seen.releases if one.namespace == name)
    assert (release.chart, release.version, release.status, release.cluster) == ("kueue", "0.15.4", "deployed", name)
    mine = replace(seen, releases=(release,), workloads=tuple(one for one in seen.workloads if one.namespace == name))

    plan = plan_for(name, name)
    made = discover(plan, mine, ManagedState(name), all_signatures())
    assert [(row.name, row.decision, row.version) for row in made.rows] == [("kueue", "managed", "0.15.4")]
    other = discover(plan_for("elsewhere", "other"), mine, ManagedState("other"), all_signatures())
    assert [finding.id for finding in other.findings] == ["EXI001"]
    assert f"created by mlcluster, cluster {name} (Helm release {name}/kueue)" in other.findings[0].message

    (step,) = upgrades(plan, releases_in(state))
    assert [finding.id for finding in upgrade_findings([step])] == ["UPG001"]
    assert stack.destroy().error == ""
