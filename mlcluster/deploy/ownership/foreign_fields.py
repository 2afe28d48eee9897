"""Fields that another manager added to managed objects, where the official provider does not see them.

The built-in provider compares them itself, so that the engine reports and removes them. The official plugin does not:
`status`, `preview` and `up` compare the plan with the cluster beside the engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.kube.added_fields import Added, added_fields
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import list_if_served
from mlcluster.kube.exact import make_exact
from mlcluster.plan import names
from mlcluster.plan.model import Plan, PlanObject
from mlcluster.progress import Progress

Object = dict[str, Any]

_OFFICIAL = "pulumi-"  # the plugin's field managers: pulumi-kubernetes, pulumi-kubernetes-1f2e3d4c
_REMOVER = "mlcluster"


@dataclass(frozen=True, slots=True)
class Widened:
    """A managed object with fields that another manager added."""

    planned: PlanObject
    live: Object
    added: tuple[Added, ...]

    @property
    def paths(self) -> list[str]:
        """The added fields, spelled as the engine spells them: `spec.ingress[0].from`."""
        return [_spelled(one) for one in self.added]

    @property
    def text(self) -> str:
        """Return the action of `up` on the fields, as one line."""
        managers = ", ".join(sorted({one.manager for one in self.added}))
        return f"{self.planned.id}: {', '.join(self.paths)} is removed; {managers} added it"


def widened(plan: Plan, kube: Kube) -> list[Widened]:
    """Return the managed objects to which another manager added fields; none where the engine sees them itself."""
    if plan.cluster.kubernetes_provider != "official":
        return []
    live = _managed(plan, kube)
    found = []
    for planned in plan.objects:
        one = live.get(_key(planned.manifest))
        added = added_fields(planned.manifest, one, _is_managed) if one is not None else []
        if one is not None and added:
            found.append(Widened(planned, one, tuple(added)))
    return found


def remove_added(plan: Plan, kube: Kube, progress: Progress) -> None:
    """Remove fields that other managers added from managed objects."""
    for one in widened(plan, kube):
        make_exact(kube, one.planned.manifest, one.live, _is_managed, _REMOVER)
        progress.say(one.text)


def _is_managed(entry: Mapping[str, Any]) -> bool:
    return str(entry.get("manager") or "").startswith(_OFFICIAL)


def _managed(plan: Plan, kube: Kube) -> dict[tuple[str, str, str, str], Object]:
    """Return the live objects of the plan's kinds that carry the labels of the cluster."""
    selector = names.managed_selector(plan.cluster.name)
    kinds = sorted({(one.manifest["apiVersion"], one.manifest["kind"]) for one in plan.objects})
    return {_key(item): item for kind in kinds for item in list_if_served(kube, *kind, label_selector=selector)}


def _key(manifest: Object) -> tuple[str, str, str, str]:
    metadata = manifest["metadata"]
    return manifest["apiVersion"], manifest["kind"], str(metadata.get("namespace") or ""), metadata["name"]


def _spelled(added: Added) -> str:
    text = ""
    for part in added.path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
