"""Compare installed components with the plan: adopt, leave alone, or refuse."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mlcluster.catalog.signs import Signs
from mlcluster.findings import Finding, found
from mlcluster.plan.model import ComponentPlan, Plan
from mlcluster.plan.places import place
from mlcluster.rules.cluster_facts import Seen
from mlcluster.rules.recognise import Found
from mlcluster.rules.standing import Ours, Standing
from mlcluster.rules.versions import holds
from mlcluster.spec.suggestions import listed

Decision = Literal["ours", "adopt", "leave", "refuse", "install", "missing"]
"""What becomes of one thing: it is of this cluster's stack, used as it is, left alone, in the way; or not there."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: component, what was found, by whom, which version, what becomes of it.

    Attributes:
        name: of the component or neighbour.
        found: the object that it was recognised by; "" where nothing is.
    """

    name: str
    title: str
    found: str
    by: str
    version: str
    decision: Decision
    note: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a look at the cluster leads to.

    Attributes:
        findings: EXI001 to EXI007.
    """

    seen: Seen
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def discover(plan: Plan, seen: Seen, ours: Ours, signs: Mapping[str, Signs]) -> Discovery:
    """Decides on everything that was recognised, and on every component that was not."""
    return _Deciding(Standing(plan, seen, ours, signs)).made()


