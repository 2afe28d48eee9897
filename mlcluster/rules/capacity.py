"""Rules on quotas and on limits of Kueue itself (ClusterQueue and ResourceFlavor, v1beta2 CRDs of 0.18.3)."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.quantities import parse

MOST_FLAVORS = 64
MOST_RESOURCES = 64
MOST_LABELS = 8
MOST_TAINTS = 8
ETCD_MIB = 8 * 1024
"""The largest database that etcd recommends, and the size on EKS; the default of etcd is a quarter of it."""
_LARGE = ("count/configmaps", "count/secrets")
"""Limits on kinds whose objects hold data of up to 1 MiB each."""


def kueue_limits(plan: Plan) -> Iterator[Finding]:
    """CAP001, CAP002: more flavors, labels or taints than Kueue's API accepts."""
    for cohort in plan.cohorts:
        if len(cohort.remainder) > MOST_FLAVORS:
            yield finding(
                "CAP001",
                ("nodePools",),
                f"the cohort {cohort.name} shares {len(cohort.remainder)} pools; "
                f"Kueue accepts {MOST_FLAVORS} flavors in a group",
                "Merge pools, or exclude the remainder with `cohorts: [{name: ..., share: none}]`.",
            )
    for team in plan.teams:
        if len(team.quotas) > MOST_FLAVORS:
            yield finding(
                "CAP001",
                team.spec_path,
                f"team {team.name} has a share in {len(team.quotas)} pools; "
                f"Kueue accepts {MOST_FLAVORS} flavors in a group",
                "Give the team fewer pools.",
            )
    for pool in plan.pools:
        for kind, count, most in (
            ("labels", len(pool.selector), MOST_LABELS),
            ("taints", len(pool.taints), MOST_TAINTS),
        ):
            if count > most:
                yield finding(
                    "CAP002",
                    pool.spec_path,
                    f"the nodes of pool {pool.name} have {count} {kind}; a Kueue flavor accepts {most}",
                    f"Use fewer {kind}.",
                )


def resources_of_one_queue(plan: Plan) -> Iterator[Finding]:
    """CAP003: the pools of a queue offer more resources than one resource group of Kueue covers."""
    shared = [(f"the cohort {cohort.name}", cohort.spec_path, cohort.remainder.values()) for cohort in plan.cohorts]
    own = [(f"team {team.name}", team.spec_path, [quota.nominal for quota in team.quotas]) for team in plan.teams]
    for owner, spec_path, amounts in (*shared, *own):
        covered = {name for part in amounts for name in part}
        if len(covered) > MOST_RESOURCES:
            yield finding(
                "CAP003",
                spec_path,
                f"{owner} has quota of {len(covered)} resources; Kueue accepts {MOST_RESOURCES} in a group",
                "List fewer RDMA resources under nodePools[].network.rdma.",
            )


def queues_without_quota(plan: Plan) -> Iterator[Finding]:
    """QTA001: a team has no guarantee and cannot borrow, so Kueue never admits its workloads."""
    for team in plan.teams:
        if not team.quotas:
            yield finding(
                "QTA001",
                team.spec_path,
                f"team {team.name} has no guarantee and cannot borrow, so its workloads will never be admitted",
                "Add a guarantee, or `borrow: all`.",
            )


def shares_rounded_to_nothing(plan: Plan) -> Iterator[Finding]:
    """QTA002: a resource of a team's share rounds down to zero."""
    pools = {pool.name: pool for pool in plan.pools}
    for team in plan.teams:
        for quota in team.quotas:
            usable = pools[quota.pool].usable
            lost = [name for name, amount in quota.nominal.items() if amount == 0 and usable[name] > 0]
            if lost and any(quota.nominal.values()):
                yield finding(
                    "QTA002",
                    (*team.spec_path, "guarantee", quota.pool),
                    f"team {team.name}'s share of {quota.pool} rounds down to no {', '.join(lost)}",
                    "Guarantee more, or whole nodes: pods that request it stay pending.",
                )


def objects_beyond_etcd(plan: Plan) -> Iterator[Finding]:
    """QTA004: the limits of all teams allow more ConfigMaps and Secrets than etcd can hold."""
    counts = {team.name: sum(parse("", team.limits.get(key, "0")) for key in _LARGE) for team in plan.teams}
    total = sum(counts.values())
    if total <= ETCD_MIB:
        return
    most = max(counts, key=lambda name: counts[name])
    yield finding(
        "QTA004",
        ("teams",),
        f"the limits of {len(counts)} {'team' if len(counts) == 1 else 'teams'} allow {total:,} ConfigMaps and Secrets"
        f" of up to 1 MiB each; etcd holds {ETCD_MIB:,} MiB, and the API server rejects writes when it is full"
        f" (most: {most} with {counts[most]:,})",
        f"Lower limits.configMaps plus limits.secrets to {ETCD_MIB // len(counts):,} for each team.",
    )
