"""Cross-field checks: errors in a spec whose fields are valid one by one.

Each module has pure functions from ClusterSpec to problems. The functions are independent of each other, so that all
problems are reported at once. Warnings are findings of `rules/` instead.
"""

from mlcluster.spec.checks.component_settings import component_setting_problems
from mlcluster.spec.checks.components_gpu import components_gpu_problems
from mlcluster.spec.checks.components_network import components_network_problems
from mlcluster.spec.checks.eks_autoscaling import autoscaling_problems
from mlcluster.spec.checks.eks_network import eks_network_problems
from mlcluster.spec.checks.eks_pools import eks_pool_problems
from mlcluster.spec.checks.gpus import gpu_problems
from mlcluster.spec.checks.instances import instance_problems
from mlcluster.spec.checks.labels import label_problems
from mlcluster.spec.checks.monitoring import monitoring_problems
from mlcluster.spec.checks.names import name_problems
from mlcluster.spec.checks.pools import pool_problems
from mlcluster.spec.checks.queueing import queueing_problems
from mlcluster.spec.checks.quota import quota_problems
from mlcluster.spec.checks.references import reference_problems
from mlcluster.spec.checks.serving import serving_problems
from mlcluster.spec.checks.storage import storage_problems
from mlcluster.spec.checks.team_access import team_access_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value

_CHECKS = (
    name_problems,
    instance_problems,
    pool_problems,
    eks_network_problems,
    eks_pool_problems,
    autoscaling_problems,
    storage_problems,
    gpu_problems,
    component_setting_problems,
    components_gpu_problems,
    monitoring_problems,
    components_network_problems,
    label_problems,
    reference_problems,
    quota_problems,
    team_access_problems,
    queueing_problems,
    serving_problems,
)


def check(spec: ClusterSpec) -> list[Problem]:
    """Return the problems that the cross-field checks find in a spec; empty if the spec can be planned.

    Args:
        spec: the spec. On a partial spec (`spec.partial`), a check ends when it needs an unknown value.
    """
    return [problem for find in _CHECKS for problem in stop_at_unknown_value(find)(spec)]
