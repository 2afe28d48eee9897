"""Check that the capacity reservations and capacity blocks of the pools can be used."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mlcluster.aws.errors import AwsError
from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Pool

_COMING = {"scheduled", "payment-pending", "assessing", "delayed"}
_TIME = "%Y-%m-%d %H:%M UTC"


def reservations(facts: Facts) -> Outcome:
    """Check AWS005: every reservation is usable, matches its pools in type, zone and kind, and is large enough."""
    pools = [pool for pool in facts.pools if facts.context.spec_pool(pool).capacity.reservation_id]
    if not pools:
        return Outcome("no pool has a reservation", needed=False)
    told: list[str] = []
    problems: list[Finding] = []
    by_id: dict[str, list[Pool]] = {}
    for pool in pools:
        by_id.setdefault(str(facts.context.spec_pool(pool).capacity.reservation_id), []).append(pool)
    for identifier, users in by_id.items():
        entry = _reservation(facts, identifier)
        told.append(f"{identifier}: {_described(entry)}")
        for pool in users:
            at = facts.place(pool, "capacity", "reservationId")
            for message, hint in _problems(facts, entry, pool, users):
                problems.append(finding("AWS005", at, f"{identifier} {message}", hint))
    return Outcome("; ".join(told), tuple(problems))


def _reservation(facts: Facts, identifier: str) -> dict[str, Any] | None:
    try:
        found_ones = facts.account.ask_all(
            "ec2", "DescribeCapacityReservations", "CapacityReservations", CapacityReservationIds=[identifier]
        )
    except AwsError as error:
        if error.code.startswith("InvalidCapacityReservationId"):
            return None
        raise
    return found_ones[0] if found_ones else None


def _described(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "does not exist"
    kind = "capacity block" if _is_block(entry) else "reservation"
    parts = [
        f"{kind} of {entry['TotalInstanceCount']} x {entry['InstanceType']} in {entry['AvailabilityZone']}",
        f"{entry['State']}, {entry.get('AvailableInstanceCount', 0)} free",
    ]
    if entry.get("StartDate") and _is_block(entry):
        parts.append(f"from {_utc(entry['StartDate']):{_TIME}}")
    if entry.get("EndDate"):
        parts.append(f"until {_utc(entry['EndDate']):{_TIME}}")
    return ", ".join(parts)


def _problems(facts: Facts, entry: dict[str, Any] | None, pool: Pool, users: list[Pool]) -> Iterator[tuple[str, str]]:
    if entry is None:
        where = f"account {facts.account.account_id} in {facts.account.region}"
        yield f"does not exist ({where})", "Correct the ID, the region or the profile."
        return
    yield from _kind_and_state(facts, entry, pool)
    yield from _shape(facts, entry, pool, users)
    yield from _window(facts, entry, pool)


def _kind_and_state(facts: Facts, entry: dict[str, Any], pool: Pool) -> Iterator[tuple[str, str]]:
    is_block, wants_block = _is_block(entry), pool.capacity_type == "capacityBlock"
    if is_block != wants_block:
        kind, wanted = ("a capacity block", "capacityBlock") if is_block else ("a capacity reservation", "reservation")
        yield f"is {kind}, which does not match capacity.type", f"Write `capacity: {{type: {wanted}}}`."
    usable = {"active", *(_COMING if wants_block else ())}
    ended = bool(entry.get("EndDate")) and _utc(entry["EndDate"]) <= facts.now
    if entry["State"] not in usable or ended:
        state = f"{entry['State']}" + (f", ended {_utc(entry['EndDate']):{_TIME}}" if ended else "")
        yield f"cannot be used: it is {state}", "Use another reservation or another capacity type."


def _shape(facts: Facts, entry: dict[str, Any], pool: Pool, users: list[Pool]) -> Iterator[tuple[str, str]]:
    if entry["InstanceType"] != pool.instance_type:
        message = f"is for {entry['InstanceType']}, the pool has {pool.instance_type}"
        yield message, f"Set `instanceType: {entry['InstanceType']}`, or use a reservation for {pool.instance_type}."
    zone, zones = entry["AvailabilityZone"], facts.context.zones_of(pool)
    if tuple(zones) != (zone,):
        given = ", ".join(zones)
        message = f"is in {zone}, the pool in {given}: nodes in other zones never start"
        yield message, f"Write `zones: [{zone}]` in the pool."
    total = sum(user.max_size for user in users)
    if entry["TotalInstanceCount"] < total:
        pools = " + ".join(f"{user.name} {user.max_size}" for user in users)
        yield (
            f"has {entry['TotalInstanceCount']} instances, its pools are up to {total} nodes ({pools})",
            "Lower `maxSize`, or reserve more instances.",
        )


def _window(facts: Facts, entry: dict[str, Any], pool: Pool) -> Iterator[tuple[str, str]]:
    capacity = facts.context.spec_pool(pool).capacity
    for field, given, key in (("startsAt", capacity.starts_at, "StartDate"), ("endsAt", capacity.ends_at, "EndDate")):
        real = entry.get(key)
        if given is None or real is None:
            continue
        wanted, there = datetime.fromisoformat(given), _utc(real)
        if wanted.replace(second=0) != there.replace(second=0, microsecond=0):
            verb = "begins" if key == "StartDate" else "ends"
            yield (
                f"{verb} {there:{_TIME}}, but capacity.{field} is {wanted:{_TIME}}",
                f'Write `{field}: "{there:%FT%H:%MZ}"`.',
            )


def _is_block(entry: dict[str, Any]) -> bool:
    return bool(entry.get("ReservationType") == "capacity-block")


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
