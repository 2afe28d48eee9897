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
    """One resource in the state.

    Attributes:
        id: the ID that the provider gives it.
        plan_id: its id in the plan, which is its Pulumi name.
        identity: what the resource is, from its type and inputs.
    """

    urn: str
    id: str
    type: str
    plan_id: str
    identity: Identity = field(default_factory=Identity)

    @property
    def is_child(self) -> bool:
        """Whether a component made it, so that no plan names it: its URN has the component's type before its own."""
        return "$" in self.urn.split("::")[2]


@dataclass(frozen=True, slots=True)
class Pending:
    """An operation that was open when the engine was killed.

    Attributes:
        operation: creating, updating, deleting, reading or importing.
        urn: of the resource.
        id: what the provider calls the resource, worked out from its inputs; "" when they do not tell.
    """

    operation: str
    urn: str
    id: str

    @property
    def text(self) -> str:
        """In words: "creating Namespace/research"."""
        return f"{self.operation} {plan_id(self.urn)}"


def parse_checkpoint(text: str) -> dict[str, Any] | None:
    """The deployment inside a checkpoint file; None when it is of another version or was caught half written."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("version") != _CHECKPOINT_VERSION:
        return None
    latest = (found.get("checkpoint") or {}).get("latest")
    return latest if isinstance(latest, dict) else {}


def resources_in(deployment: Mapping[str, Any]) -> list[Resource]:
    """The resources of the plan, sorted by plan id: neither the stack itself nor its providers."""
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
    """The Helm releases, those that a killed run may have left half made among them; neither values nor secrets."""
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
    """Return the Kubernetes provider that wrote the objects of a state; None where the state holds no objects.

    Both keep notes among the outputs of an object. The built-in provider adds the cluster label of the last write.
    """
    for item in deployment.get("resources") or []:
        outputs = item.get("outputs") or {}
        if item["type"].startswith("kubernetes:") and item["type"] != RELEASE and _NOTE in outputs:
            return "builtin" if _BUILTIN_NOTE in outputs else "official"
    return None


def pending_in(deployment: Mapping[str, Any]) -> list[Pending]:
    """The open operations, sorted by URN."""
    found = [
        Pending(item["type"], item["resource"]["urn"], provider_id(item["resource"]))
        for item in deployment.get("pending_operations") or []
    ]
    return sorted(found, key=lambda pending: pending.urn)


def with_created(deployment: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The deployment as if every open creation had succeeded, and the URNs that this adds.

    What cannot be named, or stands in the state already, is dropped; a refresh must follow and say what is true.
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
    """Which of these resources are objects on the server without our label, or in AWS without our tag: URNs, sorted."""
    return sorted(
        item["urn"]
        for item in deployment.get("resources") or []
        if item["urn"] in urns and not _is_ours(item.get("outputs") or {})
    )


def without_retention(deployment: Mapping[str, Any], plan_ids: Collection[str]) -> dict[str, Any]:
    """The deployment in which these resources are deleted by a destroy, where they were to be kept."""
    return {
        **deployment,
        "resources": [
            {**item, "retainOnDelete": False} if plan_id(item["urn"]) in plan_ids else item
            for item in deployment.get("resources") or []
        ],
    }


def _is_ours(outputs: Mapping[str, Any]) -> bool:
    """Whether it carries our label or tag; what can carry neither was found by a name that is ours."""
    name, value = OWNER_LABEL
    if "metadata" in outputs:
        return bool(((outputs["metadata"] or {}).get("labels") or {}).get(name) == value)
    return "tags" not in outputs or bool((outputs["tags"] or {}).get(name) == value)
