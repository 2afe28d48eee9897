"""Random specs with components, and workloads that use every guarantee completely at the same time."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlcluster.plan.model import Amounts, Plan, Pool
from mlcluster.quantities import canonical, fraction
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.teams import Amount
from tests.specs import Data

CPU_NODES: tuple[Data, ...] = (
    {"instanceType": "m7i.large"},
    {"instanceType": "c7i.large"},
    {"instanceType": "m7i.xlarge"},
    {"instanceType": "m7i.2xlarge"},
    {"instanceType": "r7i.large"},
    {"instanceType": "c7i.4xlarge"},
)
CPU_SHAPES: tuple[Data, ...] = (
    {"nodeShape": {"cpu": "8", "memory": "32Gi", "pods": 30}},
    {"nodeShape": {"cpu": "3900m", "memory": "14Gi", "pods": 16, "ephemeralStorage": "10Gi"}},
    {"nodeShape": {"cpu": "62", "memory": "250Gi"}},
)
"""Nodes of one's own, some with few pods or little disk."""
GPU_NODES: tuple[tuple[Data, int, int], ...] = (
    ({"instanceType": "g6.xlarge"}, 1, 1),
    ({"instanceType": "g6.12xlarge"}, 4, 1),
    ({"instanceType": "g5.12xlarge", "gpu": {"timeSlicing": {"replicas": 4}}}, 4, 4),
    ({"instanceType": "g6.12xlarge", "gpu": {"mps": {"replicas": 2}}}, 4, 2),
    ({"instanceType": "p4d.24xlarge", "gpu": {"mig": "all-2g.10gb"}}, 8, 3),
    ({"instanceType": "p4d.24xlarge", "gpu": {"mig": "all-balanced"}}, 8, 0),
    ({"instanceType": "p4d.24xlarge", "gpu": {"mig": "all-1g.5gb"}}, 8, 7),
    ({"instanceType": "p5.48xlarge"}, 8, 1),
    ({"instanceType": "g6.12xlarge", "gpu": {"taint": False}}, 4, 1),
)
ON_PREMISES: tuple[tuple[Data, int, int], ...] = (
    ({"instanceType": "p5.48xlarge", "network": {"rdma": {"rdma/hca": 8}}}, 8, 1),
)
ON_EC2: tuple[tuple[Data, int, int], ...] = (
    ({"instanceType": "p5.48xlarge", "network": {"efa": True}}, 8, 1),
    ({"instanceType": "p4d.24xlarge", "network": {"efa": True}}, 8, 1),
)
_EIGHT: Data = {"model": "h100", "count": 8, "memoryMib": 81_920}
GPU_SHAPES: tuple[tuple[Data, int, int], ...] = (
    ({"nodeShape": {"cpu": "62", "memory": "250Gi", "pods": 20, "gpu": _EIGHT}}, 8, 1),
    ({"nodeShape": {"cpu": "30", "memory": "120Gi", "pods": 24, "ephemeralStorage": "20Gi", "gpu": _EIGHT}}, 8, 1),
)
"""A node type, its number of GPUs, and the slices of each GPU (0 for slices of several sizes)."""
COMPONENTS: tuple[Data, ...] = (
    {"monitoring": {}},
    {"gpuOperator": {}},
    {"monitoring": {}, "prometheusAdapter": {}, "keda": {}},
    {"certManager": {}},
    {"kserve": {}},
    {"nodeProblemDetector": {}, "nodeReadiness": {}},
    {"volcano": {}},
    {"trainer": {}, "mpiOperator": {}},
    {"kubeRay": {}},
    {"jobSet": {}},
    {"gateway": {}},
    {"draDriver": {}},
    {"multus": {}},
)
LOCAL: Data = {"kind": "local"}
EXISTING: Data = {"kind": "existing"}
EKS: Data = {"kind": "eks", "region": "us-west-2", "autoscaler": "none", "endpoint": {"public": False}}
TARGETS: tuple[Data, ...] = (
    LOCAL,
    LOCAL,
    EXISTING,
    EKS,
    {**EKS, "autoscaler": "clusterAutoscaler"},
    {**EKS, "autoscaler": "karpenter"},
)
RESERVED: Data = {"cpu": "150m", "memory": "300Mi", "pods": 2}
ACCELERATOR: Data = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def random_spec(seed: int) -> Data:
    """Return a spec in which the teams are guaranteed much of every pool; it may be one that `validate` refuses."""
    chance = random.Random(seed)  # noqa: S311 -- a spec, no secret
    name = f"s{seed}"
    target = chance.choice(TARGETS)
    pools = [_cpu_pool(chance, target, f"{name}-cpu{number}") for number in range(chance.randint(1, 3))]
    pools[0]["maxSize"] += 1
    sizes = {pool["name"]: (pool["maxSize"], 0, 0) for pool in pools}
    if target.get("autoscaler") == "karpenter" or chance.random() < 0.3:
        pools += [_system_pool(chance, f"{name}-system{number}") for number in range(chance.randint(1, 2))]
    topology = chance.random() < 0.4
    for number in range(chance.randint(1, 2)):
        pool, gpus, slices = _gpu_pool(chance, target, f"{name}-gpu{number}", topology=topology)
        pools.append(pool)
        sizes[pool["name"]] = (pool["maxSize"], gpus, slices)
    components: Data = {"gpuOperator": {}} if target["kind"] == "eks" else {}
    for part in chance.sample(COMPONENTS, chance.randint(1, 5)):
        components |= part
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "target": target,
        "nodePools": [_made_there(chance, target, pool, first=pool is pools[0]) for pool in pools],
        "components": components,
        "teams": _teams(chance, name, sizes),
    }


