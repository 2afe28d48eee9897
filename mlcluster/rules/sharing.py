"""Shared GPUs."""

from collections.abc import Iterator

from mlcluster.findings import Finding, found
from mlcluster.plan.model import Plan
from mlcluster.plan.places import place


def guarantees_on_time_slices(plan: Plan) -> Iterator[Finding]:
    """QTA003: a guarantee of time slices is a guarantee of turns, not of memory."""
    sliced = {pool.name for pool in plan.pools if pool.accelerator and pool.accelerator.sharing == "timeSlicing"}
    for team in plan.teams:
        for quota in team.quotas:
            if quota.pool in sliced and any(quota.nominal.values()):
                yield found(
                    "QTA003",
                    (*place(team.spec_path), "guarantee", quota.pool),
                    f"team {team.name} is guaranteed time slices of {quota.pool}: they share the memory of one GPU, "
                    "and one pod can use it up",
                    "use MIG where the GPU can be partitioned",
                )
