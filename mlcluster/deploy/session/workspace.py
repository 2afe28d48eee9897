"""A workspace: a valid spec, its plan, and the findings of the rules. Every command begins with one."""

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
    """A valid spec with its plan and findings."""

    path: Path
    spec: ClusterSpec
    document: Document
    plan: Plan
    findings: tuple[Finding, ...]

    def with_pods(self, rendered: "Rendered") -> "Workspace":
        """Return the workspace of the same spec with the pods of rendered charts in its plan."""
        plan = build(self.spec, rendered)
        return replace(self, plan=plan, findings=findings(plan, self.spec))


def load_workspace(path: Path) -> Workspace:
    """Load a spec, build its plan, and run the rules.

    Raises:
        SpecInvalidError: the spec is unreadable or invalid.
    """
    loaded = load(path)
    plan = build(loaded.spec)
    return Workspace(path, loaded.spec, loaded.document, plan, findings(plan, loaded.spec))
