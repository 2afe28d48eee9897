"""Requests as a user, mostly a member of a team with the role `edit`, and the reason for which they are rejected."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from tests.lab.workloads import GPU, KUEUE, Tenant

REFUSED = {403, 422}
User = tuple[str, Sequence[str]]
"""A user's name and groups."""


def request_as(kube: Kube, user: User, method: str, path: str, body: Any = None, **params: str) -> dict[str, Any]:
    """Return the answer to a request of a user."""
    name, groups = user
    headers = [("Impersonate-User", name), *(("Impersonate-Group", group) for group in groups)]
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return kube.request(method, path, body, content_type=kind, headers=headers, params=params)


def as_member(
    team: Tenant, method: str, api_version: str, place: str, body: Any = None, **params: str
) -> dict[str, Any]:
    """Return the answer to a member's request.

    Args:
        place: path in the namespace, such as `pods` or `pods/NAME/eviction`.
    """
    root = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    user = (f"member-of-{team.namespace}", [team.group, "system:authenticated"])
    return request_as(team.kube, user, method, f"{root}/namespaces/{team.namespace}/{place}", body, **params)


def refusal(attempt: Callable[[], Any]) -> str:
    """Return why the API server rejected a request; fail if it did not."""
    with pytest.raises(ApiError) as caught:
        attempt()
    assert caught.value.status in REFUSED, caught.value.message
    return caught.value.message


def refused(team: Tenant, manifest: dict[str, Any]) -> str:
    """Return why the API server rejected a new object of a member."""
    return refusal(lambda: team.submit(manifest))


def refused_change(team: Tenant, api_version: str, place: str, patch: dict[str, Any]) -> str:
    """Return why the API server rejected a member's merge patch."""
    return refusal(lambda: as_member(team, "PATCH", api_version, place, patch))


def gpus_on_nodes(kube: Kube, namespace: str) -> int:
    """Return the GPUs of running pods of a namespace: bound to nodes, and not ended."""
    bound = [
        pod
        for pod in kube.list("v1", "Pod", namespace)
        if pod["spec"].get("nodeName") and pod["status"]["phase"] not in {"Succeeded", "Failed"}
    ]
    return sum(
        int(container.get("resources", {}).get("requests", {}).get(GPU, 0))
        for pod in bound
        for container in pod["spec"]["containers"]
    )


def gpus_counted(kube: Kube, queue: str) -> int:
    """Return the GPUs that Kueue counts as used by a ClusterQueue, in all flavors."""
    status = (kube.get_object(KUEUE, "ClusterQueue", queue) or {}).get("status") or {}
    return sum(
        int(entry.get("total") or 0)
        for flavor in status.get("flavorsUsage") or []
        for entry in flavor["resources"]
        if entry["name"] == GPU
    )
