"""Random fabrics: daemon sets run on the nodes that they serve, and every need is in the plan."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan, Pool
from mlcluster.plan.overhead import lands_on
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.secondary_networks import pools_with_network_taint
from tests.specs import EXISTING, LOCAL, Data, checked, cluster

pytestmark = pytest.mark.unit

NAMES = ("alpha", "bravo", "charlie", "delta")
GPU: Data = {"model": "h100", "count": 8, "memoryMib": 81920}
taint = st.builds(
    lambda key, effect: {"key": f"example.com/{key}", "effect": effect},
    st.sampled_from(["dedicated", "team", "own"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
fast = st.sampled_from(
    [
        {},
        {"rdma": {"rdma/hca": 63}},
        {"rdma": {"rdma/hca": 63, "rdma/storage": 4}},
        {"sriov": {"nvidia.com/vf": 8}},
        {"rdma": {"rdma/hca": 63}, "sriov": {"nvidia.com/vf": 8}},
    ]
)


@st.composite
def pools(draw: st.DrawFn) -> list[Data]:
    made: list[Data] = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        shape: Data = {"cpu": "60", "memory": "500Gi", **({"gpu": GPU} if draw(st.booleans()) else {})}
        taints: list[Data] = draw(st.lists(taint, max_size=2, unique_by=lambda one: str(one["key"])))
        selector = {"example.com/pool": name, **({"example.com/hall": "2"} if draw(st.booleans()) else {})}
        made.append(
            {
                "name": name,
                "nodeShape": shape,
                "maxSize": draw(st.integers(1, 9)),
                "taints": taints,
                "network": draw(fast),
                "selector": selector,
            }
        )
    return made


@st.composite
def networks(draw: st.DrawFn, given_pools: list[Data]) -> list[Data]:
    names = [pool["name"] for pool in given_pools]
    made: list[Data] = []
    for number in range(draw(st.integers(0, 3))):
        ipam = draw(st.sampled_from([None, {"range": f"10.6{number}.0.0/16"}, {"type": "dhcp"}]))
        network: Data = {
            "name": f"rail{number}",
            "type": draw(st.sampled_from(["macvlan", "ipvlan"])),
            "master": "eth1",
        }
        if ipam is not None:
            network["ipam"] = ipam
        if draw(st.booleans()):
            network["pools"] = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        wanted = draw(st.booleans())
        if wanted and any("sriov" in pool["network"] for pool in given_pools):
            network = {"name": f"rail{number}", "type": "sriov", "resource": "nvidia.com/vf"}
        made.append(network)
    return made


@st.composite
def fabrics(draw: st.DrawFn) -> Data:
    made = draw(pools())
    offers: set[str] = {name for pool in made for part in pool["network"].values() for name in part}
    components: Data = {}
    if draw(st.booleans()):
        components["multus"] = {"networks": draw(networks(made)), "startupTaint": draw(st.booleans())}
    if any(name.startswith("rdma/") for name in offers) and draw(st.booleans()):
        components["rdmaDevicePlugin"] = {}
    if "nvidia.com/vf" in offers and draw(st.booleans()):
        components["sriovDevicePlugin"] = {}
    for key in ("nodeReadiness", "nodeProblemDetector", "whereabouts"):
        if draw(st.booleans()):
            components[key] = {}
    local = draw(st.booleans())
    if local:
        made = [{key: value for key, value in pool.items() if key != "selector"} for pool in made]
    teams = [{"name": "research", "guarantee": {made[0]["name"]: {"nodes": 1}}}]
    return cluster(*made, target=LOCAL if local else EXISTING, components=components, teams=teams)


def chosen(manifest: Manifest, every: tuple[Pool, ...]) -> set[str]:
    """Return the pools whose nodes a daemon set's affinity takes."""
    spec = manifest["spec"]["template"]["spec"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return {
        pool.name
        for pool in every
        if any(all(pool.labels.get(one["key"]) in one["values"] for one in term["matchExpressions"]) for term in terms)
    }


def daemon_sets(plan: Plan) -> dict[str, Manifest]:
    owners = {pod.owner.id for pod in plan.pods if pod.kind == "DaemonSet"}
    return {entry.id: entry.manifest for entry in plan.objects if entry.id in owners}


@settings(max_examples=60, deadline=None)
@given(fabrics())
def test_daemon_sets_run_only_on_the_pools_that_they_serve(data: Data) -> None:
    spec: ClusterSpec = checked(data)
    plan = build(spec)
    for identifier, manifest in daemon_sets(plan).items():
        pods = [pod for pod in plan.pods if pod.owner.id == identifier]
        served = {pool.name for pod in pods for pool in plan.pools if lands_on(pod, pool)}
        assert served == chosen(manifest, plan.pools)
        assert len(pods) == len(served)
    gated = {pool.name for pool in pools_with_network_taint(spec)}
    rules = {entry.id for entry in plan.objects if entry.manifest["kind"] == "NodeReadinessRule"}
    assert {f"NodeReadinessRule/{name}-secondary-network" for name in gated} <= rules


@settings(max_examples=60, deadline=None)
@given(fabrics())
def test_every_need_is_in_the_plan(data: Data) -> None:
    plan = build(checked(data))
    there: set[Any] = {entry.id for part in (plan.resources, plan.releases, plan.objects) for entry in part}
    for part in (plan.releases, plan.objects):
        for entry in part:
            assert set(entry.needs) <= there, entry.id
