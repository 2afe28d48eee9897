"""Proofs: pure functions from the plan to findings. `findings` runs them all."""

from collections.abc import Callable, Iterator

from mlcluster.findings import Finding
from mlcluster.plan.model import Plan
from mlcluster.rules import capacity, cost, placement, sharing
from mlcluster.spec.cluster import ClusterSpec

Rule = Callable[[Plan], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    capacity.kueue_limits,
    capacity.resources_of_one_queue,
    capacity.queues_without_quota,
    capacity.shares_rounded_to_nothing,
    sharing.guarantees_on_time_slices,
    placement.component_pods_schedule,
    placement.untainted_accelerators,
    placement.nowhere_for_cpu_work,
    placement.network_policies_enforced,
    cost.budget,
    cost.unknown_prices,
)


def findings(plan: Plan, spec: ClusterSpec) -> tuple[Finding, ...]:
    """Every finding on the plan, worst first; those that the spec allows carry the reason."""
    reasons = {allowed.id: allowed.reason for allowed in spec.allow}
    found = [finding.allow(reasons.get(finding.id, "")) for rule in RULES for finding in rule(plan)]
    return tuple(sorted(found, key=lambda finding: (-finding.severity.rank, finding.id, str(finding.place))))
