"""The plan on one screen: pools, teams against capacity, components, objects."""

import os
from collections import Counter

from rich.table import Table
from rich.text import Text

from mlcluster.catalog.components import pin
from mlcluster.catalog.prices import PRICE_DATE
from mlcluster.plan import names
from mlcluster.plan.costs import costs
from mlcluster.plan.model import Amounts, ComponentPlan, Plan, Pool
from mlcluster.plan.pools import EFA_LABEL, EKS_ACCELERATOR_LABEL
from mlcluster.plan.quota import for_teams
from mlcluster.plan.value_paths import dotted
from mlcluster.report.limits_text import limits_text
from mlcluster.report.numbers import amount, price_source, short, usd
from mlcluster.report.pool_arithmetic import arithmetic_note, arithmetic_table
from mlcluster.report.tables import WIDE, Page, table
from mlcluster.report.team_quotas import teams_table

OURS = frozenset({names.POOL, EFA_LABEL, EKS_ACCELERATOR_LABEL})
"""Labels that every such pool has: only those of the spec tell something."""


def plan_text(plan: Plan, *, color: bool = False, width: int | None = None) -> str:
    """Return the plan as text, `width` columns wide; with ANSI colors on request."""
    page = Page(color=color, width=width or _columns())
    facts = plan.cluster
    where = " ".join(
        part for part in (facts.region, facts.kubernetes_version and f"Kubernetes {facts.kubernetes_version}") if part
    )
    page.print(Text.assemble("Cluster ", (facts.name, "bold"), f"   target {facts.target}   {where}".rstrip()))
    page.print()
    page.print_whole(_pools(plan))
    _money(page, plan)
    _capacity(page, plan)
    _bounds(page, plan)
    if plan.teams:
        page.print()
        page.print_whole(teams_table(plan))
        for line in limits_text(plan):
            page.print(Text.assemble(("Limits      ", "bold"), line))
    page.print()
    _components(page, plan)
    _resources(page, plan)
    _objects(page, plan)
    page.print()
    page.print_whole(arithmetic_table(plan))
    page.print(Text(arithmetic_note(plan), "dim"))
    return page.text()


