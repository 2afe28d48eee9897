"""The result of a search as data."""

from typing import Any

from mlcluster.aws.leftovers.results import Leftover, Leftovers, known_cost, unpriced


def leftovers_data(found: Leftovers) -> dict[str, Any]:
    """Return the LeftoverList document of a search, with costs in USD per hour."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "LeftoverList",
        "cluster": found.cluster,
        "region": found.region,
        "nothingLeft": found.nothing_left,
        "left": [_thing(thing) for thing in found.left],
        "kept": [_thing(thing) for thing in found.kept],
        "unknown": [{"kind": one.kind, "permission": one.permission, "reason": one.reason} for one in found.unknown],
        "cost": {
            "leftHourlyUsd": round(known_cost(found.left), 4),
            "leftWithoutPrice": unpriced(found.left),
            "keptHourlyUsd": round(known_cost(found.kept), 4),
            "keptWithoutPrice": unpriced(found.kept),
            "prices": f"us-east-1 list prices of {found.price_date}",
            "exact": found.exact,
        },
    }


def _thing(thing: Leftover) -> dict[str, Any]:
    return {
        "kind": thing.kind,
        "id": thing.id,
        "name": thing.name,
        "arn": thing.arn,
        "zone": thing.zone,
        "hourlyUsd": None if thing.hourly_usd is None else round(thing.hourly_usd, 5),
        "command": thing.command,
        "why": thing.why,
        "blockedBy": list(thing.blocked_by),
    }
