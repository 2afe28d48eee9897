"""Rules on storage: what `down` retains."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.plan.places import place


def kept_by_down(plan: Plan) -> Iterator[Finding]:
    """STO001: resources that `down` leaves, and that go on costing money."""
    kept: dict[str, list[str]] = {}
    for entry in plan.resources:
        if entry.retained:
            kept.setdefault(entry.spec_path, []).append(entry.id)
    for spec_path, identifiers in kept.items():
        yield finding(
            "STO001",
            place(spec_path),
            f"`down` keeps {', '.join(identifiers)}, and what costs money there goes on costing it",
            "`down` names each with the command that deletes it; shared volumes go too with `retain: false`",
        )
