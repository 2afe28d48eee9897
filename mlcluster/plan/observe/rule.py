"""What a rule is, before it becomes part of a PrometheusRule (monitoring.coreos.com/v1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.thresholds import RECORD_INTERVAL

Severity = Literal["critical", "warning", "info"]
RUNBOOKS = "docs/alerts.md"


@dataclass(frozen=True, slots=True)
class Record:
    """A series that Prometheus makes of others; `labels` are added to each."""

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifest(self) -> Manifest:
        """As a PrometheusRule has it."""
        return {"record": self.name, "expr": self.expr, **({"labels": dict(self.labels)} if self.labels else {})}


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert.

    Attributes:
        hold: how long the condition has to last, "" for not at all.
        summary: one line, with Prometheus's templates.
        description: what it means and what to do first; docs/alerts.md has the rest under a heading of the same name.
    """

    name: str
    expr: str
    severity: Severity
    summary: str
    description: str
    hold: str = ""

    @property
    def runbook(self) -> str:
        """The place in our documentation."""
        return f"{RUNBOOKS}#{self.name.lower()}"

    def manifest(self) -> Manifest:
        """As a PrometheusRule has it."""
        texts = {"summary": self.summary, "description": self.description, "runbook": self.runbook}
        held = {"for": self.hold} if self.hold else {}
        labels = {"severity": self.severity}
        return {"alert": self.name, "expr": self.expr, **held, "labels": labels, "annotations": texts}


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other, in this order."""

    name: str
    rules: tuple[Record | Alert, ...]

    def manifest(self) -> Manifest:
        """As a PrometheusRule has it."""
        rules = [rule.manifest() for rule in self.rules]
        return {"name": self.name, "interval": RECORD_INTERVAL, "rules": rules}


def alerts(groups: Iterable[Group]) -> list[Alert]:
    """Every alert of some groups."""
    return [rule for group in groups for rule in group.rules if isinstance(rule, Alert)]


def records(groups: Iterable[Group]) -> list[Record]:
    """Every record of some groups."""
    return [rule for group in groups for rule in group.rules if isinstance(rule, Record)]
