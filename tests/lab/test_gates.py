"""Objects wait for the webhook of their release: a real engine, a real API server, a real chart, a late webhook."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mlcluster.catalog.residue import Residue
from mlcluster.deploy.ownership import baseline
from mlcluster.deploy.preview.chart_failures import chart_trouble
from mlcluster.deploy.removal import namespaces
from mlcluster.deploy.removal.namespaces import Installed, empty_namespaces, installed_releases
from mlcluster.deploy.removal.residue import clean_up
from mlcluster.deploy.session.platform_program import PlatformProgram
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine import programs
from mlcluster.engine.engine import Engine
from mlcluster.engine.failures import ResourcesFailedError
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import ExitCode, InterruptedByUserError, MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.gates import Gates
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan.model import DefiningObject, ValuePath
from mlcluster.progress import Silent
from tests.fakes.small_stack import SmallPlan, Thing
from tests.fakes.webhook import API, DEFINITION, KIND, Webhook, gadget, write_chart
from tests.lab.test_fabric_objects import crd
from tests.lab.workloads import controller, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
SPACE = "default"
OURS = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
RELEASE = "Release/gadgets"
HOLD = "example.test/hold"
GADGETS = Residue(crds=(DEFINITION,), finalizers={HOLD: (f"{API}/{KIND}",)}, workloads=(f"{API}/{KIND}",))
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION)


class Told(Silent):
    """Progress that keeps its messages."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@dataclass(frozen=True)
class Release:
    """A release with webhook probes."""

    chart: str
    id: str = RELEASE
    name: str = "gadgets"
    version: str = "1.0.0"
    repository: str = ""
    namespace: str = SPACE
    realisation: str = "helm"
    needs: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    crds: tuple[str, ...] = (DEFINITION,)
    webhook_probes: tuple[dict[str, Any], ...] = (gadget("probe", "default"),)
    overrides: tuple[ValuePath, ...] = ()


@dataclass
class Trial:
    """A stack on the lab, its messages, and its webhook.

    Attributes:
        patience: seconds that a gate waits.
        on_word: called with every message.
    """

    kube: Kube
    hook: Webhook
    plan: SmallPlan
    said: list[str] = field(default_factory=list)
    patience: float = 60.0
    on_word: Callable[[str], object] = lambda _text: None

    def tell(self, text: str) -> None:
        self.said.append(text)
        self.on_word(text)

    def gates(self) -> Gates:
        awaited = [*self.plan.releases, *self.plan.defining_objects]
        return Gates(self.kube, awaited, self.tell, patience=self.patience)

    def has(self, api_version: str, kind: str, name: str) -> bool:
        return self.kube.get_object(api_version, kind, name, SPACE) is not None


@pytest.fixture
def trial(lab: Lab, tmp_path: Path) -> Iterator[Trial]:
    """Yield a namespace, a release, an object that needs the release, and one that does not."""
    hook = Webhook()
    one = Thing("Gadget/one", gadget("one", SPACE, labels=OURS), (RELEASE,))
    metadata = {"name": "free", "namespace": SPACE, "labels": OURS}
    free = Thing("ConfigMap/free", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    plan = SmallPlan((one, free), (Release(str(write_chart(tmp_path, hook))),))
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        yield Trial(kube, hook, plan)
        hook.close()
        kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "gadgets")
        kube.delete(*CRD)
        wait_for("the definition to go", lambda: kube.get_object(*CRD) is None)


@pytest.fixture
def engine(
    trial: Trial, lab: Lab, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engine]:
    """Yield the real engine with the built-in provider and the real Helm; its resources are destroyed at the end."""
    monkeypatch.setenv("MLCLUSTER_HELM", str(toolchain.path("helm")))
    uid = trial.kube.cluster_uid()
    program = programs.load("platform").program
    run = partial(program, trial.plan, kubeconfig=str(lab.kubeconfig), context=None, cluster_uid=uid)
    gated = PlatformProgram(lambda gates: run(ready=gates), trial.gates)
    home, settings = StackHome("atlas", tmp_path / "atlas"), StackSettings(uid, "builtin", "existing", "atlas")
    engine = Engine(home, "mlcluster-platform", gated, settings, toolchain.path("pulumi"), tell=trial.tell)
    yield engine
    engine.destroy()
    assert engine.is_empty()