def _cpu_pool(chance: random.Random, target: Data, name: str) -> Data:
    nodes = (*CPU_NODES, *CPU_SHAPES) if target is EXISTING else CPU_NODES
    pool: Data = {"name": name, **chance.choice(nodes), "maxSize": chance.randint(1, 3)}
    if chance.random() < 0.3:
        pool["reserved"] = RESERVED
    if chance.random() < 0.3:
        pool["taints"] = [{"key": "dedicated", "value": "work", "effect": "NoSchedule"}]
    return pool


def _system_pool(chance: random.Random, name: str) -> Data:
    return {
        "name": name,
        "instanceType": chance.choice(("m7i.xlarge", "m7i.2xlarge")),
        "maxSize": 2,
        "minSize": 2,
        "systemOnly": True,
        "selector": {"example.com/controllers": "only"},
    }


def _gpu_pool(chance: random.Random, target: Data, name: str, *, topology: bool) -> tuple[Data, int, int]:
    here = ON_EC2 if target["kind"] == "eks" else ON_PREMISES
    shapes = GPU_SHAPES if target is EXISTING else ()
    node, gpus, slices = chance.choice((*GPU_NODES, *here, *shapes))
    pool = {"name": name, **node, "maxSize": chance.randint(1, 3)}
    if chance.random() < 0.3:
        pool["reserved"] = RESERVED
    if topology:
        # The lab's nodes have no labels of AWS, which `auto` means on eks.
        pool["topology"] = "auto" if target is LOCAL else ["kubernetes.io/hostname"]
    return pool, gpus, slices


def _made_there(chance: random.Random, target: Data, pool: Data, *, first: bool) -> Data:
    """Return the pool with the fields that its target requires: labels and taints of nodes, or their minimum number."""
    pool = dict(pool)
    selector = pool.pop("selector", {})
    if target is EXISTING:
        tainted = bool(pool.get("gpu", {}).get("taint", "-gpu" in pool["name"]))
        if pool.get("gpu") == {"taint": False}:
            del pool["gpu"]
        taints = {"taints": [ACCELERATOR]} if tainted else {}
        return {**pool, **taints, "selector": {**selector, "example.com/pool": pool["name"]}}
    if target["kind"] == "eks" and not pool.get("systemOnly"):
        at_once = {"none": True, "karpenter": first, "clusterAutoscaler": False}[target["autoscaler"]]
        fixed = at_once or "topology" in pool or chance.random() < 0.3
        return {**pool, "minSize": pool["maxSize"] if fixed else int(first)}
    return pool


