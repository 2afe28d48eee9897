"""The baseline: CRDs and node labels that were in a cluster before the first installation of a component.

`down` leaves them unchanged.

A chart's `crds/` folder skips definitions that are there, and labels of nodes do not say who wrote them first; so what
is there is noted before the first installation, in a ConfigMap of its own.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mlcluster.catalog.residue import residue_of
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import CRD_KIND
from mlcluster.plan import names
from mlcluster.plan.model import Plan

NAMESPACE = "kube-system"
NAME = "mlcluster-found"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The baseline of a release: names of CRDs, keys of node labels."""

    crds: frozenset[str]
    node_labels: frozenset[str]


def note_found(plan: Plan, kube: Kube, held: Iterable[str]) -> None:
    """Record the baseline of each release once, before it is installed for the first time.

    Args:
        plan: the plan with the releases that will be installed.
        kube: the cluster.
        held: ids of resources that the stack already has: their baseline can no longer be recorded.
    """
    noted, held = _read(kube), set(held)
    missing = [
        release
        for release in plan.releases
        if release.realisation == "helm" and release.name not in noted and release.id not in held
    ]
    fresh = {release.name: {"namespace": release.namespace, **_look(kube, release.name)} for release in missing}
    if fresh:
        data = {name: json.dumps(found) for name, found in {**noted, **fresh}.items()}
        metadata = {"name": NAME, "namespace": NAMESPACE, "labels": names.owned(plan.cluster.name)}
        kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def found_before(kube: Kube, release: str) -> Baseline | None:
    """Return the baseline of a release; None if none was recorded in time."""
    noted = _read(kube).get(release)
    return None if noted is None else Baseline(frozenset(noted["definitions"]), frozenset(noted["nodeLabels"]))


def noted_releases(kube: Kube) -> dict[str, str]:
    """Return every recorded release and its namespace, so that an interrupted `down` finds them again."""
    return {name: str(noted["namespace"]) for name, noted in _read(kube).items()}


def forget_found(kube: Kube) -> None:
    """Delete the record: one of the last steps of `down`."""
    kube.delete("v1", "ConfigMap", NAME, NAMESPACE)


def _read(kube: Kube) -> dict[str, dict[str, Any]]:
    found = kube.get_object("v1", "ConfigMap", NAME, NAMESPACE) or {}
    return {name: json.loads(text) for name, text in (found.get("data") or {}).items()}


def _look(kube: Kube, name: str) -> dict[str, list[str]]:
    there = [one for one in residue_of(name).crds if kube.get_object(*CRD_KIND, one) is not None]
    return {"definitions": there, "nodeLabels": sorted(_labels(kube, _prefixes(name)))}


def _prefixes(name: str) -> tuple[str, ...]:
    return residue_of(name).node_label_prefixes


def _labels(kube: Kube, prefixes: tuple[str, ...]) -> set[str]:
    if not prefixes:
        return set()
    return {
        key
        for node in kube.list("v1", "Node")
        for key in node["metadata"].get("labels") or {}
        if key.startswith(prefixes)
    }