def test_objects_are_created_after_a_late_webhook(trial: Trial, engine: Engine) -> None:
    """The webhook starts to answer after the gate has reported that it waits and all other operations have ended."""

    def begin(text: str) -> None:
        if "waiting for gadgets" in text and "webhook" in text:
            wait_for("what needs no release", lambda: trial.has("v1", "ConfigMap", "free"))
            assert not trial.has(API, KIND, "one")
            trial.hook.answer()

    trial.on_word = begin
    assert engine.preview().counts["create"] == 3
    assert trial.said == [], "a preview waits for nothing"
    result = engine.up()
    assert {change.op for change in result.changes.effective} == {"create"}
    assert trial.has(API, KIND, "one")
    assert trial.hook.asked[0] == ("probe", True)
    assert ("one", False) in trial.hook.asked
    waiting, ready = (text for text in trial.said if "gadgets" in text)
    assert "the webhook for Gadget (example.test/v1): " in waiting
    assert "failed calling webhook" in waiting
    assert ready.startswith("  gadgets is ready after ")
    assert not engine.up().changes.effective, "the gate asks again, and changes nothing"


def test_objects_are_created_after_a_crd_that_a_controller_installs(trial: Trial, engine: Engine) -> None:
    """As nv-ipam's: the operator installs the CRD when it has seen the NicClusterPolicy, and no pod has to run."""
    trial.hook.answer()
    name = {"name": "policy", "namespace": SPACE, "labels": OURS}
    policy = Thing("ConfigMap/policy", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name})
    tool = {"apiVersion": "tools.test/v1", "kind": "Tool", "metadata": {**name, "name": "one"}, "spec": {}}
    trial.plan.objects = (*trial.plan.objects, policy, Thing("Tool/one", tool, (policy.id,)))
    trial.plan.defining_objects = (DefiningObject(policy.id, "ConfigMap policy", SPACE, ("tools.tools.test",)),)
    made = crd("tools.test", "Tool", "v1", {"type": "object"}, scope="Namespaced")

    def install(text: str) -> None:
        if "waiting for ConfigMap policy: the CRD tools.tools.test" in text:
            assert trial.has("v1", "ConfigMap", "policy")
            trial.kube.apply(made)

    trial.on_word = install
    try:
        engine.up()
        assert trial.has("tools.test/v1", "Tool", "one")
    finally:
        engine.destroy()
        trial.kube.delete(CRD[0], CRD[1], "tools.tools.test")


def test_a_webhook_without_an_answer_times_out_with_its_last_error(trial: Trial, engine: Engine) -> None:
    """And `destroy` after that leaves nothing: the object with the webhook was never made."""
    trial.patience = 1.0
    with pytest.raises(MlclusterError) as caught:
        engine.up()
    error = caught.value
    assert error.doing == "waiting for gadgets"
    assert "the webhook for Gadget (example.test/v1) is not ready after 1 s; its last status: " in error.happened
    assert "connection refused" in error.happened
    assert "kubectl -n default get pods,endpointslices" in error.hint
    assert error.exit_code is ExitCode.INVALID
    assert not trial.has(API, KIND, "one")
    assert trial.has("v1", "ConfigMap", "free")
    said = take_down(trial, engine)
    assert engine.is_empty()
    assert not trial.has("v1", "ConfigMap", "free")
    assert trial.kube.get_object(*CRD) is None
    assert said == [f"removed the CRD {DEFINITION}, which gadgets left behind: it has no objects"]