def _columns() -> int:
    """Return the terminal's columns where $COLUMNS says them."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else WIDE


def _pools(plan: Plan) -> Table:
    made = table(
        "POOL", "INSTANCE", "ACCELERATORS", "MIN-MAX", "USABLE PER NODE", "LABELS, TAINTS", "$/H MIN", "$/H MAX",
        right=("MIN-MAX", "$/H MIN", "$/H MAX"), folded=(),
    )  # fmt: skip
    for pool in plan.pools:
        made.add_row(
            Text(pool.name, "cyan"),
            pool.instance_type or "own shape",
            _accelerators(pool),
            f"{pool.min_size}-{pool.max_size}",
            _amounts(pool.usable),
            _labels_and_taints(pool),
            usd(pool.usd_per_hour_at_min),
            usd(pool.usd_per_hour_at_max),
        )
    return made


def _labels_and_taints(pool: Pool) -> str:
    labels = [f"{key}={value}" for key, value in pool.labels.items() if key not in OURS and not _of_component(key)]
    return "\n".join([*labels, *(f"{taint.key}={taint.value}:{taint.effect}" for taint in pool.taints)]) or "-"


def _of_component(key: str) -> bool:
    """Return whether a component put the label there; what it chooses stands in the column before."""
    return key.startswith("nvidia.com/")


def _accelerators(pool: Pool) -> str:
    device = pool.accelerator
    if device is None:
        return "-"
    memory = f" {device.memory_mib / 1024:.0f} GiB" if device.memory_mib else ""
    shares = {} if device.sharing == "whole" else device.shares
    offered = "".join(f"\n{count} {name.removeprefix('nvidia.com/')}" for name, count in shares.items())
    return f"{device.gpus} x {device.model}{memory}{offered}"


def _amounts(amounts: Amounts) -> str:
    parts = [f"{short(name)} {amount(name, value)}" for name, value in amounts.items()]
    lines = [parts[:2], parts[2:4], parts[4:]]
    return "\n".join(", ".join(line) for line in lines if line)


def _money(page: Page, plan: Plan) -> None:
    """Print the total of the nodes, the other AWS resources, and the resources that no total includes."""
    known = [pool.price for pool in plan.pools if pool.price is not None]
    cost = costs(plan)
    missing = len(cost.unpriced_pools)
    unknown = f", without {missing} pool{'s' if missing > 1 else ''} of unknown price" if missing else ""
    simulated = "; nothing is paid on local" if plan.cluster.target == "local" else ""
    low, high = usd(cost.nodes_usd_per_hour_at_min), usd(cost.nodes_usd_per_hour_at_max)
    page.print(Text(f"Total {low} to {high} for nodes only{unknown}. {price_source(known)}{simulated}", "dim"))
    counted = ", ".join(
        f"{one.name}{f' x {one.count}' if one.count > 1 else ''} ${one.usd_per_hour:,.3f}" for one in cost.beside_nodes
    )
    left_out = f"Not counted: {', '.join(cost.not_counted)}" if cost.not_counted else ""
    if counted:
        head = (
            f"Beside the nodes ≈ {usd(cost.beside_usd_per_hour)}: {counted} (us-east-1 list prices of {PRICE_DATE}). "
        )
        page.print(Text(f"{head}{left_out}", "dim"))
    elif left_out:
        page.print(Text(left_out, "dim"))


def _capacity(page: Page, plan: Plan) -> None:
    """Print the capacity of pools that are not on demand; begin and end of a capacity block."""
    for pool in plan.pools:
        if pool.capacity_type == "spot":
            others = f" or {', '.join(pool.also)}" if pool.also else ""
            told = f"spot, {pool.instance_type}{others}"
        elif pool.reservation_id:
            what = "capacity block" if pool.capacity_type == "capacityBlock" else "reservation"
            begins = f" from {pool.starts_at}" if pool.starts_at else ""
            ends = f" to {pool.ends_at} (nodes go 30 min before)" if pool.ends_at else ""
            told = f"{what} {pool.reservation_id}{begins}{ends}"
        else:
            continue
        page.print(Text.assemble(("Capacity    ", "bold"), f"{pool.name}: {told}"))


def _bounds(page: Page, plan: Plan) -> None:
    """What a node of each pool runs out of first, and when it would run out of the rest."""
    if not any(pool.default_containers for pool in plan.pools):
        return
    requests = ", ".join(f"{short(name)} {amount(name, value)}" for name, value in plan.default_requests.items())
    with_gpu = ", and on a GPU pool counts with 1 GPU" if any(pool.accelerator for pool in plan.pools) else ""
    page.print(Text.assemble(("Defaults    ", "bold"), f"a container without requests gets {requests}{with_gpu}"))
    same: dict[str, list[str]] = {}
    for pool in for_teams(plan.pools):
        (first, most), *others = ((short(name), count) for name, count in pool.default_containers.items())
        rest = ", ".join(f"{name} {count:,}" for name, count in others)
        noun = "container" if most == 1 else "containers"
        told = f"{first} first, {most:,} default {noun} a node ({rest})"
        same.setdefault(told, []).append(pool.name)
    for told, pools in same.items():
        page.print(Text.assemble(("Bounds      ", "bold"), f"{', '.join(pools)}: {told}"))


def _components(page: Page, plan: Plan) -> None:
    """By how they come to be; what the spec adds to their values; how well their pods are known."""
    groups: dict[str, list[str]] = {}
    for part in plan.components:
        groups.setdefault(_how(part), []).append(f"{part.name} {part.version}")
    label = "Components  "
    for how, listed in groups.items():
        page.print(Text.assemble((label, "bold"), f"{how}: {', '.join(listed)}"))
        label = " " * len(label)
    given = ", ".join(f"{release.name} {dotted(path)}" for release in plan.releases for path in release.overrides)
    if given:
        page.print(Text.assemble(("Values      ", "bold"), f"of the spec, laid over ours: {given}"))
    shapes = Counter(pod.evidence for pod in plan.pods)
    if shapes:
        told = ", ".join(f"{count} {evidence}" for evidence, count in sorted(shapes.items()))
        page.print(Text.assemble(("Their pods  ", "bold"), f"{shapes.total()} shapes: {told}"))


def _how(part: ComponentPlan) -> str:
    if part.realisation in {"helm", "simulated"} and not pin(part.name).chart:
        return "as objects"
    return {
        "helm": "by Helm",
        "process": "as processes of the lab",
        "simulated": "simulated, only their pods",
        "present": "already in the cluster",
    }[part.realisation]


def _resources(page: Page, plan: Plan) -> None:
    """What is made in AWS, on `eks`."""
    if plan.cluster.target != "eks":
        return
    kinds = Counter(entry.kind for entry in plan.resources)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    page.print(Text.assemble(("AWS         ", "bold"), f"{len(plan.resources)} in all: {listed}"))
    kept = ", ".join(entry.id for entry in plan.resources if entry.retained)
    if kept:
        page.print(Text.assemble(("Kept        ", "bold"), f"by `down`, unless it is asked to: {kept}"))


def _objects(page: Page, plan: Plan) -> None:
    kinds = Counter(entry.kind for entry in plan.objects)
    nodes = len(plan.simulated_nodes)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    simulated = f"{nodes} simulated nodes, " if nodes else ""
    page.print(Text.assemble(("Objects     ", "bold"), f"{simulated}{sum(kinds.values())} in all: {listed}"))
