"""Topology: levels by target, one object for pools with the same levels, and findings."""

from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.topology import topology_name
from mlcluster.rules import findings
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, checked, cluster, manifests, planned, planned_unchecked

pytestmark = pytest.mark.unit
EKS: Data = {"kind": "eks", "region": "us-west-2"}


def levels(*pools: Data, **rest: Any) -> dict[str, list[str]]:
    """Return topology -> its labels."""
    found = manifests(planned_unchecked(*pools, **rest), "Topology")
    return {name: [level["nodeLabel"] for level in entry["spec"]["levels"]] for name, entry in found.items()}


def test_no_topology_is_the_default() -> None:
    plan = planned(SYSTEM, TRAIN)
    assert not manifests(plan, "Topology")
    assert all("topologyName" not in flavor["spec"] for flavor in manifests(plan, "ResourceFlavor").values())


@pytest.mark.parametrize(
    ("target", "pool", "name", "first"),
    [
        ({"kind": "local"}, TRAIN, "block-rack", "mlcluster.dev/block"),
        (EKS, TRAIN, "aws-network", "topology.k8s.aws/network-node-layer-1"),
        (EKS, SYSTEM, "hostname", "kubernetes.io/hostname"),
    ],
)
def test_auto_uses_the_topology_of_the_target(target: Data, pool: Data, name: str, first: str) -> None:
    (found,) = levels({**pool, "topology": "auto", "minSize": 1}, target=target).items()
    assert found[0] == name
    assert found[1][0] == first
    assert found[1][-1] == "kubernetes.io/hostname"


def test_configured_topology_labels_are_used_unchanged() -> None:
    own = ["example.com/row", "kubernetes.io/hostname"]
    pools = [{**TRAIN, "topology": own}, {**SYSTEM, "topology": own}]
    (found,) = levels(*pools, target=EXISTING).items()
    assert found[1] == own
    assert found[0] == topology_name(tuple(own))


def test_other_levels_are_another_object() -> None:
    """Levels cannot change."""
    assert topology_name(("a", "b")) != topology_name(("b", "a"))


def test_a_flavor_names_its_topology_and_comes_after_it() -> None:
    plan = planned(SYSTEM, {**TRAIN, "topology": "auto"})
    flavor = next(entry for entry in plan.objects if entry.id.startswith("ResourceFlavor/train."))
    assert flavor.manifest["spec"]["topologyName"] == "block-rack"
    assert "Topology/block-rack" in flavor.needs


@pytest.mark.parametrize(
    ("pool", "target", "expected"),
    [
        ({**TRAIN, "topology": "auto"}, EKS, {"KUE001"}),
        ({**TRAIN, "topology": "auto", "minSize": 2}, EKS, set()),
        ({**TRAIN, "topology": ["example.com/row"]}, {"kind": "local"}, {"KUE002"}),
        ({**TRAIN, "topology": ["example.com/row"], "labels": {"example.com/row": "1"}}, {"kind": "local"}, set()),
        ({**TRAIN, "topology": ["example.com/row"]}, EXISTING, set()),
        ({**SYSTEM, "topology": ["topology.k8s.aws/network-node-layer-1"], "minSize": 1}, EKS, {"KUE002"}),
    ],
)
def test_a_topology_that_admits_no_workload_is_found(pool: Data, target: Data, expected: set[str]) -> None:
    others = [] if pool["name"] == "system" else [{**SYSTEM, "minSize": 2}]
    spec = checked(cluster(*others, pool, target=target))
    found = {finding.id for finding in findings(build(spec), spec)}
    assert {identifier for identifier in found if identifier.startswith("KUE")} == expected


def test_with_topology_on_one_pool_all_have_it() -> None:
    """A queue with both kinds of flavor would admit jobs that ask for no place to one kind only."""
    flavors = manifests(planned(SYSTEM, {**TRAIN, "topology": "auto"}), "ResourceFlavor")
    assert {name.partition(".")[0]: flavor["spec"]["topologyName"] for name, flavor in flavors.items()} == {
        "system": "hostname", "train": "block-rack",
    }  # fmt: skip


