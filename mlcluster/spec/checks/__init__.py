"""Checks across fields: what makes a spec impossible although every field has its shape.

Each module has functions ClusterSpec -> problems, pure and independent of each other, so that all problems come at
once. What is only unwise is not here: that is a finding of `rules/`.
"""

from mlcluster.spec.checks.components_given import components_given_problems
from mlcluster.spec.checks.components_gpu import components_gpu_problems
from mlcluster.spec.checks.components_network import components_network_problems
from mlcluster.spec.checks.components_observe import components_observe_problems
from mlcluster.spec.checks.components_queues import queue_component_problems
from mlcluster.spec.checks.components_serving import serving_problems
from mlcluster.spec.checks.eks_network import eks_network_problems
from mlcluster.spec.checks.eks_pools import eks_pool_problems
from mlcluster.spec.checks.eks_scaling import scaling_problems
from mlcluster.spec.checks.gpus import gpu_problems
from mlcluster.spec.checks.instances import instance_problems
from mlcluster.spec.checks.labels import label_problems
from mlcluster.spec.checks.limits import limit_problems
from mlcluster.spec.checks.names import name_problems
from mlcluster.spec.checks.pools import pool_problems
from mlcluster.spec.checks.quota import quota_problems
from mlcluster.spec.checks.reach import reach_problems
from mlcluster.spec.checks.references import reference_problems
from mlcluster.spec.checks.storage import storage_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.unsupported import unsupported_problems

_CHECKS = (
    name_problems,
    instance_problems,
    pool_problems,
    eks_network_problems,
    eks_pool_problems,
    scaling_problems,
    storage_problems,
    gpu_problems,
    components_given_problems,
    components_gpu_problems,
    components_observe_problems,
    components_network_problems,
    label_problems,
    reference_problems,
    quota_problems,
    limit_problems,
    reach_problems,
    queue_component_problems,
    serving_problems,
    unsupported_problems,
)


def check(spec: ClusterSpec) -> list[Problem]:
    """Return every problem across the fields of a spec; empty when a spec that is known in full can be planned.

    Args:
        spec: of one that is known in part (`spec.partial`), checks end where they need more.
    """
    return [problem for find in _CHECKS for problem in as_far_as_known(find)(spec)]
