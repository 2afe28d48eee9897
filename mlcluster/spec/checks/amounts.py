"""Amounts of a pool in one unit, and what each unit is worth."""

from dataclasses import dataclass
from typing import Literal

from mlcluster.catalog.gpus import MIG_BALANCED
from mlcluster.spec.checks.facts import NodeFacts
from mlcluster.spec.pools import NodePool
from mlcluster.spec.teams import Amount

Unit = Literal["nodes", "gpus", "slices"]
_FINER: tuple[Unit, ...] = ("nodes", "gpus", "slices")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """How much of a pool there is at its maximum size.

    Attributes:
        gpus: per node.
        slices: per GPU.
        shared: GPUs are divided by MIG, time slicing or MPS.
        uniform: every slice is like every other.
    """

    name: str
    nodes: int
    gpus: int
    slices: int
    shared: bool
    uniform: bool = True

    def total(self, unit: Unit) -> int:
        """The whole pool in `unit`."""
        return self.nodes * self.worth("nodes", unit)

    def worth(self, unit: Unit, finer: Unit) -> int:
        """How many of `finer` are in one of `unit`; `finer` is not coarser."""
        factor = self.gpus if unit == "nodes" and finer != "nodes" else 1
        return factor * self.slices if unit != "slices" and finer == "slices" else factor


def pool_size(pool: NodePool, facts: NodeFacts) -> PoolSize:
    """The pool in numbers."""
    shared = pool.gpu.partitioned or pool.gpu.replicas > 1
    uniform = pool.gpu.mig != MIG_BALANCED
    return PoolSize(pool.name, pool.max_size, facts.gpus, facts.slices_per_gpu, shared, uniform)


def given(amount: Amount) -> list[tuple[Unit, int]]:
    """The units that are written, with their counts."""
    counts = {"nodes": amount.nodes, "gpus": amount.gpus, "slices": amount.slices}
    return [(unit, count) for unit in _FINER if (count := counts[unit]) is not None]


def finest(units: list[Unit]) -> Unit:
    """The finest of some units."""
    return max(units, key=_FINER.index)


def spelled(count: int, unit: Unit) -> str:
    """`1 node`, `8 gpus`."""
    return f"{count} {unit.removesuffix('s') if count == 1 else unit}"
