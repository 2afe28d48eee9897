"""Compare installed components with the plan: adopt, leave alone, or refuse."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from mlcluster.catalog.signatures import Signature
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import ComponentPlan, Plan
from mlcluster.rules.cluster_facts import Seen
from mlcluster.rules.existing_installations import ExistingInstallations, ManagedState
from mlcluster.rules.recognition import Installation
from mlcluster.rules.versions import holds
from mlcluster.spec.suggestions import listed

Decision = Literal["managed", "adopt", "leave", "refuse", "install", "missing"]
"""Decision on one installation or component.

managed: the stack of this cluster has it. adopt: the cluster uses it as it is. leave: unrelated, left alone.
refuse: it conflicts with the plan. install: the plan installs it. missing: the spec expects it, but it is absent.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table of existing installations and planned components.

    Attributes:
        name: of the component or neighbour.
        found: the object that matched the detection signature; "" for a component that is not installed.
        by: the tool or controller that installed it.
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
    """Existing installations of a cluster, compared with the plan.

    Attributes:
        findings: EXI001 to EXI007.
    """

    seen: Seen
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]


def discover(plan: Plan, seen: Seen, managed: ManagedState, signatures: Mapping[str, Signature]) -> Discovery:
    """Return the decision on every existing installation and every planned component."""
    return _Deciding(ExistingInstallations(plan, seen, managed, signatures)).made()


