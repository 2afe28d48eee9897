"""Labels of nodes that are nothing but an instruction to a component of the plan: which they are, and when they go on.

They come from `Contribution.node_labels` alone, since a spec that writes one is refused (`spec.checks.gpus`). A new key
there is an instruction here or a fact below; a test asks for it.
"""

from mlcluster.plan.components.gpu_owners import DEPLOY
from mlcluster.plan.components.gpu_sharing import MIG_LABEL, PLUGIN_LABEL
from mlcluster.plan.components.nvidia_device_plugin import MPS_CAPABLE

FACTS = frozenset({MPS_CAPABLE})
"""What GPU feature discovery says of a node too: whoever has said it there keeps the word."""

NAMES_CONFIGURATION = frozenset({MIG_LABEL, PLUGIN_LABEL})
"""Their values are names in ConfigMaps of the plan. The MIG manager looks a name up when the label changes, and not
again when it is not there yet (NVIDIA/mig-parted, cmd/nvidia-mig-manager/main.go)."""


def is_instruction(key: str) -> bool:
    """Whether a label means nothing but what the GPU operator, or an operand of its, is to do on a node."""
    return key.startswith(DEPLOY) or key in NAMES_CONFIGURATION
