"""Proofs: pure functions from the plan to findings. `findings` runs them all."""

from collections.abc import Callable, Iterator

from mlcluster.findings import Finding
from mlcluster.plan.model import Plan
from mlcluster.rules import capacity, cost, network, placement, sharing, storage
from mlcluster.spec.cluster import ClusterSpec

Rule = Callable[[Plan], Iterator[Finding]]
SpecRule = Callable[[Plan, ClusterSpec], Iterator[Finding]]
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
    storage.kept_by_down,
)
SPEC_RULES: tuple[SpecRule, ...] = (
    network.public_endpoint,
    network.addresses,
    network.nodes_reach_aws,
    network.private_api,
)
"""Rules on what the plan does not hold apart: how the network was asked for."""


def findings(plan: Plan, spec: ClusterSpec) -> tuple[Finding, ...]:
    """Every finding on the plan, worst first; those that the spec allows carry the reason."""
    reasons = {allowed.id: allowed.reason for allowed in spec.allow}
    made = [*(finding for rule in RULES for finding in rule(plan))]
    made += [finding for spec_rule in SPEC_RULES for finding in spec_rule(plan, spec)]
    found = [finding.allow(reasons.get(finding.id, "")) for finding in made]
    return tuple(sorted(found, key=lambda finding: (-finding.severity.rank, finding.id, str(finding.place))))
