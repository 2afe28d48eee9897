"""A pool of Karpenter between a fixed and a variable size: the real CRD, the real engine, a real API server."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from mlcluster.deploy.preview.destruction import destructions
from mlcluster.engine import programs
from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan.model import Manifest
from mlcluster.progress import Silent
from tests.fakes.small_stack import SmallPlan, Thing
from tests.specs import SYSTEM, manifests, planned
from tests.upstream import REFERENCE, needs_reference
from tests.waiting import wait_for

CRDS = REFERENCE / "crds" / "karpenter"
pytestmark = [pytest.mark.lab, needs_reference]

EKS = {
    "kind": "eks",
    "region": "us-west-2",
    "endpoint": {"publicCidrs": ["203.0.113.0/24"]},
    "autoscaler": "karpenter",
}
NAME, API = "sized", "karpenter.sh/v1"


def node_pool(least: int, most: int) -> Manifest:
    """Return the NodePool of the plan for a pool of this size."""
    pool = {"name": NAME, "instanceType": "g6.12xlarge", "minSize": least, "maxSize": most}
    plan = planned({**SYSTEM, "minSize": 2, "maxSize": 2}, pool, target=EKS)
    return manifests(plan, "NodePool")[NAME]


def thing(least: int, most: int) -> Thing:
    return Thing(f"NodePool/{NAME}", node_pool(least, most))


@pytest.fixture
def kube(lab: Lab) -> Iterator[Kube]:
    """Yield the shared control plane with Karpenter's NodePools."""
    found = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(CRDS.glob("*nodepools*.yaml"))]
    with Kube.from_kubeconfig(lab.kubeconfig) as client:
        for manifest in found:
            client.apply(manifest)
        wait_for("the kind", lambda: _is_served(client))
        yield client
        for manifest in found:
            client.delete(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])


def _is_served(kube: Kube) -> bool:
    """Return whether the API server serves the CRD: until then its group does not exist."""
    groups = kube.request("GET", "/apis")["groups"]
    return any(version["groupVersion"] == API for group in groups for version in group["versions"])


def test_a_pool_between_a_fixed_and_a_variable_size(kube: Kube, lab: Lab, toolchain: Toolchain, tmp_path: Path) -> None:
    plan, uid = SmallPlan((thing(4, 4),)), kube.cluster_uid()
    run = partial(
        programs.load("platform").program, plan, kubeconfig=str(lab.kubeconfig), context=None, cluster_uid=uid
    )
    home, settings = StackHome("atlas", tmp_path / "atlas"), StackSettings(uid, "builtin", "existing", "atlas")
    engine = Engine(home, "mlcluster-platform", run, settings, toolchain.path("pulumi"), tell=Silent().say)
    try:
        engine.up()
        first = live(kube)
        assert first["spec"]["replicas"] == 4
        for least, most in ((0, 4), (4, 4)):
            plan.objects = (thing(least, most),)
            changes = engine.preview()
            assert [change.op for change in changes.effective] == ["replace"]
            assert [one.key for one in destructions(kube, [changes])] == [f"pool/{NAME}"]
            engine.up()
            now = live(kube)
            assert ("replicas" in now["spec"]) == (least == most)
            assert now["metadata"]["uid"] != first["metadata"]["uid"]
            first = now
        plan.objects = (thing(5, 5),)
        changes = engine.preview()
        assert [change.op for change in changes.effective] == ["update"], "another number of fixed nodes is none"
        assert destructions(kube, [changes]) == []
        engine.up()
        assert live(kube)["spec"]["replicas"] == 5
    finally:
        engine.destroy()


def live(kube: Kube) -> Manifest:
    return kube.get_object(API, "NodePool", NAME) or {}
