"""Random specs as data: valid specs, and ways to break them."""

import copy
from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]

_CPU_TYPES = ("m7i.2xlarge", "c7i.4xlarge", "r7i.large")
_GPU_TYPES = {"p5.48xlarge": 8, "p4d.24xlarge": 8, "g5.xlarge": 1, "g6e.12xlarge": 4}
_EFA_TYPES = frozenset({"p5.48xlarge", "p4d.24xlarge", "g6e.12xlarge"})
_MIG = {"p5.48xlarge": {"all-1g.10gb": 7, "all-3g.40gb": 2}, "p4d.24xlarge": {"all-1g.5gb": 7, "all-2g.10gb": 3}}
_TIERS = ("production-critical", "time-sensitive-training", "best-effort-experiment")
_names = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True).map(lambda name: f"n-{name}")
_label_values = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?", fullmatch=True)


@st.composite
def cluster_data(draw: st.DrawFn, *, targets: tuple[str, ...] = ("local", "existing")) -> Data:
    """Return a whole spec that is valid, as the data that its YAML holds."""
    target = draw(st.sampled_from(targets))
    names = draw(st.lists(_names, min_size=1, max_size=4, unique=True))
    pools = [draw(_pool(name, index, target)) for index, name in enumerate(names)]
    data: Data = {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": draw(_names)},
        "target": draw(_target(target)),
        "nodePools": [pool for pool, _ in pools],
        "teams": draw(_teams({pool["name"]: (pool, slices) for pool, slices in pools})),
    }
    data.update(draw(_rest(data["metadata"]["name"])))
    return data


@st.composite
def _target(draw: st.DrawFn, kind: str) -> Data:
    optional: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "local": {
            "lab": _names,
            "zones": st.lists(_names, min_size=1, max_size=3, unique=True),
            "extendedResourceToleration": st.booleans(),
        },
        "existing": {"kubeconfig": st.just("./kubeconfig"), "context": _names},
        "eks": {
            "accountId": st.just("111122223333"),
            "autoscaler": st.just("clusterAutoscaler"),
            "kubernetesVersion": st.sampled_from(["1.33", "1.34", "1.35", "1.36"]),
            "endpoint": st.sampled_from([{"public": False}, {"publicCidrs": ["203.0.113.0/24"]}]),
            "network": st.sampled_from([{"cidr": "10.1.0.0/16"}, {"nat": "perZone", "endpoints": ["s3", "ecr"]}]),
            "logs": st.sampled_from([[], ["api"]]),
        },
    }
    required: dict[str, st.SearchStrategy[Any]] = {"kind": st.just(kind)}
    if kind == "eks":
        required["region"] = st.sampled_from(["us-west-2", "eu-central-1"])
    if kind in {"eks", "existing"}:
        optional[kind]["kubernetesProvider"] = st.sampled_from(["builtin", "official"])
    return draw(st.fixed_dictionaries(required, optional=optional[kind]))


@st.composite
def _pool(draw: st.DrawFn, name: str, index: int, target: str) -> tuple[Data, int]:
    """Return a pool and how many slices one of its GPUs has; 0 without GPUs."""
    pool: Data = {"name": name, "maxSize": draw(st.integers(1, 40))}
    slices = draw(_nodes(pool, with_shape=target != "eks"))
    if draw(st.booleans()):
        pool["minSize"] = draw(st.integers(0, pool["maxSize"]))
    if target == "existing":
        pool["selector"] = {"example.com/pool": f"pool-{index}"}
    if draw(st.booleans()):
        pool["labels"] = draw(st.dictionaries(_names, _label_values, max_size=3))
    effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    keys = draw(st.lists(_names, max_size=2, unique=True))
    pool["taints"] = [{"key": key, "value": draw(_label_values), "effect": draw(effects)} for key in keys]
    if draw(st.booleans()):
        pool["reserved"] = {"cpu": "100m", "memory": "256Mi", "pods": 2}
    return pool, slices


@st.composite
def _nodes(draw: st.DrawFn, pool: Data, *, with_shape: bool) -> int:
    kind = draw(st.sampled_from(["cpu", "gpu", "shape", "gpu shape"] if with_shape else ["cpu", "gpu"]))
    if kind == "cpu":
        pool["instanceType"] = draw(st.sampled_from(_CPU_TYPES))
        return 0
    if kind == "gpu":
        pool["instanceType"] = draw(st.sampled_from(sorted(_GPU_TYPES)))
        if pool["instanceType"] in _EFA_TYPES:
            pool["network"] = {"efa": draw(st.booleans())}
        return draw(_sharing(pool, on_eks=not with_shape))
    pool["nodeShape"] = {"cpu": draw(st.sampled_from(["8", "190500m"])), "memory": "64Gi"}
    if kind == "gpu shape":
        pool["nodeShape"]["gpu"] = {"model": draw(st.sampled_from(["h100", "mi300x"])), "count": 4}
        pool["network"] = {"rdma": {"rdma/hca": 4}}
        return 1
    return 0


