"""The lists of the policy on pod sizes (`templates/policies/pod-size.yaml`): the resources of a node of each pool."""

from collections.abc import Sequence
from typing import Any

from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.plan.model import Pool
from mlcluster.quantities import canonical, ordered, unit

_UNCOUNTED = "pods"
_MIB = 2**20


def pod_size_lists(pools: Sequence[Pool]) -> dict[str, list[Any]]:
    """Return the lists by the names that the policy has for them.

    `nodeResources` orders the amounts of a pool; those that end in `Indexes` are positions in the other lists.

    Args:
        pools: with the resources that a node of each holds beside its daemon sets.
    """
    resources = ordered({name for pool in pools for name in pool.usable if name != _UNCOUNTED})
    devices = {name for pool in pools if pool.accelerator is not None for name in pool.accelerator.shares}
    tainted = [index for index, pool in enumerate(pools) if any(x.key == ACCELERATOR_TAINT for x in pool.taints)]
    return {
        "nodeResources": list(resources),
        "resourceIndexes": list(range(len(resources))),
        "extendedIndexes": [index for index, name in enumerate(resources) if "/" in name],
        "gpuIndexes": [index for index, name in enumerate(resources) if name in devices],
        "poolIndexes": list(range(len(pools))),
        "gpuPoolIndexes": tainted,
        "poolNames": [pool.name for pool in pools],
        "poolSelectors": [dict(sorted(pool.selector.items())) for pool in pools],
        "poolAmounts": [[_number(name, pool.usable.get(name, 0)) for name in resources] for pool in pools],
        "poolDescriptions": [_described(pool, resources) for pool in pools],
    }


def _described(pool: Pool, resources: Sequence[str]) -> str:
    amounts = (f"{canonical(name, pool.usable[name])} {name}" for name in resources if pool.usable.get(name))
    labels = (f"{key}: {value}" for key, value in sorted(pool.selector.items()))
    return f"{', '.join(amounts)} ({', '.join(labels)})"


def _number(resource: str, amount: int) -> float:
    """Return an amount as the API server computes it from a quantity: cores, bytes, or pieces."""
    if resource == "cpu":
        return amount / 1000
    return float(amount * _MIB if unit(resource) == "MiB" else amount)
