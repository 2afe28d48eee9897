"""Existing installations: which discovered objects this stack manages, and which duties other parties have."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlcluster.catalog.signs import Signs, Switch
from mlcluster.plan.components.index import COMPONENTS
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.plan.value_paths import catalogue_path, value_at
from mlcluster.rules.cluster_facts import Seen
from mlcluster.rules.recognise import Found, recognise


@dataclass(frozen=True, slots=True)
class Ours:
    """What this cluster's stack holds, and so nobody else.

    Attributes:
        cluster: our cluster label's value.
        releases: (namespace, name) of Helm releases in the state.
    """

    cluster: str
    releases: frozenset[tuple[str, str]] = frozenset()


_ANONYMOUS = frozenset({"manager", "controller", "unknown"})


class Standing:
    """The plan and the cluster side by side.

    Attributes:
        wanted: the plan's components by name.
        found: everything that was recognised.
        own: what of it is this stack's.
        duties: what the plan's own components do: duty -> which one, and what switches it off.
    """

    def __init__(self, plan: Plan, seen: Seen, ours: Ours, signs: Mapping[str, Signs]) -> None:
        self.plan, self.seen, self.ours, self.signs = plan, seen, ours, signs
        self.wanted = {component.name: component for component in plan.components}
        self.found = recognise(seen, signs)
        self.own = {one for one in self.found if self._is_own(one)}
        self.duties = dict(self._duties())

    def by(self, one: Found) -> str:
        """Who made it, in words."""
        cluster = self._label(one) if one.maker.kind == "helm" else ""
        of = f"mlcluster, cluster {cluster} (" if cluster else ""
        part = f" of {one.part_of}" if one.part_of else ""
        return f"{of}{one.maker.text}{part}{')' if of else ''}"

    def way_out(self, one: Found) -> str:
        """What somebody can do about it."""
        key = COMPONENTS[one.name].key if one.name in COMPONENTS else ""
        use = f"components.{key}.install: false uses it as it is" if key else "leave yours out of the spec"
        remove = "have its owner take it away"
        if one.maker.kind == "helm" and not one.part_of:
            remove = f"take it away (helm uninstall {one.maker.name} -n {one.maker.namespace})"
        return f"{use}; or {remove}"

    def duties_of(self, one: Found) -> Iterable[str]:
        """Of somebody else's: what it has by being there, and what its operator takes up as soon as it can."""
        entry = self.signs[one.name]
        return [duty for duty, switch in entry.duties.items() if switch.later or not (switch.off or switch.on)]

    def is_taken(self, one: Found, duty: str) -> bool:
        """Whether a duty that it surely has is that of another component of ours."""
        switch = self.signs[one.name].duties[duty]
        return duty in self.duties and self.duties[duty][0] != one.name and not (switch.off or switch.on)

    def releases_of(self, name: str) -> list[PlanRelease]:
        """The releases of a component; a mirror keeps the name of a chart."""
        charts = self.signs[name].charts
        return [one for one in self.plan.releases if one.chart.rstrip("/").rpartition("/")[2] in charts]

    def _is_own(self, one: Found) -> bool:
        component = self.wanted.get(one.name)
        if component is not None and component.realisation in {"process", "simulated"}:
            return True
        if self._is_of_stack(one):
            return True
        if one.maker.kind in _ANONYMOUS and self._may_be_registered_by_ours(one):
            return True
        return any(other.name == one.part_of and self._is_of_stack(other) for other in self.found)

    def _may_be_registered_by_ours(self, one: Found) -> bool:
        """Controllers make webhooks themselves, and on the lab API services: no label tells that they do.

        A workload that nobody has signed is no controller's doing; a second one was put beside ours by hand.
        """
        return self.plan.cluster.target == "local" or (not one.workloads and self._is_held(one.name))

    def _is_held(self, name: str) -> bool:
        """Whether the stack has a release of this component."""
        if any(other.name == name and self._is_of_stack(other) for other in self.found):
            return True
        return any((release.namespace, release.name) in self.ours.releases for release in self.releases_of(name))

    def _is_of_stack(self, one: Found) -> bool:
        maker = one.maker
        if maker.kind == "mlcluster":
            return maker.name == self.ours.cluster
        return maker.kind == "helm" and (
            (maker.namespace, maker.name) in self.ours.releases or self._label(one) == self.ours.cluster
        )

    def _label(self, one: Found) -> str:
        """Our cluster label of the Helm release that made it."""
        key = (one.maker.namespace, one.maker.name)
        return next((entry.cluster for entry in self.seen.releases if (entry.namespace, entry.name) == key), "")

    def _duties(self) -> Iterator[tuple[str, tuple[str, Switch]]]:
        """What this plan's own components do: duty -> which one, and what switches it off."""
        for name, component in self.wanted.items():
            if component.realisation == "present" or name not in self.signs:
                continue
            for duty, switch in self.signs[name].duties.items():
                if self._has(name, switch):
                    yield duty, (name, switch)

    def _has(self, name: str, switch: Switch) -> bool:
        if switch.kind:
            manifests = [entry.manifest for entry in self.plan.objects if entry.manifest["kind"] == switch.kind]
            return any(value_at(manifest, catalogue_path(switch.on)) for manifest in manifests)
        values = [release.values for release in self.releases_of(name)]
        if switch.on:
            return any(value_at(one, catalogue_path(switch.on)) for one in values)
        return not switch.off or not any(value_at(one, catalogue_path(switch.off)) is False for one in values)
