"""The contents of a stack's state, from an exported deployment or the file of a file backend. Pure."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcluster.engine.events import is_internal, plan_id
from mlcluster.engine.identifiers import provider_id
from mlcluster.engine.identity import RELEASE, Identity, identity_of
from mlcluster.engine.settings import Provider
from mlcluster.rules.upgrades import Deployed

OWNER_LABEL = ("app.kubernetes.io/managed-by", "mlcluster")
_CHECKPOINT_VERSION = 3
_NOTE, _BUILTIN_NOTE = "__fieldManager", "__mlclusterOwner"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in the state.

    Attributes:
        id: its provider ID.
        plan_id: its id in the plan, which is its Pulumi name.
        identity: kind, name and namespace of the resource, from its type and inputs.
    """

    urn: str
    id: str
    type: str
    plan_id: str
    identity: Identity = field(default_factory=Identity)

    @property
    def is_child(self) -> bool:
        """Whether a component created it, so that no plan contains it: its URN has two types."""
        return "$" in self.urn.split("::")[2]


@dataclass(frozen=True, slots=True)
class Pending:
    """An operation that was pending when the engine was killed.

    Attributes:
        operation: creating, updating, deleting, reading or importing.
        urn: URN of the resource.
        id: the provider ID of the resource, predicted from its inputs; "" if they do not determine it.
    """

    operation: str
    urn: str
    id: str

    @property
    def text(self) -> str:
        """A description such as "creating Namespace/research"."""
        return f"{self.operation} {plan_id(self.urn)}"


def parse_checkpoint(text: str) -> dict[str, Any] | None:
    """Return the deployment in a checkpoint file; None if it has another version or is partially written."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("version") != _CHECKPOINT_VERSION:
        return None
    latest = (found.get("checkpoint") or {}).get("latest")
    return latest if isinstance(latest, dict) else {}


def resources_in(deployment: Mapping[str, Any]) -> list[Resource]:
    """Return the resources other than the stack and its providers, sorted by plan id."""
    found = [_resource(item) for item in deployment.get("resources") or [] if not is_internal(item["type"])]
    return sorted(found, key=lambda resource: resource.plan_id)


def _resource(item: Mapping[str, Any]) -> Resource:
    name = plan_id(item["urn"])
    identity = identity_of(item["type"], name, item.get("inputs") or {})
    return Resource(item["urn"], item.get("id", ""), item["type"], name, identity)


def outputs_in(deployment: Mapping[str, Any], type_: str) -> dict[str, dict[str, Any]]:
    """Return the outputs of every resource of a type, by plan id; secret values are still encrypted."""
    return {
        plan_id(item["urn"]): dict(item.get("outputs") or {})
        for item in deployment.get("resources") or []
        if item["type"] == type_
    }


def releases_in(deployment: Mapping[str, Any]) -> list[Deployed]:
    """Return the Helm releases without values and secrets, including partially installed ones of a killed run."""
    items = list(deployment.get("resources") or [])
    items += [entry["resource"] for entry in deployment.get("pending_operations") or []]
    found = {(one.namespace, one.name): one for one in (_deployed(item) for item in reversed(items)) if one is not None}
    return [found[key] for key in sorted(found)]


def _deployed(item: Mapping[str, Any]) -> Deployed | None:
    if item.get("type") != RELEASE:
        return None
    inputs, status = item.get("inputs") or {}, (item.get("outputs") or {}).get("status") or {}
    namespace, _, name = str(item.get("id") or "").rpartition("/")
    version = inputs.get("version") or (status.get("version") if isinstance(status, dict) else "")
    return Deployed(
        str(inputs.get("namespace") or namespace),
        str(inputs.get("name") or name),
        str(inputs.get("chart") or ""),
        str(version or ""),
    )


def provider_in(deployment: Mapping[str, Any]) -> Provider | None:
    """Return the Kubernetes provider that wrote the objects of a state; None if the state has no objects.

    Both providers store notes in the outputs of an object. The built-in one adds the cluster label of the last write.
    """
    for item in deployment.get("resources") or []:
        outputs = item.get("outputs") or {}
        if item["type"].startswith("kubernetes:") and item["type"] != RELEASE and _NOTE in outputs:
            return "builtin" if _BUILTIN_NOTE in outputs else "official"
    return None


def pending_in(deployment: Mapping[str, Any]) -> list[Pending]:
    """Return the pending operations, sorted by URN."""
    found = [
        Pending(item["type"], item["resource"]["urn"], provider_id(item["resource"]))
        for item in deployment.get("pending_operations") or []
    ]
    return sorted(found, key=lambda pending: pending.urn)


def with_created(deployment: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return the deployment as if every pending creation had succeeded, and the URNs that this adds.

    Creations without a predictable ID and those already in the state are dropped. A refresh must follow, which corrects
    the state.
    """
    resources = list(deployment.get("resources") or [])
    known = {item["urn"] for item in resources}
    added: set[str] = set()
    others = []
    for item in deployment.get("pending_operations") or []:
        resource = item["resource"]
        if item["type"] != "creating":
            others.append(item)
        elif resource["urn"] not in known and (identifier := provider_id(resource)):
            resources.append({**resource, "id": identifier, "outputs": resource.get("inputs") or {}})
            added.add(resource["urn"])
    return {**deployment, "resources": resources, "pending_operations": others}, added


def foreign_in(deployment: Mapping[str, Any], urns: set[str]) -> list[str]:
    """Return the sorted URNs of those resources that carry neither the cluster's label nor its AWS tag."""
    return sorted(
        item["urn"]
        for item in deployment.get("resources") or []
        if item["urn"] in urns and not _is_managed(item.get("outputs") or {})
    )


def without_retention(deployment: Mapping[str, Any], plan_ids: Collection[str]) -> dict[str, Any]:
    """Return the deployment in which a destroy deletes these resources instead of retaining them."""
    return {
        **deployment,
        "resources": [
            {**item, "retainOnDelete": False} if plan_id(item["urn"]) in plan_ids else item
            for item in deployment.get("resources") or []
        ],
    }


def _is_managed(outputs: Mapping[str, Any]) -> bool:
    """Return whether the outputs carry the label or tag. A resource that can carry neither has a managed name."""
    name, value = OWNER_LABEL
    if "metadata" in outputs:
        return bool(((outputs["metadata"] or {}).get("labels") or {}).get(name) == value)
    return "tags" not in outputs or bool((outputs["tags"] or {}).get(name) == value)