class _Deciding:
    """Decides on each installation, and collects the findings."""

    def __init__(self, facts: ExistingInstallations) -> None:
        self._facts = facts
        self._wanted, self._signatures, self._seen = facts.wanted, facts.signatures, facts.seen
        self._present = {name for name, one in facts.wanted.items() if one.realisation == "present"}
        self._findings: list[Finding] = []

    def made(self) -> Discovery:
        rows = [self._row(one) for one in self._facts.found]
        acting = {one.name for one in self._facts.found if one.running}
        rows += [self._absent(component) for name, component in self._wanted.items() if name not in acting]
        self._findings += [*self._twice(), *self._namespaces(), *self._blind()]
        return Discovery(self._seen, tuple(sorted(rows, key=lambda row: (row.name, row.found))), tuple(self._findings))

    def _row(self, one: Installation) -> Row:
        decision, note = self._decide(one)
        return Row(
            one.name, self._signatures[one.name].title, one.where, self._facts.by(one), one.version, decision, note
        )

    def _decide(self, one: Installation) -> tuple[Decision, str]:
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
        return "leave", "not in the spec; no conflict"

    # -- decisions

    def _own(self, one: Installation) -> tuple[Decision, str]:
        """Decide on an installation of this stack: with `install: false`, `up` would uninstall it."""
        if one.name not in self._present:
            return "managed", ""
        message = (
            f"this stack manages {self._signatures[one.name].title} ({one.where}); "
            "with `install: false`, `up` would uninstall it"
        )
        hint = (
            "Remove `install: false`. To keep it under another tool, run `mlcluster down` first and install it there."
        )
        self._findings.append(finding("EXI004", self._wanted[one.name].spec_path, message, hint))
        return "missing", "managed by this stack, but `install: false` in the spec"

    def _adopt(self, one: Installation) -> tuple[Decision, str]:
        clash = next((duty for duty in self._signatures[one.name].duties if self._facts.is_taken(one, duty)), "")
        if clash:
            return self._collide(one, clash)
        if one.name not in self._present:
            return "adopt", f"part of {one.part_of}"
        entry = self._signatures[one.name]
        wanted = entry.adopts if one.version_kind == "chart" else entry.adopts_image
        where = self._wanted[one.name].spec_path
        if entry.adopts and not one.version:
            message = f"the version of {entry.title} is unknown; {entry.adopts} is required"
            self._findings.append(finding("EXI005", where, message, "Compare the versions yourself."))
        elif one.version and not holds(wanted, one.version):
            message = f"{entry.title} {one.version} ({self._facts.by(one)}) is installed; {wanted} is required"
            self._findings.append(
                finding("EXI003", where, message, "Ask its owner to upgrade it; mlcluster does not change it.")
            )
        return "adopt", "" if one.workloads or one.version_kind == "chart" else "found none of its workloads"

    def _refuse(self, one: Installation, component: ComponentPlan) -> tuple[Decision, str]:
        title, by = self._signatures[one.name].title, self._facts.by(one)
        version = f" {one.version}" if one.version else ""
        message = f"{title}{version} is already installed: {one.where}, created by {by}"
        self._findings.append(finding("EXI001", component.spec_path, message, self._facts.resolution(one)))
        return "refuse", "the spec installs it too"

    def _collide(self, one: Installation, duty: str) -> tuple[Decision, str]:
        name, switch = self._facts.duties[duty]
        by = f"{one.where}, created by {self._facts.by(one)}"
        where = self._wanted[name].spec_path
        message = f"{self._signatures[one.name].title} is already installed ({by}); {name} would be a second {duty}"
        hint = f"Set {switch.spec}, or ask its owner to uninstall it." if switch.spec else self._facts.resolution(one)
        self._findings.append(finding("EXI002", where, message, hint))
        return "refuse", f"{name} would be a second {duty}"

    def _remains(self, one: Installation) -> tuple[Decision, str]:
        """Decide on CRDs without an installation: Helm rejects a chart with a CRD that another release owns."""
        entry, component = self._signatures[one.name], self._wanted.get(one.name)
        if component is None or component.realisation != "helm" or entry.crds_in == "crds":
            return "leave", "only its CRDs are left; none of its workloads runs"
        mine = {(release.namespace, release.name) for release in self._facts.releases_of(one.name)}
        if (one.maker.namespace, one.maker.name) in mine:
            return "managed", "CRDs of an earlier run"
        delete = f"kubectl delete crd {one.crd}"
        message = f"{one.where} is left from an earlier {entry.title} ({self._facts.by(one)}); Helm cannot adopt it"
        hint = f"Run `{delete}`, which deletes its objects too; or give it to the release (docs/existing-discovery.md)."
        self._findings.append(finding("EXI006", component.spec_path, message, hint))
        return "refuse", "the chart cannot be installed"

    def _absent(self, component: ComponentPlan) -> Row:
        entry = self._signatures.get(component.name)
        title = entry.title if entry else component.name
        if component.realisation != "present":
            return Row(component.name, title, "", "", "", "install", f"{component.version} will be installed")
        where = component.spec_path
        if self._seen.blind:
            message = f"{title} was not found, but these could not be read: {listed(self._seen.blind)}"
            self._findings.append(
                finding("EXI005", where, message, "Use a kubeconfig that may list them, or check it yourself.")
            )
            return Row(component.name, title, "", "", "", "adopt", "not found")
        message = f"the spec expects an existing {title}, but it is not installed"
        self._findings.append(finding("EXI004", where, message, "Remove `install: false`, or install it first."))
        return Row(component.name, title, "", "", "", "missing", "the spec expects it")

    def _twice(self) -> Iterator[Finding]:
        """EXI002: adoption needs exactly one installation of a component."""
        for name in sorted(self._present):
            makers = [one for one in self._facts.found if one.name == name and one.running and not one.part_of]
            if len(makers) > 1:
                told = listed(f"{one.where} of {self._facts.by(one)}" for one in makers)
                message = f"{self._signatures[name].title} is installed {len(makers)} times: {told}"
                hint = "Uninstall all but one: adoption needs exactly one."
                yield finding("EXI002", self._wanted[name].spec_path, message, hint)

    def _namespaces(self) -> Iterator[Finding]:
        """EXI007: a planned namespace already exists. `down` would delete it, with all objects in it."""
        cluster = self._facts.plan.cluster
        there = {one.name: one for one in self._seen.namespaces}
        for entry in self._facts.plan.objects if cluster.target != "local" else ():
            one = there.get(entry.manifest["metadata"]["name"]) if entry.manifest["kind"] == "Namespace" else None
            if one is None or (one.maker.kind == "mlcluster" and one.maker.name == cluster.name):
                continue
            message = f"the namespace {one.name} already exists, created by {one.maker.text}"
            hint = "Delete it, or use another name; to let `down` delete it, label it (docs/existing-discovery.md)."
            yield finding("EXI007", entry.spec_path, message, hint)

    def _blind(self) -> Iterator[Finding]:
        if self._seen.blind and any(one.realisation == "helm" for one in self._wanted.values()):
            told = listed(self._seen.blind)
            why = next(iter(self._seen.blind.values()))
            message = f"could not read {told} ({why}): existing installations may be missed"
            yield finding("EXI005", ("target",), message, "Use a kubeconfig that may list them; mlcluster only reads.")
