"""Facts of the plan that no exporter has, as constant series: teams, pools, shares of GPUs, prices."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from mlcluster.plan.model import Manifest, Pool, TeamPlan
from mlcluster.plan.observe.series import NODE_POOL, TEAM

SHARE = "mlcluster:gpu_share:ratio"
NODE_GPUS = "mlcluster:node_gpus:count"
NODE_SLICES = "mlcluster:node_slices:count"
GPU_PRICE = "mlcluster:gpu_price_usd_per_hour"
NODE_PRICE = "mlcluster:node_price_usd_per_hour"
_UNSAFE = re.compile(r"[^a-zA-Z0-9_]")
_HUMP = re.compile(r"([a-z0-9])([A-Z])")


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a physical GPU one piece of a resource is, in one pool.

    Attributes:
        resource: resource name in requests of pods, e.g. nvidia.com/mig-1g.5gb.
        profile: the MIG profile as the exporter's GPU_I_PROFILE has it, "" without MIG.
        per_node: pieces that a node offers.
    """

    resource: str
    profile: str
    share: Fraction
    per_node: int


def gpu_shares(pool: Pool) -> tuple[Share, ...]:
    """Return the shares into which the GPUs of a pool are divided; all shares of a node together are its GPUs.

    Pieces of several sizes count by their compute slices, the number before the "g" of a MIG profile; a GPU that is not
    divided beside others that are counts whole.
    """
    accelerator = pool.accelerator
    if accelerator is None:
        return ()
    if len(accelerator.shares) == 1:
        (name, count), *_ = accelerator.shares.items()
        return (Share(name, _profile(name), Fraction(accelerator.gpus, count), count),)
    whole = sum(count for name, count in accelerator.shares.items() if not _profile(name))
    parts = sum(_compute_slices(name) * count for name, count in accelerator.shares.items())
    return tuple(
        Share(name, _profile(name), Fraction(_compute_slices(name) * (accelerator.gpus - whole), parts), count)
        if _profile(name)
        else Share(name, "", Fraction(1), count)
        for name, count in accelerator.shares.items()
    )


def facts_group(pools: Iterable[Pool], teams: Iterable[TeamPlan]) -> Manifest:
    """Return the group of rules that record one series for each fact."""
    pools = tuple(pools)
    found = [_record(TEAM, "vector(1)", {"namespace": team.namespace, "team": team.name}) for team in teams]
    found += [_record(NODE_POOL, _nodes(pool.selector), {"pool": pool.name}) for pool in pools]
    for pool in pools:
        found += _gpu_facts(pool)
        if pool.price is not None:
            found.append(_record(NODE_PRICE, f"vector({pool.price.usd_per_hour})", {"pool": pool.name}))
    return {"name": "mlcluster-facts", "interval": "60s", "rules": found}


def node_label_keys(pools: Iterable[Pool]) -> list[str]:
    """Labels of nodes that kube-state-metrics has to report, or no node is known to be in a pool."""
    return sorted({key for pool in pools for key in pool.selector})


def metric_resource(name: str) -> str:
    """Return a resource of Kubernetes as kube-state-metrics spells it: nvidia.com/gpu is nvidia_com_gpu."""
    return _UNSAFE.sub("_", name)


def metric_label(key: str) -> str:
    """Return a label in the spelling of kube-state-metrics: mlcluster.dev/nodePool is label_mlcluster_dev_node_pool."""
    return "label_" + _HUMP.sub(r"\1_\2", _UNSAFE.sub("_", key)).lower()


def _profile(resource: str) -> str:
    return resource.partition("/mig-")[2]


def _compute_slices(resource: str) -> int:
    """1 for nvidia.com/mig-1g.5gb, 0 for a whole GPU."""
    found = re.match(r"\d+", _profile(resource))
    return int(found[0]) if found else 0


def _record(name: str, expression: str, labels: Mapping[str, str]) -> Manifest:
    return {"record": name, "expr": expression, "labels": dict(labels)}


def _gpu_facts(pool: Pool) -> list[Manifest]:
    if pool.accelerator is None:
        return []
    gpus, here = pool.accelerator.gpus, {"pool": pool.name}
    found = [_record(NODE_GPUS, f"vector({gpus})", here)]
    for share in gpu_shares(pool):
        resource = {"resource": metric_resource(share.resource)}
        profile = {"GPU_I_PROFILE": share.profile} if share.profile else {}
        labels = {**here, **resource, "kueue_resource": share.resource, **profile}
        found.append(_record(SHARE, f"vector({share.share})", labels))
        found.append(_record(NODE_SLICES, f"vector({share.per_node})", {**here, **resource}))
    if pool.price is not None:
        found.append(_record(GPU_PRICE, f"vector({pool.price.usd_per_hour} / {gpus})", here))
    return found


def _nodes(selector: Mapping[str, str]) -> str:
    """Return the pool's nodes, by their labels."""
    matchers = ",".join(f'{metric_label(key)}="{value}"' for key, value in sorted(selector.items()))
    return f"max by (node) (kube_node_labels{{{matchers}}})"
