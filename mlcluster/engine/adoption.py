"""Edits of a deployment: add objects that exist on the server to the state, and remove others from it. Pure."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.engine.events import is_internal, plan_id

_STACK = "pulumi:pulumi:Stack"
_PROVIDER = "pulumi:providers:kubernetes"
_PROVIDER_NAME = "kubernetes"  # as `stacks.registration.cluster_provider` registers it


@dataclass(frozen=True, slots=True)
class Held:
    """A Kubernetes object in the state.

    Attributes:
        uid: UID that the state records for the object, "" if it records none.
    """

    urn: str
    plan_id: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """An object on the server that is added to the state.

    Attributes:
        plan_id: its plan id, which is also its Pulumi name.
        type: Pulumi type token.
        id: its provider ID, NAMESPACE/NAME.
        inputs: the inputs to record, as if the program had registered them.
        outputs: the live object.
        needs: plan ids of the resources that a destroy deletes after it.
    """

    plan_id: str
    type: str
    id: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    needs: tuple[str, ...] = ()


def objects_in(deployment: Mapping[str, Any]) -> list[Held]:
    """Return the Kubernetes objects of the state without Helm releases, sorted by plan id."""
    found = [_held(item) for item in deployment.get("resources") or [] if not is_internal(item["type"])]
    return sorted((one for one in found if one is not None), key=lambda one: one.plan_id)


def _held(item: Mapping[str, Any]) -> Held | None:
    inputs, outputs = item.get("inputs") or {}, item.get("outputs") or {}
    wanted = inputs.get("metadata") or outputs.get("metadata") or {}
    seen = outputs.get("metadata") or {}
    api_version, kind = (inputs.get(key) or outputs.get(key) for key in ("apiVersion", "kind"))
    if not (api_version and kind and wanted.get("name")):
        return None
    namespace = str(seen.get("namespace") or wanted.get("namespace") or "")
    uid = str(seen.get("uid") or "")
    return Held(item["urn"], plan_id(item["urn"]), str(api_version), str(kind), namespace, str(wanted["name"]), uid)


def with_adopted(
    deployment: Mapping[str, Any], stack: str, project: str, adopted: Iterable[Adopted], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Return the deployment with these objects added, and the URNs that this adds.

    The function also adds the stack and the provider if they are missing, as after a run that was interrupted before
    its first step.

    Args:
        deployment: the deployment that the engine exports.
        stack: name of the stack.
        project: name of the project.
        adopted: the objects to add; those already in the state stay unchanged.
        settings: inputs of the Kubernetes provider, used if the state contains no provider.
    """
    resources = [dict(item) for item in deployment.get("resources") or []]
    root = next((item for item in resources if item["type"] == _STACK), None)
    if root is None:
        root = {"urn": f"urn:pulumi:{stack}::{project}::{_STACK}::{project}-{stack}", "custom": False, "type": _STACK}
        resources.insert(0, root)
    provider = next((item for item in resources if item["type"] == _PROVIDER), None)
    if provider is None:
        provider = _provider(f"urn:pulumi:{stack}::{project}::", root["urn"], settings)
        resources.insert(1, provider)
    urns = {plan_id(item["urn"]): item["urn"] for item in resources}
    added: set[str] = set()
    for one in adopted:
        if one.plan_id in urns:
            continue
        urn = f"urn:pulumi:{stack}::{project}::{one.type}::{one.plan_id}"
        needs = sorted(urns[need] for need in one.needs if need in urns)
        resources.append(_resource(urn, one, root["urn"], f"{provider['urn']}::{provider['id']}", needs))
        urns[one.plan_id] = urn
        added.add(urn)
    return {**deployment, "resources": resources}, added


def _provider(prefix: str, parent: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    urn = f"{prefix}{_PROVIDER}::{_PROVIDER_NAME}"
    kept = dict(settings)
    return {
        "urn": urn,
        "custom": True,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, urn)),
        "type": _PROVIDER,
        "inputs": kept,
        "outputs": kept,
        "parent": parent,
    }


def _resource(urn: str, one: Adopted, parent: str, provider: str, needs: list[str]) -> dict[str, Any]:
    return {
        "urn": urn,
        "custom": True,
        "id": one.id,
        "type": one.type,
        "inputs": dict(one.inputs),
        "outputs": dict(one.outputs),
        "parent": parent,
        "dependencies": needs,
        "provider": provider,
    }


def without(deployment: Mapping[str, Any], urns: Collection[str]) -> dict[str, Any]:
    """Return the deployment without these resources and without references to them."""
    kept = [_without_references(item, urns) for item in deployment.get("resources") or [] if item["urn"] not in urns]
    pending = [item for item in deployment.get("pending_operations") or [] if item["resource"]["urn"] not in urns]
    return {**deployment, "resources": kept, "pending_operations": pending}


def _without_references(item: Mapping[str, Any], urns: Collection[str]) -> dict[str, Any]:
    changed = dict(item)
    if item.get("dependencies"):
        changed["dependencies"] = [urn for urn in item["dependencies"] if urn not in urns]
    if item.get("propertyDependencies"):
        changed["propertyDependencies"] = {
            name: [urn for urn in needed or [] if urn not in urns]
            for name, needed in item["propertyDependencies"].items()
        }
    if item.get("deletedWith") in urns:
        del changed["deletedWith"]
    return changed
