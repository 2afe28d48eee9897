"""The plan on one screen: pools, teams against capacity, components, objects."""

import io
import os
from collections import Counter
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from mlcluster.catalog.components import pin
from mlcluster.catalog.prices import PRICE_DATE
from mlcluster.plan import names
from mlcluster.plan.costs import costs
from mlcluster.plan.model import Amounts, ComponentPlan, FlavorQuota, Plan, Pool, TeamPlan
from mlcluster.plan.pools import EFA_LABEL, EKS_ACCELERATOR_LABEL
from mlcluster.plan.quota import for_teams
from mlcluster.report.limits_text import limits_text
from mlcluster.report.numbers import amount, price_source, share, usd
from mlcluster.report.pool_arithmetic import COLUMNS, NUMBERS, arithmetic_rows

WIDE = 132
MOST_COLUMNS = 2000
FOLDED = "TIERS"
"""The one column whose cells may be broken over lines; people copy the others."""

OURS = frozenset({names.POOL, EFA_LABEL, EKS_ACCELERATOR_LABEL})
"""Labels that every such pool has: only those of the spec tell something."""

SHORT = {"memory": "mem", "ephemeral-storage": "disk", "vpc.amazonaws.com/efa": "efa", "hugepages-2Mi": "huge"}


def plan_text(plan: Plan, *, color: bool = False, width: int | None = None) -> str:
    """The plan as text, `width` columns wide; with ANSI colours when asked."""
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=color,
        no_color=not color,
        width=width or _columns(),
        highlight=False,
        markup=False,
        emoji=False,
    )
    facts = plan.cluster
    where = " ".join(
        part for part in (facts.region, facts.kubernetes_version and f"Kubernetes {facts.kubernetes_version}") if part
    )
    console.print(Text.assemble("Cluster ", (facts.name, "bold"), f"   target {facts.target}   {where}".rstrip()))
    console.print()
    _print(console, _pools(plan))
    _money(console, plan)
    _capacity(console, plan)
    _bounds(console, plan)
    if plan.teams:
        console.print()
        _print(console, _teams(plan))
        for line in limits_text(plan):
            console.print(Text.assemble(("Limits      ", "bold"), line))
    console.print()
    _components(console, plan)
    _resources(console, plan)
    _objects(console, plan)
    console.print()
    _arithmetic(console, plan)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _columns() -> int:
    """The terminal's columns where $COLUMNS says them."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else WIDE


def _print(console: Console, table: Table) -> None:
    """A table that needs more than the screen gets it: a terminal folds lines, rich would leave columns out."""
    for column in table.columns:
        if column.no_wrap:
            cells = [str(column.header), *map(str, column.cells)]
            column.width = max(cell_len(line) for cell in cells for line in cell.splitlines() or [""])
    screen = console.width
    roomy = console.options.update(max_width=MOST_COLUMNS)
    console.width = max(screen, Measurement.get(console, roomy, table).minimum)
    console.print(table)
    console.width = screen


def _table(*columns: str, right: Iterable[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in set(right) else "left", no_wrap=column != FOLDED)
    return table


def _pools(plan: Plan) -> Table:
    table = _table(
        "POOL", "INSTANCE", "ACCELERATORS", "MIN-MAX", "USABLE PER NODE", "LABELS, TAINTS", "$/H MIN", "$/H MAX",
        right=("MIN-MAX", "$/H MIN", "$/H MAX"),
    )  # fmt: skip
    for pool in plan.pools:
        table.add_row(
            Text(pool.name, "cyan"),
            pool.instance_type or "own shape",
            _accelerators(pool),
            f"{pool.min_size}-{pool.max_size}",
            _amounts(pool.usable),
            _labels_and_taints(pool),
            usd(pool.usd_per_hour_at_min),
            usd(pool.usd_per_hour_at_max),
        )
    return table


def _labels_and_taints(pool: Pool) -> str:
    labels = [f"{key}={value}" for key, value in pool.labels.items() if key not in OURS and not _of_component(key)]
    return "\n".join([*labels, *(f"{taint.key}={taint.value}:{taint.effect}" for taint in pool.taints)]) or "-"


def _of_component(key: str) -> bool:
    """Whether a component put the label there; what it chooses stands in the column before."""
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
    parts = [f"{_short(name)} {amount(name, value)}" for name, value in amounts.items()]
    lines = [parts[:2], parts[2:4], parts[4:]]
    return "\n".join(", ".join(line) for line in lines if line)


def _short(resource: str) -> str:
    return SHORT.get(resource, resource.removeprefix("nvidia.com/"))


def _money(console: Console, plan: Plan) -> None:
    """The total of the nodes, then what AWS bills beside them, and what no total counts."""
    known = [pool.price for pool in plan.pools if pool.price is not None]
    cost = costs(plan)
    missing = len(cost.unpriced_pools)
    unknown = f", without {missing} pool{'s' if missing > 1 else ''} of unknown price" if missing else ""
    simulated = "; nothing is paid on local" if plan.cluster.target == "local" else ""
    low, high = usd(cost.nodes_usd_per_hour_at_min), usd(cost.nodes_usd_per_hour_at_max)
    console.print(Text(f"Total {low} to {high} for nodes only{unknown}. {price_source(known)}{simulated}", "dim"))
    counted = ", ".join(
        f"{one.name}{f' x {one.count}' if one.count > 1 else ''} ${one.usd_per_hour:,.3f}" for one in cost.beside_nodes
    )
    left_out = f"Not counted: {', '.join(cost.not_counted)}" if cost.not_counted else ""
    if counted:
        head = (
            f"Beside the nodes ≈ {usd(cost.beside_usd_per_hour)}: {counted} (us-east-1 list prices of {PRICE_DATE}). "
        )
        console.print(Text(f"{head}{left_out}", "dim"))
    elif left_out:
        console.print(Text(left_out, "dim"))


def _capacity(console: Console, plan: Plan) -> None:
    """How pools are bought that are not simply on demand; when a capacity block begins and ends."""
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
        console.print(Text.assemble(("Capacity    ", "bold"), f"{pool.name}: {told}"))


def _bounds(console: Console, plan: Plan) -> None:
    """What a node of each pool runs out of first, and when it would run out of the rest."""
    if not any(pool.default_containers for pool in plan.pools):
        return
    requests = ", ".join(f"{_short(name)} {amount(name, value)}" for name, value in plan.default_requests.items())
    with_gpu = ", and on a GPU pool counts with 1 GPU" if any(pool.accelerator for pool in plan.pools) else ""
    console.print(Text.assemble(("Defaults    ", "bold"), f"a container without requests gets {requests}{with_gpu}"))
    same: dict[str, list[str]] = {}
    for pool in for_teams(plan.pools):
        (first, most), *others = ((_short(name), count) for name, count in pool.default_containers.items())
        rest = ", ".join(f"{name} {count:,}" for name, count in others)
        noun = "container" if most == 1 else "containers"
        told = f"{first} first, {most:,} default {noun} a node ({rest})"
        same.setdefault(told, []).append(pool.name)
    for told, pools in same.items():
        console.print(Text.assemble(("Bounds      ", "bold"), f"{', '.join(pools)}: {told}"))


def _arithmetic(console: Console, plan: Plan) -> None:
    """How the quota of each pool comes about, at its maximum size."""
    table = _table(*COLUMNS, right=NUMBERS)
    for row in arithmetic_rows(plan):
        table.add_row(*row)
    _print(console, table)
    shared = "it is kept back"
    if any(cohort.remainder for cohort in plan.cohorts):
        system = any(pool.system_only for pool in plan.pools)
        shared = f"every team may borrow it{', but nothing of a systemOnly pool' if system else ''}"
    told = (
        "Controllers count wherever the scheduler may put them: all replicas on the pool, and all of them together on "
        f"a team's node, which is what `nodes: 1` guarantees. Unassigned: {shared}"
    )
    console.print(Text(told, "dim"))


def _teams(plan: Plan) -> Table:
    """One row a team and pool, in the unit people count: accelerators where there are, else cores."""
    table = _table(
        "TEAM", "POOL", "UNIT", "GUARANTEED", "SHARE", "MAY BORROW", "LENDS", "TIERS",
        right=("GUARANTEED", "SHARE", "MAY BORROW", "LENDS"),
    )  # fmt: skip
    pools = {pool.name: pool for pool in plan.pools}
    for team in plan.teams:
        for position, quota in enumerate(team.quotas):
            table.add_row(*_team_row(team, quota, pools[quota.pool], first=position == 0))
        if not team.quotas:
            table.add_row(Text(team.name, "cyan"), "-", "", "nothing", "", "nothing", "", ", ".join(team.tiers))
    for cohort in plan.cohorts:
        for position, (name, amounts) in enumerate(cohort.remainder.items()):
            resource = counted(pools[name])
            left, whole = amounts.get(resource, 0), pools[name].capacity.get(resource, 0)
            label = Text("unassigned", "italic") if position == 0 else Text("")
            table.add_row(
                label, name, _short(resource), amount(resource, left), share(left, whole), "", "all borrow", ""
            )
    return table


def counted(pool: Pool) -> str:
    """The resource by which shares of a pool are shown."""
    return pool.accelerator.resource if pool.accelerator is not None else "cpu"


def _team_row(team: TeamPlan, quota: FlavorQuota, pool: Pool, *, first: bool) -> list[Text | str]:
    resource = counted(pool)
    nominal = quota.nominal.get(resource, 0)
    borrowing = "all idle" if quota.borrowing is None else amount(resource, quota.borrowing.get(resource, 0))
    lending = "all" if quota.lending is None else amount(resource, quota.lending.get(resource, 0))
    return [
        Text(team.name if first else "", "cyan"),
        pool.name,
        _short(resource),
        amount(resource, nominal),
        share(nominal, pool.capacity.get(resource, 0)),
        borrowing,
        lending if nominal else "-",
        ", ".join(team.tiers) if first else "",
    ]


def _components(console: Console, plan: Plan) -> None:
    """By how they come to be; what the spec adds to their values; how well their pods are known."""
    groups: dict[str, list[str]] = {}
    for part in plan.components:
        groups.setdefault(_how(part), []).append(f"{part.name} {part.version}")
    label = "Components  "
    for how, listed in groups.items():
        console.print(Text.assemble((label, "bold"), f"{how}: {', '.join(listed)}"))
        label = " " * len(label)
    given = ", ".join(f"{release.name} {path}" for release in plan.releases for path in release.overrides)
    if given:
        console.print(Text.assemble(("Values      ", "bold"), f"of the spec, laid over ours: {given}"))
    shapes = Counter(pod.evidence for pod in plan.pods)
    if shapes:
        told = ", ".join(f"{count} {evidence}" for evidence, count in sorted(shapes.items()))
        console.print(Text.assemble(("Their pods  ", "bold"), f"{shapes.total()} shapes: {told}"))


def _how(part: ComponentPlan) -> str:
    if part.realisation in {"helm", "simulated"} and not pin(part.name).chart:
        return "as objects"
    return {
        "helm": "by Helm",
        "process": "as processes of the lab",
        "simulated": "simulated, only their pods",
        "present": "already in the cluster",
    }[part.realisation]


def _resources(console: Console, plan: Plan) -> None:
    """What is made in AWS, on `eks`."""
    if plan.cluster.target != "eks":
        return
    kinds = Counter(entry.type.rpartition(":")[2] for entry in plan.resources)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    console.print(Text.assemble(("AWS         ", "bold"), f"{len(plan.resources)} in all: {listed}"))
    kept = ", ".join(entry.id for entry in plan.resources if entry.retained)
    if kept:
        console.print(Text.assemble(("Kept        ", "bold"), f"by `down`, unless it is asked to: {kept}"))


def _objects(console: Console, plan: Plan) -> None:
    kinds = Counter(str(entry.manifest["kind"]) for entry in plan.objects)
    nodes = len([entry for entry in plan.resources if entry.id.startswith("Node/")])
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    simulated = f"{nodes} simulated nodes, " if nodes else ""
    console.print(Text.assemble(("Objects     ", "bold"), f"{simulated}{sum(kinds.values())} in all: {listed}"))
