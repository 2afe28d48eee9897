"""Rules on storage: what `down` retains."""

from collections.abc import Iterator

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.spec.document import Loc


def kept_by_down(plan: Plan) -> Iterator[Finding]:
    """STO001: resources that `down` keeps and AWS continues to bill."""
    kept: dict[Loc, list[str]] = {}
    for entry in plan.resources:
        if entry.retained:
            kept.setdefault(entry.spec_path, []).append(entry.id)
    for spec_path, identifiers in kept.items():
        yield finding(
            "STO001",
            spec_path,
            f"`down` keeps {', '.join(identifiers)}, which AWS continues to bill",
            "Run the commands that `down` prints to delete them; `retain: false` deletes shared volumes too.",
        )
