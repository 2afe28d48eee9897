"""Owners of GPU duties: on every pool with GPUs, each duty has one owner (table: `spec.gpu_duties`).

The operands of the GPU operator follow from this table: an operand is on if any pool needs it from the operator, and
nodes whose image provides the same duty opt out by a label.
"""

from collections.abc import Mapping

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Pool
from mlcluster.spec.gpu_duties import DUTIES, IMAGE, Duty, owners

OPERATOR = "gpu-operator"
NO_OWNER = ""

DEPLOY = "nvidia.com/gpu.deploy."
"""The prefix of the label by which a node enables or disables an operand; the operand's name follows."""
_OPERANDS: Mapping[Duty, str] = {
    "driver": "driver",
    "toolkit": "container-toolkit",
    "devicePlugin": "device-plugin",
    "gpuFeatureDiscovery": "gpu-feature-discovery",
    "migManager": "mig-manager",
    "dcgmExporter": "dcgm-exporter",
}
"""The operator's name of each operand in the label by which a node enables or disables it."""

Table = Mapping[str, Mapping[Duty, str]]


def ownership(context: ComponentContext) -> Table:
    """Return pool with GPUs -> duty -> its owner: `image`, `cluster`, the name of a component, or `NO_OWNER`.

    No duty has two owners: `spec.checks.components_gpu` rejects such specs.
    """
    return {pool.name: _of_pool(context, pool) for pool in context.gpu_pools}


def served(context: ComponentContext, owner: str, duty: Duty) -> tuple[Pool, ...]:
    """Return the pools on which `owner` has a duty."""
    table = ownership(context)
    return tuple(pool for pool in context.gpu_pools if table[pool.name][duty] == owner)


def opt_outs(context: ComponentContext, pool: Pool, table: Table) -> dict[str, str]:
    """Return the labels by which the nodes of a pool disable operands that the operator runs on other pools.

    The operator honors a label that is set already. Without the label it would run a second device plugin on nodes
    whose image has one, and a MIG manager on nodes whose driver mode lacks MIG (P6e-GB200), because their GPUs report
    MIG support.
    """
    found, known = table[pool.name], context.spec.pool(pool.name).gpu_model
    declined = (
        duty
        for duty in _OPERANDS
        if found[duty] == IMAGE or (duty == "migManager" and found[duty] != OPERATOR and known is None)
    )
    return {
        f"{DEPLOY}{_OPERANDS[duty]}": "false"
        for duty in declined
        if any(other[duty] == OPERATOR for other in table.values())
    }


def _of_pool(context: ComponentContext, pool: Pool) -> dict[Duty, str]:
    claims = owners(context.spec.pool(pool.name))
    return {duty: next(iter(claims[duty]), NO_OWNER) for duty in DUTIES}
