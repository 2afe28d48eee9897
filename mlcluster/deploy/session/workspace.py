"""What every verb begins with: a spec, its plan, and what the rules say of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

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
