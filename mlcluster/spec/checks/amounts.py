"""Amounts of a pool, and the conversion between their units."""

from dataclasses import dataclass
from typing import Literal

from mlcluster.catalog.gpus import MIG_BALANCED
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.teams import Amount

Unit = Literal["nodes", "gpus", "slices"]
_FINER: tuple[Unit, ...] = ("nodes", "gpus", "slices")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """The size of a pool with `maxSize` nodes.

    Attributes:
        name: the name of the pool.
        nodes: the number of nodes.
        gpus: the number of GPUs per node.
        slices: the number of slices per GPU.
        shared: whether MIG, time-slicing or MPS divides the GPUs.
        uniform: whether all slices have the same size.
    """

    name: str
    nodes: int
    gpus: int
    slices: int
    shared: bool
    uniform: bool = True

    def total(self, unit: Unit) -> int:
        """Return the size of the pool in `unit`."""
        return self.nodes * self.worth("nodes", unit)

    def worth(self, unit: Unit, finer: Unit) -> int:
        """Return the number of `finer` units in one `unit`; `finer` is at least as fine as `unit`."""
        factor = self.gpus if unit == "nodes" and finer != "nodes" else 1
        return factor * self.slices if unit != "slices" and finer == "slices" else factor


def pool_size(pool: ResolvedPool) -> PoolSize:
    """Return the size of a pool."""
    uniform = pool.entry.gpu.mig != MIG_BALANCED
    shared = pool.sharing != "whole"
    return PoolSize(pool.name, pool.entry.max_size, pool.gpus.number, pool.slices_per_gpu, shared, uniform)


def amount_units(amount: Amount) -> list[tuple[Unit, int]]:
    """Return the units of an amount with their counts."""
    counts = {"nodes": amount.nodes, "gpus": amount.gpus, "slices": amount.slices}
    return [(unit, count) for unit in _FINER if (count := counts[unit]) is not None]


def finest(units: list[Unit]) -> Unit:
    """Return the finest of the units."""
    return max(units, key=_FINER.index)


def spelled(count: int, unit: Unit) -> str:
    """Return the count with its unit: `1 node`, `8 gpus`."""
    return f"{count} {unit.removesuffix('s') if count == 1 else unit}"