class _Deciding:
    """One decision after another over the same facts, and the findings that they lead to."""

    def __init__(self, facts: Standing) -> None:
        self._facts = facts
        self._wanted, self._signs, self._seen = facts.wanted, facts.signs, facts.seen
        self._present = {name for name, one in facts.wanted.items() if one.realisation == "present"}
        self._findings: list[Finding] = []

    def made(self) -> Discovery:
        rows = [self._row(one) for one in self._facts.found]
        acting = {one.name for one in self._facts.found if one.running}
        rows += [self._absent(component) for name, component in self._wanted.items() if name not in acting]
        self._findings += [*self._twice(), *self._namespaces(), *self._blind()]
        return Discovery(self._seen, tuple(sorted(rows, key=lambda row: (row.name, row.found))), tuple(self._findings))

    def _row(self, one: Found) -> Row:
        decision, note = self._decide(one)
        return Row(one.name, self._signs[one.name].title, one.where, self._facts.by(one), one.version, decision, note)

    def _decide(self, one: Found) -> tuple[Decision, str]:
        if one in self._facts.own:
            return self._own(one)
        if not one.running:
            return self._remains(one)
        component = self._wanted.get(one.name)
        if component is not None and one.name not in self._present:
            return self._refuse(one, component)
        if component is not None or one.part_of in self._present:
            return self._adopt(one)
        for duty in self._facts.duties_of(one):
            if duty in self._facts.duties:
                return self._collide(one, duty)
        return "leave", "not asked for, and in nobody's way"

    # -- decisions

    def _own(self, one: Found) -> tuple[Decision, str]:
        """`install: false` for a release of ours takes it out of the plan: `up` would uninstall it."""
        if one.name not in self._present:
            return "ours", ""
        message = f"{self._signs[one.name].title} ({one.where}) is this stack's own: with `install: false` it would go"
        hint = "leave `install: false` out; to hand it over, take this cluster down first"
        self._findings.append(found("EXI004", place(self._wanted[one.name].spec_path), message, hint))
        return "missing", "ours, and the spec does not want it"

    def _adopt(self, one: Found) -> tuple[Decision, str]:
        clash = next((duty for duty in self._signs[one.name].duties if self._facts.is_taken(one, duty)), "")
        if clash:
            return self._collide(one, clash)
        if one.name not in self._present:
            return "adopt", f"part of {one.part_of}"
        entry = self._signs[one.name]
        wanted = entry.adopts if one.version_kind == "chart" else entry.adopts_image
        where = place(self._wanted[one.name].spec_path)
        if entry.adopts and not one.version:
            message = f"which version of {entry.title} is there cannot be told; {entry.adopts} is needed"
            self._findings.append(found("EXI005", where, message, "compare it yourself"))
        elif one.version and not holds(wanted, one.version):
            message = f"{entry.title} {one.version} of {self._facts.by(one)} is there, and {wanted} is needed"
            self._findings.append(
                found("EXI003", where, message, "upgrade it first; its owner does that, not mlcluster")
            )
        return "adopt", "" if one.workloads or one.version_kind == "chart" else "no workload of it was seen"

    def _refuse(self, one: Found, component: ComponentPlan) -> tuple[Decision, str]:
        title, by = self._signs[one.name].title, self._facts.by(one)
        version = f" {one.version}" if one.version else ""
        message = f"{title}{version} is there already: {one.where}, made by {by}"
        self._findings.append(found("EXI001", place(component.spec_path), message, self._facts.way_out(one)))
        return "refuse", "the spec wants to install it"

    def _collide(self, one: Found, duty: str) -> tuple[Decision, str]:
        name, switch = self._facts.duties[duty]
        by = f"{one.where}, made by {self._facts.by(one)}"
        where = place(self._wanted[name].spec_path)
        message = f"{self._signs[one.name].title} is there already ({by}), and {name} would be a second {duty}"
        hint = f"{switch.spec}; or have its owner take it away" if switch.spec else self._facts.way_out(one)
        self._findings.append(found("EXI002", where, message, hint))
        return "refuse", f"{name} would be a second {duty}"

    def _remains(self, one: Found) -> tuple[Decision, str]:
        """Only definitions are left. Helm refuses a chart that makes them itself, unless they are its release's."""
        entry, component = self._signs[one.name], self._wanted.get(one.name)
        if component is None or component.realisation != "helm" or entry.definitions_in == "crds":
            return "leave", "definitions only: nothing of it runs"
        mine = {(release.namespace, release.name) for release in self._facts.releases_of(one.name)}
        if (one.maker.namespace, one.maker.name) in mine:
            return "ours", "definitions of an earlier run"
        delete = f"kubectl delete crd {one.where.rpartition(' ')[2]}"
        message = (
            f"{one.where} is left of an earlier {entry.title} ({self._facts.by(one)}), and Helm does not take it over"
        )
        hint = f"{delete}, which takes its objects along; or hand it to the release (docs/existing-discovery.md)"
        self._findings.append(found("EXI006", place(component.spec_path), message, hint))
        return "refuse", "in the way of the chart"

    def _absent(self, component: ComponentPlan) -> Row:
        entry = self._signs.get(component.name)
        title = entry.title if entry else component.name
        if component.realisation != "present":
            return Row(component.name, title, "", "", "", "install", f"{component.version} will be installed")
        where = place(component.spec_path)
        if self._seen.blind:
            message = f"{title} was not seen, and not everything could be looked at: {listed(self._seen.blind)}"
            self._findings.append(found("EXI005", where, message, "look with more rights, or check it yourself"))
            return Row(component.name, title, "", "", "", "adopt", "not seen")
        message = f"the spec says that {title} is there already, and it is not"
        self._findings.append(found("EXI004", where, message, "leave `install: false` out, or install it first"))
        return Row(component.name, title, "", "", "", "missing", "the spec says that it is there")

    def _twice(self) -> Iterator[Finding]:
        """Two installations of what is adopted: which one would it be?"""
        for name in sorted(self._present):
            makers = [one for one in self._facts.found if one.name == name and one.running and not one.part_of]
            if len(makers) > 1:
                told = listed(f"{one.where} of {self._facts.by(one)}" for one in makers)
                message = f"{self._signs[name].title} is there {len(makers)} times: {told}"
                yield found("EXI002", place(self._wanted[name].spec_path), message, "take all but one away")

    def _namespaces(self) -> Iterator[Finding]:
        """EXI007: ours would be taken away by `down`, with whatever somebody else has in it."""
        cluster = self._facts.plan.cluster
        there = {one.name: one for one in self._seen.namespaces}
        for entry in self._facts.plan.objects if cluster.target != "local" else ():
            one = there.get(entry.manifest["metadata"]["name"]) if entry.manifest["kind"] == "Namespace" else None
            if one is None or (one.maker.kind == "mlcluster" and one.maker.name == cluster.name):
                continue
            message = f"the namespace {one.name} is there already, made by {one.maker.text}"
            hint = "delete it, or rename ours; if it may go with ours, label it so (docs/existing-discovery.md)"
            yield found("EXI007", place(entry.spec_path), message, hint)

    def _blind(self) -> Iterator[Finding]:
        if self._seen.blind and any(one.realisation == "helm" for one in self._wanted.values()):
            told = listed(self._seen.blind)
            why = next(iter(self._seen.blind.values()))
            message = f"could not look at {told}: what is installed there may be missed ({why})"
            yield found("EXI005", ("target",), message, "use a kubeconfig that may list them; mlcluster only reads")
