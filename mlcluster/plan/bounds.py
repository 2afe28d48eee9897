"""The first bound of a pool: the number of containers with the default requests that one node holds, by resource.

A pod with one container without requests gets the default requests from the LimitRange of its namespace. The default
of disk follows from the pools: the largest step with which a node still holds as many such pods as its other resources
allow, so that disk does not keep small pods pending while processors are idle.
"""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import Amounts, Pool
from mlcluster.plan.quota import for_teams
from mlcluster.plan.taints import has_accelerator_taint

DISK = "ephemeral-storage"
SLICES = "slices"
"""Resource name for the shares of GPUs that are divided into several sizes."""

_CPU_MILLI = 500
_MEMORY_MIB = 1024
_DISK_STEPS_MIB = (1024, 512, 256, 128, 64, 32, 16)


def default_requests(pools: Iterable[Pool]) -> dict[str, int]:
    """Return the default requests of a container without requests."""
    pools = for_teams(pools)
    room = min((pool.usable[DISK] // max(1, _most_pods(pool)) for pool in pools), default=_DISK_STEPS_MIB[0])
    disk = next((step for step in _DISK_STEPS_MIB if step <= room), _DISK_STEPS_MIB[-1])
    return {"cpu": _CPU_MILLI, "memory": _MEMORY_MIB, DISK: disk}


def with_default_containers(pools: Iterable[Pool], requests: Amounts) -> tuple[Pool, ...]:
    """Return the pools, each with the number of containers of these requests that fit on one node."""
    return tuple(
        pool if pool.system_only else replace(pool, default_containers=_fitting(pool, requests)) for pool in pools
    )


def _fitting(pool: Pool, requests: Amounts) -> dict[str, int]:
    """Return resource -> containers per node, the fewest first; on a GPU pool each container also requests one GPU."""
    fitting = {name: pool.usable[name] // amount for name, amount in requests.items()}
    fitting["pods"] = pool.usable["pods"]
    if pool.accelerator is not None:
        name = pool.accelerator.resource if len(pool.accelerator.shares) == 1 else SLICES
        fitting[name] = pool.accelerator.slices
    return dict(sorted(fitting.items(), key=lambda entry: entry[1]))


def _most_pods(pool: Pool) -> int:
    """Return the number of pods of teams that a node can hold; with the accelerator taint, each requests a GPU."""
    if pool.accelerator is not None and has_accelerator_taint(pool):
        return min(pool.usable["pods"], pool.accelerator.slices)
    return pool.usable["pods"]
