"""Existing installations: which of them this stack manages, and which duties the others have."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlcluster.catalog.signatures import Signature, Switch
from mlcluster.plan.components.index import COMPONENTS
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.plan.value_paths import catalog_path, value_at
from mlcluster.rules.cluster_facts import Seen
from mlcluster.rules.recognition import Installation, match_signatures


@dataclass(frozen=True, slots=True)
class ManagedState:
    """The installations that the stack of this cluster manages.

    Attributes:
        cluster: value of the cluster label.
        releases: (namespace, name) of Helm releases in the state.
    """

    cluster: str
    releases: frozenset[tuple[str, str]] = frozenset()


_ANONYMOUS = frozenset({"manager", "controller", "unknown"})


class ExistingInstallations:
    """The plan and the existing installations of the cluster.

    Attributes:
        wanted: the plan's components by name.
        found: every existing installation.
        own: those that this stack manages.
        duties: duty -> the planned component that has it, and its condition.
    """

    def __init__(self, plan: Plan, seen: Seen, managed: ManagedState, signatures: Mapping[str, Signature]) -> None:
        self.plan, self.seen, self.managed, self.signatures = plan, seen, managed, signatures
        self.wanted = {component.name: component for component in plan.components}
        self.found = match_signatures(seen, signatures)
        self.own = {one for one in self.found if self._is_own(one)}
        self.duties = dict(self._duties())

    def by(self, one: Installation) -> str:
        """Return the tool or controller that installed it, as text for messages."""
        cluster = self._label(one) if one.maker.kind == "helm" else ""
        of = f"mlcluster, cluster {cluster} (" if cluster else ""
        part = f" of {one.part_of}" if one.part_of else ""
        return f"{of}{one.maker.text}{part}{')' if of else ''}"

    def resolution(self, one: Installation) -> str:
        """Return the hint that resolves a conflict with it."""
        key = COMPONENTS[one.name].key if one.name in COMPONENTS else ""
        use = f"Set `components.{key}.install: false` to use it" if key else "Remove the component from the spec"
        remove = "ask its owner to uninstall it"
        if one.maker.kind == "helm" and not one.part_of:
            remove = f"uninstall it (`helm uninstall {one.maker.name} -n {one.maker.namespace}`)"
        return f"{use}, or {remove}."

    def duties_of(self, one: Installation) -> Iterable[str]:
        """Return the duties that an installation of another party has, or that its operator can enable later."""
        entry = self.signatures[one.name]
        return [duty for duty, switch in entry.duties.items() if switch.later or not (switch.off or switch.on)]

    def is_taken(self, one: Installation, duty: str) -> bool:
        """Return whether a planned component has a duty that this installation always has."""
        switch = self.signatures[one.name].duties[duty]
        return duty in self.duties and self.duties[duty][0] != one.name and not (switch.off or switch.on)

    def releases_of(self, name: str) -> list[PlanRelease]:
        """Return the planned releases of a component; a mirror keeps chart names."""
        charts = self.signatures[name].charts
        return [one for one in self.plan.releases if one.chart.rstrip("/").rpartition("/")[2] in charts]

    def _is_own(self, one: Installation) -> bool:
        component = self.wanted.get(one.name)
        if component is not None and component.realisation in {"process", "simulated"}:
            return True
        if self._is_of_stack(one):
            return True
        if one.maker.kind in _ANONYMOUS and self._may_be_registered_by_managed_controller(one):
            return True
        return any(other.name == one.part_of and self._is_of_stack(other) for other in self.found)

    def _may_be_registered_by_managed_controller(self, one: Installation) -> bool:
        """Return whether a controller of this stack may have created it.

        Controllers create webhook configurations, and in a lab APIServices, without a label of the stack. A workload
        without a field manager is not created by a controller: a user installed it beside the managed one.
        """
        return self.plan.cluster.target == "local" or (not one.workloads and self._is_held(one.name))

    def _is_held(self, name: str) -> bool:
        """Return whether the stack has a release of this component."""
        if any(other.name == name and self._is_of_stack(other) for other in self.found):
            return True
        return any((release.namespace, release.name) in self.managed.releases for release in self.releases_of(name))

    def _is_of_stack(self, one: Installation) -> bool:
        maker = one.maker
        if maker.kind == "mlcluster":
            return maker.name == self.managed.cluster
        return maker.kind == "helm" and (
            (maker.namespace, maker.name) in self.managed.releases or self._label(one) == self.managed.cluster
        )

    def _label(self, one: Installation) -> str:
        """Return the cluster label of the Helm release that installed it."""
        key = (one.maker.namespace, one.maker.name)
        return next((entry.cluster for entry in self.seen.releases if (entry.namespace, entry.name) == key), "")

    def _duties(self) -> Iterator[tuple[str, tuple[str, Switch]]]:
        """Yield each duty of a planned component, with the component and the condition."""
        for name, component in self.wanted.items():
            if component.realisation == "present" or name not in self.signatures:
                continue
            for duty, switch in self.signatures[name].duties.items():
                if self._has(name, switch):
                    yield duty, (name, switch)

    def _has(self, name: str, switch: Switch) -> bool:
        if switch.kind:
            manifests = [entry.manifest for entry in self.plan.objects if entry.manifest["kind"] == switch.kind]
            return any(value_at(manifest, catalog_path(switch.on)) for manifest in manifests)
        values = [release.values for release in self.releases_of(name)]
        if switch.on:
            return any(value_at(one, catalog_path(switch.on)) for one in values)
        return not switch.off or not any(value_at(one, catalog_path(switch.off)) is False for one in values)
