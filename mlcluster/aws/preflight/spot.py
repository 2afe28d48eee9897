"""Check the placement scores of spot capacity for the pools that use it."""

from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Pool

LOW_SCORE = 3
"""Scores go from 1 to 10, where 10 is highly likely (EC2 user guide, "Spot placement score")."""

FEWEST_TYPES = 3
"""With fewer types the score is always low (EC2 API reference, GetSpotPlacementScores, InstanceTypes)."""


def spot_scores(facts: Facts) -> Outcome:
    """Check AWS010: AWS gives the whole spot request of each pool a placement score above the minimum."""
    pools = [pool for pool in facts.pools if pool.capacity_type == "spot"]
    if not pools:
        return Outcome("no pool is spot", needed=False)
    told: list[str] = []
    problems: list[Finding] = []
    for pool in pools:
        types = facts.types_of(pool)
        if len(types) < FEWEST_TYPES:
            told.append(
                f"{pool.name}: not asked, the score is always low with fewer than {FEWEST_TYPES} instance types"
            )
            continue
        score = _score(facts, pool, types)
        told.append(f"{pool.name}: {score} of 10 for {pool.max_size} nodes of {len(types)} types")
        if score <= LOW_SCORE:
            problems.append(
                finding(
                    "AWS010",
                    facts.place(pool, "capacity"),
                    f"AWS gives {pool.max_size} spot nodes of {', '.join(types)} a placement score of {score} of 10",
                    "Add instance types to `capacity.also`, add zones, or use another capacity type.",
                )
            )
    return Outcome("; ".join(told), tuple(problems), needed=any("not asked" not in line for line in told))


def _score(facts: Facts, pool: Pool, types: tuple[str, ...]) -> int:
    """Return the best score of the pool's zone, or of the region if it has several zones; 0 if AWS returns none."""
    zones = facts.context.zones_of(pool)
    scores = facts.account.ask_all(
        "ec2",
        "GetSpotPlacementScores",
        "SpotPlacementScores",
        InstanceTypes=list(types),
        TargetCapacity=pool.max_size,
        TargetCapacityUnitType="units",
        SingleAvailabilityZone=len(zones) == 1,
        RegionNames=[facts.account.region],
    )
    if len(zones) == 1:
        wanted = facts.zones().get(zones[0], {}).get("ZoneId")
        scores = [entry for entry in scores if entry.get("AvailabilityZoneId") == wanted]
    return max((int(entry["Score"]) for entry in scores), default=0)
