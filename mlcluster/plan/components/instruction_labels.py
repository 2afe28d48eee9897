"""Node labels that are only instructions to a component of the plan.

They come from `Contribution.node_labels` alone, because a spec with one of them is rejected (`spec.checks.gpus`). The
other labels there state facts, which GPU feature discovery sets too: labels set by another manager are left unchanged.
"""

from mlcluster.plan.components.gpu_owners import DEPLOY
from mlcluster.plan.components.gpu_sharing import MIG_LABEL, PLUGIN_LABEL

NAMES_CONFIGURATION = frozenset({MIG_LABEL, PLUGIN_LABEL})
"""Labels whose values are names in ConfigMaps of the plan.

The MIG manager looks up a name only when the label changes, so the ConfigMap must exist before (NVIDIA/mig-parted,
cmd/nvidia-mig-manager/main.go).
"""


def is_instruction(key: str) -> bool:
    """Return whether a label is only an instruction to the GPU operator or one of its operands."""
    return key.startswith(DEPLOY) or key in NAMES_CONFIGURATION
