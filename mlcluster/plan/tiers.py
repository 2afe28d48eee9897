"""Priority tiers: each makes a PriorityClass (for the scheduler) and a WorkloadPriorityClass (for Kueue)."""

from mlcluster.plan.model import PlanObject, Tier
from mlcluster.plan.objects import KUEUE_API, make
from mlcluster.spec.cluster import ClusterSpec


def resolve_tiers(spec: ClusterSpec) -> tuple[Tier, ...]:
    """Return every tier, highest first."""
    tiers = [
        Tier(tier.name, tier.value, tier.preempts_pods, tier.description, ("priorityTiers", index))
        for index, tier in enumerate(spec.priority_tiers)
    ]
    return tuple(sorted(tiers, key=lambda tier: -tier.value))


def tier_objects(cluster: str, tiers: tuple[Tier, ...], kueue: str, *, headroom: bool) -> list[PlanObject]:
    """Both classes of every tier.

    The PriorityClass never preempts unless the tier sets it: the scheduler would kill single pods of a gang, Kueue
    displaces whole workloads.

    Args:
        kueue: id of the release that brings the WorkloadPriorityClass kind.
        headroom: pods of negative priority hold nodes free, and every tier has to displace them.
    """
    made = []
    for tier in tiers:
        described = {"description": tier.description} if tier.description else {}
        value, policy = _pod_priority(tier, headroom=headroom)
        body = {"value": value, "globalDefault": False, "preemptionPolicy": policy, **described}
        made.append(make(cluster, "scheduling.k8s.io/v1", "PriorityClass", tier.name, body, spec_path=tier.spec_path))
        body = {"value": tier.value, "description": tier.description or tier.name}
        made.append(
            make(
                cluster,
                KUEUE_API,
                "WorkloadPriorityClass",
                tier.name,
                body,
                needs=(kueue,),
                spec_path=tier.spec_path,
            )
        )
    return made


def _pod_priority(tier: Tier, *, headroom: bool) -> tuple[int, str]:
    """Value and preemption policy of the PriorityClass.

    Beside headroom, tiers that do not preempt share the priority 0: none of them is below another, so the only pods
    that they displace are those of headroom. Kueue keeps the order between tiers.
    """
    if tier.preempts_pods:
        return tier.value, "PreemptLowerPriority"
    return (0, "PreemptLowerPriority") if headroom else (tier.value, "Never")
