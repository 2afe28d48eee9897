"""Comparison of planned objects and the state with the objects that exist on the server. Pure.

The official provider creates by POST and updates by name (`Creation` and `Update` in provider/pkg/await/await.go of
pulumi-kubernetes 4.32): it neither adopts an object that an interrupted run created, nor detects that an unmanaged
object uses a managed name. mlcluster decides both before the engine starts, from labels and UIDs, by the rules of the
built-in provider.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.engine.adoption import Adopted, Held
from mlcluster.kubernetes_provider.ownership import belongs_to, describe, identity, ours

Object = Mapping[str, Any]

_IDENTIFYING = frozenset({"name", "namespace", "uid", "labels"})


@dataclass(frozen=True, slots=True)
class Planned:
    """An object of the plan: its id, its manifest, and the plan ids of its dependencies."""

    id: str
    manifest: dict[str, Any]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreign:
    """An object under a managed name that mlcluster does not manage.

    Attributes:
        name: kind and name.
        manager: its probable manager.
        urn: URN of the resource in the state that has its name, "" if there is none.
        namespace: its namespace, "" for a cluster-scoped object.
    """

    name: str
    manager: str
    urn: str = ""
    namespace: str = ""

    @property
    def text(self) -> str:
        """A description such as "ConfigMap a/m, managed by the field manager kubectl"."""
        return f"{self.name}, managed by {self.manager}"


def type_token(manifest: Object) -> str:
    """Return the Pulumi type with which `stacks.registration` registers an object."""
    version = str(manifest["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def sort_missing(found: Iterable[tuple[Planned, dict[str, Any]]], cluster: str) -> tuple[list[Adopted], list[Foreign]]:
    """Return the existing objects among those that the state lacks: the ones to adopt, and the foreign ones.

    An object that is being deleted is in neither list: it cannot be adopted, and the provider reports it.

    Args:
        found: planned objects with the live objects of their names.
        cluster: name of the cluster, the value of its label.
    """
    adopted, foreign = [], []
    for planned, live in found:
        if not ours(live, cluster):
            foreign.append(Foreign(describe(live), belongs_to(live)))
        elif not live["metadata"].get("deletionTimestamp"):
            adopted.append(_adopted(planned, live))
    return adopted, foreign


def _adopted(planned: Planned, live: dict[str, Any]) -> Adopted:
    inputs = planned.manifest
    outputs = live | {"metadata": {key: value for key, value in live["metadata"].items() if key != "managedFields"}}
    if planned.manifest["kind"] == "Secret":
        inputs = {key: value for key, value in inputs.items() if key not in {"data", "stringData"}}
        outputs = _bare(live)
    return Adopted(planned.id, type_token(planned.manifest), identity(live), inputs, outputs, planned.needs)


def _bare(secret: Object) -> dict[str, Any]:
    """Return only the identity of a Secret, because `kubectl apply` repeats the data in an annotation.

    The provider later adds the contents to the state, encrypted by the engine.
    """
    metadata = {key: value for key, value in secret["metadata"].items() if key in _IDENTIFYING}
    return {key: secret[key] for key in ("apiVersion", "kind") if key in secret} | {"metadata": metadata}


def replaced(found: Iterable[tuple[Held, dict[str, Any]]], cluster: str) -> list[Foreign]:
    """Return the objects of the state whose name an unmanaged object uses now.

    An object with the recorded UID is managed, even if a user removed its labels.

    Args:
        found: objects of the state with the live objects of their names.
        cluster: name of the cluster, the value of its label.
    """
    return [
        Foreign(describe(live), belongs_to(live), held.urn, held.namespace)
        for held, live in found
        if live["metadata"].get("uid") != held.uid and not ours(live, cluster)
    ]
