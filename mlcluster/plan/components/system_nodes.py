"""Placement of controllers if the spec reserves pools for them (`systemOnly`): only on the nodes of these pools.

The toleration `CriticalAddonsOnly` for every effect marks a controller: every controller of mlcluster has it, in the
values of its chart or in its manifest, and no daemon set has it. This module adds the node selector next to such
tolerations.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mlcluster.plan import names
from mlcluster.plan.model import PlanObject, PlanPod, PlanRelease, Pool
from mlcluster.plan.taints import CRITICAL, toleration_manifest
from mlcluster.spec.pools import common_labels

Selector = Mapping[str, str]

_CRITICAL = toleration_manifest(CRITICAL)

_BESIDE = {"tolerations": "nodeSelector", "default_tolerations": "default_ns"}
"""Key of a pod's tolerations in chart values -> key of its node selector; the second pair is Volcano's."""
NODE_SELECTORS = frozenset(_BESIDE.values())

_AFFINITY_BESIDE = ("deploymentTolerations", "deploymentNodeAffinity")
"""The same keys in a NicClusterPolicy, which has node affinity for its controllers and no selector."""


def system_selector(pools: Iterable[Pool], *, on_existing: bool) -> dict[str, str]:
    """Return the labels that the nodes of all system pools have; {} if the spec reserves no pool.

    Args:
        on_existing: the nodes have only the labels by which the spec selects them.
    """
    kept = [pool for pool in pools if pool.system_only]
    if not kept:
        return {}
    if on_existing:
        return common_labels(pool.selector for pool in kept)
    return {names.SYSTEM_ONLY: "true"}


def pods_on(selector: Selector, pods: Iterable[PlanPod]) -> tuple[PlanPod, ...]:
    """Return the pods, with the selector added to those of controllers."""
    return tuple(
        replace(pod, node_selector={**pod.node_selector, **selector}) if selector and _runs_there(pod) else pod
        for pod in pods
    )


def release_on(selector: Selector, release: PlanRelease) -> PlanRelease:
    """Return the release with the selector in its values, for each of its controllers."""
    return replace(release, values=_placed(release.values, selector)) if selector else release


def object_on(selector: Selector, entry: PlanObject) -> PlanObject:
    """Return the object with the selector in the pods of its controller."""
    return replace(entry, manifest=_placed(entry.manifest, selector)) if selector else entry


def sets_on(selector: Selector, sets: Mapping[str, str]) -> dict[str, str]:
    """Return the paths of values that mlcluster sets, with those of the selector: path -> reason.

    Args:
        sets: the paths of the chart in the catalog.
    """
    if not selector:
        return dict(sets)
    beside = {
        path.removesuffix(tolerations) + node_selector: "The nodes of the systemOnly pools."
        for path in sets
        for tolerations, node_selector in _BESIDE.items()
        if path.rpartition(".")[2] == tolerations
    }
    return {**sets, **beside}


def _runs_there(pod: PlanPod) -> bool:
    return pod.kind != "DaemonSet" and CRITICAL in pod.tolerations


def _placed(value: Any, selector: Selector) -> Any:
    if isinstance(value, list):
        return [_placed(part, selector) for part in value]
    if not isinstance(value, dict):
        return value
    made = {key: _placed(part, selector) for key, part in value.items()}
    for tolerations, node_selector in _BESIDE.items():
        if isinstance(value.get(tolerations), list) and _CRITICAL in value[tolerations]:
            made[node_selector] = {**value.get(node_selector, {}), **selector}
    tolerations, affinity = _AFFINITY_BESIDE
    if _CRITICAL in value.get(tolerations, ()):
        term = [{"key": key, "operator": "In", "values": [wanted]} for key, wanted in selector.items()]
        required = {"nodeSelectorTerms": [{"matchExpressions": term}]}
        made[affinity] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return made
