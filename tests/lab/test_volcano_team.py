"""A team that Volcano queues, on the lab: Volcano itself does not run here, what bounds the team is real."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from tests.lab.test_jobs import run
from tests.lab.workloads import KUEUE, Tenant, job, pod, pod_spec, stays, wait_for

pytestmark = pytest.mark.lab

QUEUE = {"scheduling.volcano.sh/queue-name": "physics"}
SPEC: dict[str, Any] = {
    "apiVersion": "mlcluster/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "volcano"},
    "target": {"kind": "local"},
    "nodePools": [
        {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 4},
        {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 4},
    ],
    "components": {"volcano": {}},
    "teams": [
        {
            "name": name,
            "guarantee": {"train": {"nodes": 1}, "system": {"nodes": 1}},
            "scheduler": scheduler,
            "members": {"edit": {"groups": [f"ml-{name}"]}},
        }
        for name, scheduler in (("physics", "volcano"), ("research", "kueue"))
    ],
}


@pytest.fixture(scope="module")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """The cluster of SPEC; taken down at the end, and nothing may be left."""
    state = tmp_path_factory.mktemp("state")
    spec = state / "volcano.yaml"
    spec.write_text(json.dumps(SPEC))
    lab = Lab("volcano", state / "labs" / "volcano")
    run(state, "up", str(spec), "--yes")
    try:
        with Kube.from_kubeconfig(lab.kubeconfig) as found:
            wait_for("the policies hold", lambda: _is_refused(found))  # the API server learns of them a little later
            yield found
    finally:
        run(state, "down", str(spec), "--yes")
    assert not lab.layout.root.exists()


def _is_refused(kube: Kube) -> bool:
    try:
        kube.create(pod("tried", "physics", pod_spec()), dry_run=True)
    except ApiError as error:
        return "Volcano places" in error.message
    return False


def volcanos(name: str, gpus: int, **more: Any) -> dict[str, Any]:
    """A pod as Volcano wants it."""
    spec = pod_spec(gpus=gpus, schedulerName="volcano", **more)
    return pod(name, "physics", spec, annotations=dict(QUEUE))


def refused(team: Tenant, manifest: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as caught:
        team.submit(manifest)
    return caught.value.message


def test_its_pods_are_volcanos_and_in_its_own_queue(kube: Kube) -> None:
    team = Tenant(kube, "physics")
    assert "Volcano places this team's pods" in refused(team, pod("default", "physics", pod_spec()))
    foreign = volcanos("foreign", 1)
    foreign["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "default"}
    assert "wait in its own queue" in refused(team, foreign)
    assert "GPU nodes are for GPU pods" in refused(team, volcanos("idle", 0, tolerate=True))
    assert "is not a tier" in refused(team, volcanos("urgent", 1, priorityClassName="system-node-critical"))


def test_its_quota_bounds_it_and_kueue_does_not_look(kube: Kube) -> None:
    team = Tenant(kube, "physics")
    team.submit(volcanos("first", 8))
    assert "exceeded quota" in refused(team, volcanos("second", 1))
    assert not (team.pod("first") or {})["spec"].get("schedulingGates")
    stays("without a workload", lambda: not kube.list(KUEUE, "Workload", "physics"))
    assert not kube.list(KUEUE, "LocalQueue", "physics")
    team.clean()


def test_the_other_team_is_queued_as_ever(kube: Kube) -> None:
    team = Tenant(kube, "research")
    team.submit(job("own", "research", pod_spec(gpus=8)))
    wait_for("it runs", lambda: team.running("own") == 1)
    team.submit(job("more", "research", pod_spec(gpus=8)))
    team.must_wait_because("more", "nvidia.com/gpu")
    team.clean()


def test_its_queue_has_the_numbers_of_its_guarantee(kube: Kube) -> None:
    queue = kube.get_object("scheduling.volcano.sh/v1beta1", "Queue", "physics") or {}
    assert queue["spec"]["capability"]["nvidia.com/gpu"] == "8"
    assert queue["spec"]["deserved"] == queue["spec"]["capability"]
