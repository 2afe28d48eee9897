"""The simulated official provider on a real API server, which decides which fields may change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from tests.fakes.official_provider import OfficialWorld, serve_official
from tests.fakes.official_stack import Scene
from tests.fakes.small_stack import SmallPlan, Thing

pytestmark = pytest.mark.lab
RBAC = "rbac.authorization.k8s.io"
OWNED = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": OWNED, **place}, **fields}


def _plan(value: int, policy: str, role: str) -> SmallPlan:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    subjects = [{"apiGroup": RBAC, "kind": "Group", "name": "members"}]
    return SmallPlan((
        Thing("Namespace/plugged", _object("v1", "Namespace", "plugged")),
        Thing("PriorityClass/plugged", _object("scheduling.k8s.io/v1", "PriorityClass", "plugged", value=value)),
        Thing(
            "StorageClass/plugged",
            _object(
                "storage.k8s.io/v1", "StorageClass", "plugged", provisioner="example.test/none", reclaimPolicy=policy
            ),
        ),
        Thing(
            "RoleBinding/plugged/members",
            _object(f"{RBAC}/v1", "RoleBinding", "members", "plugged", roleRef=reference, subjects=subjects),
            ("Namespace/plugged",),
        ),
    ))  # fmt: skip


@pytest.fixture
def scene(lab: Lab, toolchain: Toolchain, tmp_path: Path) -> Iterator[Scene]:
    with Kube.from_kubeconfig(lab.kubeconfig) as kube, serve_official(OfficialWorld(kube)) as port:
        yield Scene(kube, port, tmp_path / "atlas", toolchain.path("pulumi"))


def test_adoption_replacement_and_other_owners_on_a_real_api_server(scene: Scene) -> None:
    plan = _plan(10, "Retain", "view")
    for one in plan.objects[:3]:
        scene.kube.create(one.manifest)  # what Ctrl-C left
    engine = scene.engine(plan)
    with pytest.raises(MlclusterError, match="already exists"):
        engine.up()
    scene.take_over(plan)
    engine.up()
    assert {one.plan_id for one in engine.resources()} == {one.id for one in plan.objects}
    changed = _plan(20, "Delete", "edit")
    changes = scene.engine(changed).up().changes.effective
    assert {one.id: one.op for one in changes} == dict.fromkeys(
        ["PriorityClass/plugged", "StorageClass/plugged", "RoleBinding/plugged/members"], "replace"
    )
    scene.kube.delete("scheduling.k8s.io/v1", "PriorityClass", "plugged")
    other = {key: value for key, value in changed.objects[1].manifest.items() if key != "metadata"}
    scene.kube.create({**other, "metadata": {"name": "plugged"}}, field_manager="kubectl-create")
    with pytest.raises(MlclusterError, match="PriorityClass plugged, managed by the field manager kubectl-create"):
        scene.take_over(changed)
    scene.take_over_rest(changed)
    engine.destroy()
    left = scene.kube.get_object("scheduling.k8s.io/v1", "PriorityClass", "plugged")
    assert left is not None
    scene.kube.delete("scheduling.k8s.io/v1", "PriorityClass", "plugged")
    assert scene.kube.get_object("v1", "Namespace", "plugged") is None
