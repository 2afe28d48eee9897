"""Proofs: pure functions from the plan to findings. `findings` runs them all."""

from collections.abc import Callable, Iterator

from mlcluster.findings import Finding
from mlcluster.plan.model import Plan
from mlcluster.rules import (
    capacity,
    controllers,
    cost,
    fabric,
    guarantees,
    placement,
    serving,
    sharing,
    upgrades,
)
from mlcluster.rules.allowances import with_reasons
from mlcluster.spec.cluster import ClusterSpec

Rule = Callable[[Plan], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    capacity.kueue_limits,
    capacity.resources_of_one_queue,
    capacity.queues_without_quota,
    capacity.shares_rounded_to_nothing,
    capacity.objects_beyond_etcd,
    sharing.guarantees_on_time_slices,
    sharing.production_on_time_slices,
    sharing.experimental_sharing,
    sharing.metrics_of_gpus,
    sharing.early_mig_nodes,
    placement.component_pods_schedule,
    placement.daemon_sets_fit,
    placement.first_nodes,
    controllers.controllers_fit,
    guarantees.pools_full_of_controllers,
    placement.untainted_accelerators,
    placement.nowhere_for_cpu_work,
    placement.network_policies_enforced,
    cost.budget,
    cost.unknown_prices,
    cost.kept_by_down,
    upgrades.kubernetes_range,
    upgrades.other_versions,
)

OF_THE_SPEC: tuple[Callable[[Plan, ClusterSpec], Iterator[Finding]], ...] = (
    guarantees.guarantees_without_room,
    guarantees.whole_nodes_beside_gpus,
    guarantees.topology_beside_pools_without,
    fabric.announced_devices,
    fabric.programs_of_nodes,
    fabric.ranges_apart,
    fabric.frames_on_ec2,
    fabric.locked_memory,
    fabric.network_taint_on_system_pool,
    sharing.shares_made_elsewhere,
    serving.models_without_tls,
    serving.host_names_of_two_teams,
)
"""Rules that also read the spec."""


def findings(plan: Plan, spec: ClusterSpec) -> tuple[Finding, ...]:
    """Return every finding on the plan, the most severe first; an allowed finding has its reason."""
    made = [*plan.findings, *(finding for rule in RULES for finding in rule(plan))]
    made += [finding for rule in OF_THE_SPEC for finding in rule(plan, spec)]
    if plan.cluster.target == "eks":
        made += _of_the_network(plan, spec)
    return tuple(
        sorted(with_reasons(made, spec), key=lambda finding: (-finding.severity.rank, finding.id, str(finding.place)))
    )


def _of_the_network(plan: Plan, spec: ClusterSpec) -> list[Finding]:
    """Return the findings on the network of an `eks` cluster; the rules are imported for this target only."""
    from mlcluster.rules import network

    rules = (network.public_endpoint, network.addresses, network.nodes_reach_aws, network.private_api)
    return [finding for rule in rules for finding in rule(plan, spec)]
