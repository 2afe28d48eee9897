"""Rules on quotas and on limits of Kueue itself (ClusterQueue and ResourceFlavor, v1beta2 CRDs of 0.18.3)."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.plan.places import place
from mlcluster.plan.quantities import parse

MOST_FLAVORS = 64
MOST_RESOURCES = 64
MOST_LABELS = 8
MOST_TAINTS = 8
ETCD_MIB = 8 * 1024
"""The largest database that etcd suggests, and what EKS gives; a default installation has a quarter of it."""
_LARGE = ("count/configmaps", "count/secrets")
"""Limits on kinds whose objects hold data of up to 1 MiB each."""


def kueue_limits(plan: Plan) -> Iterator[Finding]:
    """CAP001, CAP002: more than Kueue's API takes."""
    for cohort in plan.cohorts:
        if len(cohort.remainder) > MOST_FLAVORS:
            yield finding(
                "CAP001",
                ("nodePools",),
                f"the cohort {cohort.name} shares {len(cohort.remainder)} pools; "
                f"Kueue takes {MOST_FLAVORS} flavors a group",
                "merge pools, or keep the remainder back with cohorts: [{name: ..., share: none}]",
            )
    for team in plan.teams:
        if len(team.quotas) > MOST_FLAVORS:
            yield finding(
                "CAP001",
                place(team.spec_path),
                f"team {team.name} has a share in {len(team.quotas)} pools; Kueue takes {MOST_FLAVORS} flavors a group",
                "give the team fewer pools",
            )
    for pool in plan.pools:
        for what, count, most in (
            ("labels", len(pool.selector), MOST_LABELS),
            ("taints", len(pool.taints), MOST_TAINTS),
        ):
            if count > most:
                yield finding(
                    "CAP002",
                    place(pool.spec_path),
                    f"pool {pool.name} is told apart by {count} {what}; a Kueue flavor takes {most}",
                    f"use fewer {what}",
                )


def resources_of_one_queue(plan: Plan) -> Iterator[Finding]:
    """CAP003: the pools of a queue offer more kinds of resource than one resource group covers."""
    shared = [(f"the cohort {cohort.name}", cohort.spec_path, cohort.remainder.values()) for cohort in plan.cohorts]
    own = [(f"team {team.name}", team.spec_path, [quota.nominal for quota in team.quotas]) for team in plan.teams]
    for who, spec_path, amounts in (*shared, *own):
        covered = {name for part in amounts for name in part}
        if len(covered) > MOST_RESOURCES:
            yield finding(
                "CAP003",
                place(spec_path),
                f"{who} has quota of {len(covered)} resources; Kueue takes {MOST_RESOURCES} a group",
                "name fewer RDMA resources under nodePools[].network.rdma",
            )


def queues_without_quota(plan: Plan) -> Iterator[Finding]:
    """QTA001: a team that may use nothing: everything it submits waits for ever."""
    for team in plan.teams:
        if not team.quotas:
            yield finding(
                "QTA001",
                place(team.spec_path),
                f"team {team.name} is guaranteed nothing and may borrow nothing: whatever it submits waits for ever",
                "add a guarantee, or `borrow: all`",
            )


def shares_rounded_to_nothing(plan: Plan) -> Iterator[Finding]:
    """QTA002: a share so small that some resource of the pool rounds down to zero."""
    pools = {pool.name: pool for pool in plan.pools}
    for team in plan.teams:
        for quota in team.quotas:
            usable = pools[quota.pool].usable
            lost = [name for name, amount in quota.nominal.items() if amount == 0 and usable[name] > 0]
            if lost and any(quota.nominal.values()):
                yield finding(
                    "QTA002",
                    (*place(team.spec_path), "guarantee", quota.pool),
                    f"team {team.name}'s share of {quota.pool} rounds down to no {', '.join(lost)}",
                    "pods that ask for it will wait; guarantee more, or whole nodes",
                )


def objects_beyond_etcd(plan: Plan) -> Iterator[Finding]:
    """QTA004: the ConfigMaps and Secrets of all teams, each of the largest size, are more than etcd holds."""
    counts = {team.name: sum(parse("", team.limits.get(key, "0")) for key in _LARGE) for team in plan.teams}
    total = sum(counts.values())
    if total <= ETCD_MIB:
        return
    most = max(counts, key=lambda name: counts[name])
    yield finding(
        "QTA004",
        ("teams",),
        f"the limits of {len(counts)} {'team' if len(counts) == 1 else 'teams'} allow {total:,} ConfigMaps and Secrets"
        f" of up to 1 MiB each; etcd holds {ETCD_MIB:,} MiB, and the cluster stops when it is full"
        f" (most: {most} with {counts[most]:,})",
        f"lower limits.configMaps and limits.secrets to {ETCD_MIB // len(counts):,} together for each team",
    )