def flavor(**more: Any) -> str:
    """Return the name of the flavor of the GPU pool, in its queue too."""
    teams: list[Data] = [{"name": "research", "guarantee": {"train": {"nodes": 1}}}]
    plan = planned(SYSTEM, {**TRAIN, **more}, teams=teams)
    (name,) = [name for name in manifests(plan, "ResourceFlavor") if name.partition(".")[0] == "train"]
    (queue,) = manifests(plan, "ClusterQueue").values()
    assert [entry["name"] for entry in queue["spec"]["resourceGroups"][0]["flavors"]] == [name]
    return name


def test_a_change_of_immutable_fields_renames_a_flavor() -> None:
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    names = [
        flavor(),
        flavor(topology="auto"),
        flavor(topology=["mlcluster.dev/rack"]),
        flavor(topology="auto", taints=[taint]),
    ]
    assert names[0] == "train"
    assert len(set(names)) == 4
    assert flavor(taints=[taint]) == "train"
    assert flavor(topology="auto", maxSize=2) == names[1]


@pytest.mark.parametrize(
    ("pool", "team", "needed"),
    [
        ({"minSize": 2}, {"guarantee": {"train": {"nodes": 3}}}, "3 nodes"),
        ({"minSize": 2}, {"guarantee": {"train": {"gpus": 17}}}, "3 nodes"),
        ({"minSize": 2}, {"guarantee": {"train": {"nodes": 2}}}, ""),
        ({"minSize": 8}, {"guarantee": {"train": {"nodes": 8}}}, ""),
        (
            {"minSize": 3, "warm": {"nodes": 1}},
            {"guarantee": {"train": {"nodes": 3}}},
            "only 2 always exist and are free",
        ),
        ({"minSize": 3, "warm": {"nodes": 1}}, {"guarantee": {"train": {"nodes": 2}}}, ""),
        ({"minSize": 2}, {"guarantee": {"system": {"nodes": 3}}}, "3 nodes of system"),
        ({"minSize": 2, "topology": "none"}, {"guarantee": {"train": {"nodes": 3}}}, ""),
    ],
)
def test_guarantees_of_nodes_that_no_autoscaler_would_start(pool: Data, team: Data, needed: str) -> None:
    """Kueue admits to nodes that are there, and the autoscaler starts nodes for pods that are admitted."""
    pools = ({**SYSTEM, "minSize": 2}, {**TRAIN, "topology": "auto", **pool})
    spec = checked(cluster(*pools, target=EKS, teams=[{"name": "a", **team}]))
    messages = [finding.message for finding in findings(build(spec), spec) if finding.id == "KUE006"]
    assert bool(messages) == bool(needed)
    assert all(needed in message for message in messages)


def test_a_pool_that_scales_from_zero_has_no_topology_and_a_finding() -> None:
    pools = ({**SYSTEM, "minSize": 2}, {**TRAIN, "minSize": 2, "topology": "auto"}, {**SYSTEM, "name": "burst"})
    spec = checked(cluster(*pools, target=EKS))
    plan = build(spec)
    assert "topologyName" not in manifests(plan, "ResourceFlavor")["burst"]["spec"]
    assert {finding.id for finding in findings(plan, spec) if finding.id.startswith("KUE")} == {"KUE004"}


@pytest.mark.parametrize(
    ("team", "refused"),
    [
        ({"guarantee": {"train": {"nodes": 1}}, "borrow": "all"}, True),
        ({"guarantee": {"train": {"nodes": 1}, "burst": {"nodes": 1}}}, True),
        ({"guarantee": {"train": {"nodes": 1}}, "borrow": {"system": "all"}}, False),
        ({"guarantee": {"burst": {"nodes": 1}}, "borrow": {"train": "all"}}, False),
    ],
)
def test_a_guarantee_with_topology_needs_queues_with_nothing_else(team: dict[str, Any], refused: bool) -> None:
    pools = ({**SYSTEM, "minSize": 2}, {**TRAIN, "minSize": 2, "topology": "auto"}, {**SYSTEM, "name": "burst"})
    spec = checked(cluster(*pools, target=EKS, teams=[{"name": "a", **team}]))
    assert ("KUE007" in {finding.id for finding in findings(build(spec), spec)}) is refused