@st.composite
def _sharing(draw: st.DrawFn, pool: Data, *, on_eks: bool) -> int:
    layouts = _MIG.get(pool["instanceType"], {})
    way = draw(st.sampled_from(["whole", "timeSlicing", "mps", *layouts]))
    if way == "whole":
        return 1
    if way in {"timeSlicing", "mps"}:
        replicas = draw(st.integers(2, 8))
        pool["gpu"] = {way: {"replicas": replicas}}
        return replicas
    pool["gpu"] = {"mig": way}
    if on_eks and draw(st.booleans()):
        pool["ami"] = {"family": "bottlerocket"}
    return layouts[way]


@st.composite
def _teams(draw: st.DrawFn, pools: dict[str, tuple[Data, int]]) -> list[Data]:
    """Teams whose guarantees fit: every team gets at most its even part of a pool."""
    names = draw(st.lists(_names, max_size=4, unique=True))
    return [draw(_team(name, len(names), pools)) for name in names]


@st.composite
def _team(draw: st.DrawFn, name: str, teams: int, pools: dict[str, tuple[Data, int]]) -> Data:
    team: Data = {"name": name, "guarantee": {}}
    for pool, facts in pools.items():
        if draw(st.booleans()):
            team["guarantee"][pool] = draw(_amount(*facts, parts=teams))
    whole = st.sampled_from(["all", "none"])
    per_pool: st.SearchStrategy[Data] = st.dictionaries(
        st.sampled_from(sorted(pools)), st.one_of(whole, st.builds(dict, nodes=st.integers(0, 9))), max_size=3
    )
    team["borrow"] = draw(st.one_of(whole, per_pool))
    lend = {pool: draw(whole) for pool in team["guarantee"] if draw(st.booleans())}
    team["lend"] = lend if draw(st.booleans()) else draw(whole)
    if draw(st.booleans()):
        team["tiers"] = draw(st.lists(st.sampled_from(_TIERS), min_size=1, unique=True))
    people = st.fixed_dictionaries({}, optional={"groups": st.lists(_names, max_size=2), "users": st.just(["bot"])})
    team["members"] = draw(st.dictionaries(st.sampled_from(["admin", "edit", "view"]), people))
    words = st.sampled_from(["internet", "cluster", "none"])
    team["network"] = {"egress": draw(st.one_of(words, st.just(["10.0.0.0/8", "fd00::/8"])))}
    return team


@st.composite
def _amount(draw: st.DrawFn, pool: Data, slices: int, *, parts: int) -> Data:
    gpus = _GPU_TYPES.get(pool.get("instanceType", ""), 4 if slices else 0)
    most = {"nodes": pool["maxSize"] // parts}
    if gpus:
        most["gpus"] = pool["maxSize"] * gpus // parts
    if "gpu" in pool:
        most["slices"] = pool["maxSize"] * gpus * slices // parts
    unit = draw(st.sampled_from(sorted(most)))
    return {unit: draw(st.integers(0, most[unit]))}


@st.composite
def _rest(draw: st.DrawFn, name: str) -> Data:
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "cohorts": st.builds(
                    lambda share: [{"name": name, "share": share}], st.sampled_from(["remainder", "none"])
                ),
                "budget": st.builds(lambda usd: {"maxHourlyUsd": usd}, st.integers(1, 100_000)),
                "components": st.just({"kueue": {"podsReadyTimeout": "10m"}}),
                "allow": st.just([{"id": "CST001", "reason": "a random spec need not be cheap"}]),
                "x-home": st.just({"of": "anchors"}),
            },
        )
    )


_junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(
        ["all", "none", "local", "eks", "all-9g.9gb", "p5.48xlarge", "-1", "1.30", "0x1", "~", "*a", "!!x"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def broken_data(draw: st.DrawFn) -> Data:
    """Return a spec with up to four places replaced, removed, renamed or doubled; it may by chance be valid still."""
    data = copy.deepcopy(draw(cluster_data(targets=("local", "existing", "eks"))))
    for _ in range(draw(st.integers(1, 4))):
        _mutate(draw, data)
    return data


def _mutate(draw: st.DrawFn, data: Data) -> None:
    container, key = draw(st.sampled_from(list(_places(data)) or [(data, "kind")]))
    action = draw(st.sampled_from(["replace", "remove", "rename", "double"]))
    if action == "remove":
        del container[key]
    elif action == "rename" and isinstance(container, dict):
        container[draw(st.text(max_size=8)) if draw(st.booleans()) else f"{key}x"] = container.pop(key)
    elif action == "double" and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    else:
        container[key] = draw(_junk)


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)
