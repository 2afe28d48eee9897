"""Topology, fair sharing and two cohorts, from a spec to the real Kueue."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from tests.lab.test_jobs import run
from tests.lab.workloads import KUEUE, Tenant, condition, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

RACK = "mlcluster.dev/rack"
NODES = {"nodes": 2}
SPEC: dict[str, Any] = {
    "apiVersion": "mlcluster/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "rules"},
    "target": {"kind": "local"},
    "nodePools": [
        {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 5},
        {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 9, "topology": "auto"},
    ],
    "components": {"kueue": {"fairSharing": {"weights": {"research": 3}}}, "volcano": {}},
    "cohorts": [{"name": "east"}, {"name": "west", "share": "none"}],
    "teams": [
        {
            "name": name,
            "cohort": cohort,
            "guarantee": {"train": NODES, "system": {"nodes": 1}},
            "borrow": "all",
            "members": {"edit": {"groups": [f"ml-{name}"]}},
        }
        for name, cohort in (("research", "east"), ("products", "east"), ("physics", "west"))
    ]
    + [
        {
            "name": "chemistry",
            "cohort": "west",
            "guarantee": {"train": {"nodes": 1}, "system": {"nodes": 1}},
            "scheduler": "volcano",
            "members": {"edit": {"groups": ["ml-chemistry"]}},
        }
    ],
}
"""Kueue has eight GPU nodes of it, in racks of four; the ninth is Volcano's (test_volcano_team.py)."""


@contextmanager
def rules_cluster(state: Path) -> Iterator[Kube]:
    """Create the cluster of SPEC and delete it at the end, without leftovers."""
    spec = state / "rules.yaml"
    spec.write_text(json.dumps(SPEC))
    lab = Lab("rules", state / "labs" / "rules")
    run(state, "up", str(spec), "--yes")
    try:
        with Kube.from_kubeconfig(lab.kubeconfig) as found:
            yield found
    finally:
        run(state, "down", str(spec), "--yes")
    assert not lab.layout.root.exists()


@pytest.fixture(scope="module")
def kube(rules: Kube) -> Kube:
    """Return the cluster of SPEC."""
    return rules


def placed(name: str, team: str, pods: int, **annotations: str) -> dict[str, Any]:
    """Return a job of whole GPU nodes that asks for a place in the network."""
    made = job(name, team, pod_spec(gpus=8), pods=pods)
    made["spec"]["template"]["metadata"] = {
        "annotations": {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    }
    return made


def racks(kube: Kube, team: Tenant, name: str) -> set[str]:
    """Return the racks of a job's pods."""
    nodes = {entry["spec"]["nodeName"] for entry in team.pods_of(name)}
    found = [kube.get_object("v1", "Node", node) or {} for node in nodes]
    return {node["metadata"]["labels"][RACK] for node in found}


def test_the_pods_of_a_gang_that_requires_a_rack_share_a_rack(kube: Kube) -> None:
    team = Tenant(kube, "research")
    team.submit(placed("close", "research", 2, required_topology=RACK))
    wait_for("both pods run", lambda: team.running("close") == 2)
    assert len(racks(kube, team, "close")) == 1
    team.clean()


def test_a_gang_larger_than_a_rack_waits(kube: Kube) -> None:
    """A rack has four nodes; team east may use six, and no rack has five."""
    team = Tenant(kube, "research")
    team.submit(placed("wide", "research", 5, required_topology=RACK))
    team.assert_waits_because("wide", "topology")
    team.clean()


def test_jobs_without_a_topology_request_run(kube: Kube) -> None:
    """On GPU nodes with levels, and on CPU nodes, which have host names for that."""
    team = Tenant(kube, "research")
    team.submit(job("gpu", "research", pod_spec(gpus=8)))
    team.submit(job("cpu", "research", pod_spec()))
    wait_for("both run", lambda: team.running("gpu") == 1 and team.running("cpu") == 1)
    assert team.pods_of("cpu")[0]["spec"]["nodeName"].startswith("system-")
    team.clean()


def test_levels_of_a_flavor_cannot_change(kube: Kube) -> None:
    """Which is why other levels are another flavor."""
    (name,) = [
        entry["metadata"]["name"]
        for entry in kube.list(KUEUE, "ResourceFlavor")
        if entry["metadata"]["name"].startswith("train.")
    ]
    with pytest.raises(ApiError, match="topologyName is immutable"):
        kube.patch(KUEUE, "ResourceFlavor", name, {"spec": {"topologyName": "hostname"}})


def test_weights_of_the_spec_are_those_of_kueue(kube: Kube) -> None:
    for name, weight in (("research", "3"), ("products", "1")):
        queue = kube.get_object(KUEUE, "ClusterQueue", name) or {}
        assert queue["spec"]["fairSharing"]["weight"] in {weight, int(weight)}
        assert condition(queue, "Active")["status"] == "True"
        assert "fairSharing" in queue["status"], "Kueue computes no shares: it does not share fairly"


def test_cohorts_do_not_borrow_from_each_other(kube: Kube) -> None:
    """West has two nodes and nothing to borrow, although six of east are idle."""
    physics, research = Tenant(kube, "physics"), Tenant(kube, "research")
    physics.submit(job("large", "physics", pod_spec(gpus=8), pods=3))
    physics.assert_waits_because("large", "nvidia.com/gpu")
    research.submit(job("large", "research", pod_spec(gpus=8), pods=6))
    wait_for("six nodes run", lambda: research.running("large") == 6)
    physics.submit(job("own", "physics", pod_spec(gpus=8), pods=2))
    wait_for("west has its own all the same", lambda: physics.running("own") == 2)
    physics.clean()
    research.clean()