def take_down(trial: Trial, engine: Engine) -> list[str]:
    """Run the steps of `down` with catalog facts of the test chart, and return the messages."""
    told = Told()
    releases = [replace(one, residue=GADGETS) for one in installed_releases(Stack("platform", engine))]
    assert [one.name for one in releases] == ["gadgets"]
    empty_namespaces(trial.kube, "atlas", releases, told)
    engine.destroy()
    metadata = {"name": baseline.NAME, "namespace": baseline.NAMESPACE}
    data = {"gadgets": json.dumps({"definitions": [], "nodeLabels": []})}
    trial.kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    assert clean_up(trial.kube, releases, told, nodes=True) == []
    return told.said


@pytest.fixture
def team(trial: Trial) -> Iterator[str]:
    """Yield a team's namespace."""
    labels = {**OURS, "mlcluster.dev/team": "gadgeteers"}
    trial.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gadgeteers", "labels": labels}})
    yield "gadgeteers"
    trial.kube.delete("v1", "Namespace", "gadgeteers")


def test_a_finalizer_is_removed_with_its_controller(
    trial: Trial, engine: Engine, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Deployment that is not ready may come back; one that is gone does not."""
    trial.hook.answer()
    engine.up()
    trial.kube.create(gadget("held", team, finalizers=[HOLD]))
    deployment = trial.kube.create(_deployment())
    releases = [Installed("gadgets", SPACE, GADGETS)]
    told = Told()
    with monkeypatch.context() as hasty:
        hasty.setattr(namespaces, "WORKLOAD_SECONDS", 1.0)
        hasty.setattr(namespaces, "NAMESPACE_SECONDS", 2.0)
        with pytest.raises(MlclusterError) as caught:
            empty_namespaces(trial.kube, "atlas", releases, told)
    assert f"Gadget/{team}/held waits for {HOLD}" in caught.value.happened
    assert told.said == ["1 workloads were not deleted in time; they are deleted with their namespaces"]
    trial.kube.delete("apps/v1", "Deployment", deployment["metadata"]["name"], SPACE)
    said = take_down(trial, engine)
    assert said[0] == f"removed the finalizer {HOLD} from Gadget/{team}/held: its controller, gadgets, is gone"
    assert trial.kube.get_object("v1", "Namespace", team) is None
    assert trial.kube.get_object(*CRD) is None


def _deployment() -> dict[str, Any]:
    """Return the release's controller as Helm would make it; no node runs its pods."""
    notes = {"meta.helm.sh/release-name": "gadgets", "meta.helm.sh/release-namespace": SPACE}
    made = controller("Deployment", "gadgets", SPACE, pod_spec(), 1)
    return {**made, "metadata": {**made["metadata"], "annotations": notes}}


def test_ctrl_c_ends_the_wait(trial: Trial, engine: Engine) -> None:
    """At once: the patience of the gate is longer than a test may take."""
    trial.patience = 3600.0

    def interrupt(text: str) -> None:
        if "webhook" in text:
            os.kill(os.getpid(), signal.SIGINT)

    trial.on_word = interrupt
    with pytest.raises(InterruptedByUserError) as caught:
        engine.up()
    assert "waiting for gadgets" in caught.value.happened
    assert engine.pending() == []
    trial.on_word = lambda _text: None
    trial.hook.answer()
    engine.up()
    assert trial.has(API, KIND, "one")


@pytest.mark.parametrize(
    ("chart", "repository", "trouble", "words"),
    [
        ("gadgets", "https://127.0.0.1:1/charts", "unreachable", "https://127.0.0.1:1/charts/index.yaml"),
        ("oci://127.0.0.1:1/charts/gadgets", "", "unreachable", "connection refused"),
    ],
)
def test_preview_reports_a_chart_that_cannot_be_pulled(
    trial: Trial, engine: Engine, chart: str, repository: str, trouble: str, words: str
) -> None:
    """Helm's own words come through the provider and the engine, and are understood."""
    trial.plan.releases = (replace(trial.plan.releases[0], chart=chart, repository=repository),)
    with pytest.raises(ResourcesFailedError) as caught:
        engine.preview()
    ((identifier, message),) = caught.value.resources
    assert identifier == RELEASE
    assert words in message
    assert chart_trouble(message) == trouble