def _teams(chance: random.Random, name: str, sizes: dict[str, tuple[int, int, int]]) -> list[Data]:
    """Return two or three teams that share each pool in one unit, mostly to its last piece."""
    teams: list[Data] = [{"name": f"{name}-t{number}", "guarantee": {}} for number in range(chance.randint(2, 3))]
    for pool, (nodes, gpus, slices) in sizes.items():
        units = {"nodes": nodes, **({"gpus": nodes * gpus} if gpus else {})}
        if slices > 1:
            units["slices"] = nodes * gpus * slices
        unit = chance.choice(sorted(units))
        left = units[unit] if chance.random() < 0.8 else max(1, units[unit] // 2)
        for team in teams:
            part = left if team is teams[-1] else chance.randint(0, left)
            if part:
                team["guarantee"][pool] = {unit: part}
            left -= part
    return teams


@dataclass(frozen=True)
class Work:
    """Pods of one shape that a team runs on one pool.

    Attributes:
        requests: quantities of one pod.
    """

    team: str
    pool: Pool
    count: int
    requests: dict[str, str]


def guaranteed_work(spec: ClusterSpec, plan: Plan) -> Iterator[Work]:
    """Yield workloads that add up to every guarantee: a pod per node, GPU or slice, with its share of the rest."""
    pools = {pool.name: pool for pool in plan.pools}
    for team in spec.teams:
        for name, amount in team.guarantee.items():
            yield from _pieces(team.name, pools[name], amount)


def _pieces(team: str, pool: Pool, amount: Amount) -> Iterator[Work]:
    device = pool.accelerator
    if device is None:
        yield Work(team, pool, amount.nodes or 0, _requests(pool.node_share))
    elif device.sharing == "whole" and amount.nodes is not None:
        yield Work(team, pool, amount.nodes, _requests(pool.node_share))
    elif device.sharing == "whole":
        yield Work(team, pool, amount.gpus or 0, _requests(fraction(pool.node_share, 1, device.gpus)))
    else:
        yield from _slices(team, pool, amount)


def _slices(team: str, pool: Pool, amount: Amount) -> Iterator[Work]:
    """Return one slice per pod for shared GPUs: the device plugin rejects more of a time slice."""
    device = pool.accelerator
    assert device is not None
    piece = fraction(pool.node_share, 1, device.slices)
    for resource, on_node in device.shares.items():
        counts = (
            (amount.nodes, on_node, 1),
            (amount.gpus, on_node, device.gpus),
            (amount.slices, on_node, device.slices),
        )
        count = next(given * whole // parts for given, whole, parts in counts if given is not None)
        if count:
            plain = {name: value for name, value in piece.items() if name not in device.shares}
            yield Work(team, pool, count, _requests({**plain, resource: 1}))


def _requests(amounts: Amounts) -> dict[str, str]:
    return {name: canonical(name, amount) for name, amount in amounts.items() if name != "pods"}


def job(work: Work, number: int) -> dict[str, Any]:
    """Return the Job of this work: all pods at once, on the pool that the guarantee names."""
    container = {
        "name": "main",
        "image": "example.test/none",
        "resources": {"requests": work.requests, "limits": work.requests},
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "restartPolicy": "Never",
        "nodeSelector": dict(work.pool.selector),
    }
    if work.pool.accelerator is not None:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"whole-{number}", "namespace": work.team},
        "spec": {"parallelism": work.count, "completions": work.count, "template": {"spec": spec}},
    }


EVERY_COMPONENT: Data = {
    "gpuOperator": {},
    "draDriver": {},
    "rdmaDevicePlugin": {"resources": {"rdma/hca": {"linkTypes": ["infiniband"]}}},
    "multus": {
        "networks": [
            {
                "name": "rail-0",
                "type": "ipoib",
                "master": "ib0",
                "pools": ["train"],
                "resource": "rdma/hca",
                "ipam": {"type": "whereabouts", "range": "10.60.0.0/16"},
            }
        ]
    },
    "jobSet": {},
    "leaderWorkerSet": {},
    "trainer": {},
    "mpiOperator": {},
    "kubeRay": {},
    "volcano": {},
    "monitoring": {},
    "prometheusAdapter": {},
    "keda": {},
    "gateway": {},
    "kserve": {"ingress": {"domain": "models.example.com"}},
    "certManager": {},
    "nodeProblemDetector": {},
    "nodeReadiness": {},
}
"""All that can be in one cluster: of two owners of a duty only one."""

INSTEAD_OF_OTHERS = frozenset({"nvidiaDevicePlugin", "dcgmExporter", "efaDevicePlugin", "networkOperator", "kueue"})
"""Others own their duty, or (Kueue) they are in every plan."""

WITHIN = frozenset({"registry", "whereabouts", "sriovDevicePlugin"})
"""Fields that are no component of their own, or are added with networks."""


def every_component(system_nodes: int) -> Data:
    """Return a spec with every component as pods (on `local` some are processes), on so many nodes of 2 CPU, 8 GiB."""
    system: Data = {"name": "system", "instanceType": "m7i.large", "maxSize": system_nodes, "selector": {"for": "all"}}
    train: Data = {
        "name": "train",
        "instanceType": "p5.48xlarge",
        "maxSize": 1,
        "selector": {"for": "training"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        "network": {"rdma": {"rdma/hca": 8}},
    }
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "every"},
        "target": {"kind": "existing"},
        "nodePools": [system, train],
        "components": EVERY_COMPONENT,
        "teams": [{"name": "every-team", "guarantee": {"train": {"gpus": 8}}}],
    }
