"""What every verb begins with: a spec, its plan, and what the rules say of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.errors import MlclusterError
from mlcluster.findings import Finding
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Document
from mlcluster.spec.load import load

if TYPE_CHECKING:
    from mlcluster.plan.rendered_pods import Rendered


@dataclass(frozen=True, slots=True)
class Workspace:
    """A valid spec with everything that follows from it alone."""

    path: Path
    spec: ClusterSpec
    document: Document
    plan: Plan
    findings: tuple[Finding, ...]

    def with_pods(self, rendered: "Rendered") -> "Workspace":
        """Return what follows from the same spec with pods of rendered charts."""
        plan = build(self.spec, rendered)
        return replace(self, plan=plan, findings=findings(plan, self.spec))


def load_workspace(path: Path) -> Workspace:
    """Load, build, prove.

    Raises:
        SpecInvalidError: the spec is unreadable or invalid.
    """
    loaded = load(path)
    plan = build(loaded.spec)
    return Workspace(path, loaded.spec, loaded.document, plan, findings(plan, loaded.spec))


def stop_on_errors(workspace: Workspace, found: tuple[Finding, ...]) -> None:
    """`preview` and `up` do not go on with an error that the spec does not allow.

    Raises:
        MlclusterError: there is one.
    """
    blocking = [finding for finding in found if finding.blocks]
    if not blocking:
        return
    first = blocking[0]
    more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
    raise MlclusterError(
        "checking the plan",
        f"{first.id}: {first.message}{more}",
        f"see `mlcluster validate {workspace.path}`; or accept it in the spec: "
        f"allow: [{{id: {first.id}, reason: why this is fine here}}]",
    )
