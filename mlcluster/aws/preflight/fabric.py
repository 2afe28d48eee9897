"""Check that instance types have the EFA interfaces of the catalog and the launch templates."""

from collections.abc import Iterator, Mapping
from typing import Any

from mlcluster.aws.preflight.facts import Facts, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.catalog.instances import instance_type
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Pool

_NEWER = "Upgrade mlcluster to a version with a newer catalog, or set `network.efa: false` in the pool."


def efa(facts: Facts) -> Outcome:
    """Check AWS009: instance types have the EFA interfaces and network cards of the catalog and launch templates."""
    pools = [pool for pool in facts.pools if facts.context.spec_pool(pool).network.efa]
    if not pools:
        return Outcome("no pool uses EFA", needed=False)
    types = sorted({pool.instance_type for pool in pools})
    listed = facts.account.ask_all(
        "ec2",
        "DescribeInstanceTypes",
        "InstanceTypes",
        Filters=[{"Name": "instance-type", "Values": types}],
    )
    networks = {entry["InstanceType"]: entry.get("NetworkInfo", {}) for entry in listed}
    told = [f"{name}: {_described(networks.get(name))}" for name in types]
    problems = [problem for pool in pools for problem in _pool(facts, pool, networks.get(pool.instance_type))]
    return Outcome("; ".join(told), tuple(problems))


def _most(network: Mapping[str, Any]) -> int:
    return int(network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)) if network.get("EfaSupported") else 0


def _described(network: Mapping[str, Any] | None) -> str:
    if network is None:
        return "unknown in this region"
    return f"{_most(network)} EFA interfaces on {network.get('MaximumNetworkCards', 1)} network cards"


def _pool(facts: Facts, pool: Pool, network: Mapping[str, Any] | None) -> Iterator[Finding]:
    place = facts.place(pool, "network", "efa")
    if network is None:
        hint = "See finding AWS003."
        yield finding("AWS009", place, f"{pool.instance_type} is unknown in {facts.account.region}", hint)
        return
    expected, real = instance_type(pool.instance_type).efa, _most(network)
    if expected != real:
        message = (
            f"{pool.instance_type} has {real} EFA interfaces in {facts.account.region}, the catalog has {expected}"
        )
        yield finding("AWS009", place, message, _NEWER)
    cards = {int(card["NetworkCardIndex"]): card for card in network.get("NetworkCards", [])}
    planned = _planned_cards(facts, pool)
    missing = sorted({card for card in planned if card not in cards}) if cards else []
    if missing:
        message = (
            f"the plan puts EFA on network card {joined(map(str, missing))}; {pool.instance_type} has {len(cards)}"
        )
        yield finding("AWS009", place, message, _NEWER)
    crowded = [
        card for card in cards if int(cards[card]["MaximumNetworkInterfaces"]) < planned.count(card) + (card == 0)
    ]
    if crowded:
        message = (
            f"network card {joined(map(str, crowded))} of {pool.instance_type} supports fewer interfaces than planned"
        )
        yield finding("AWS009", place, message, _NEWER)


def _planned_cards(facts: Facts, pool: Pool) -> list[int]:
    """Return the network card of each EFA interface that the plan gives the pool's nodes; [] without EFA."""
    return [
        int(entry.get("networkCardIndex", 0))
        for entry in _interfaces(facts, pool)
        if entry.get("interfaceType") in {"efa", "efa-only"}
    ]


def _interfaces(facts: Facts, pool: Pool) -> list[dict[str, Any]]:
    """Return the interfaces of the launch template, or of the EC2NodeClass of a pool that Karpenter provisions."""
    for template in facts.resources("LaunchTemplate"):
        if template.pool == pool.name:
            return list(template.inputs.get("networkInterfaces") or [])
    for entry in facts.plan.objects:
        if entry.kind == "EC2NodeClass" and entry.pool == pool.name:
            return list(entry.manifest["spec"].get("networkInterfaces") or [])
    return []
