"""Requests as a member of a team with the role `edit`, for tests of what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from tests.lab.workloads import GPU, KUEUE, Tenant

REFUSED = {403, 422}


def as_member(
    team: Tenant, method: str, api_version: str, place: str, body: Any = None, **params: str
) -> dict[str, Any]:
    """The answer to a request; `place` is the path in the namespace: plural, and with a slash name and subresource."""
    root = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    headers = [("Impersonate-User", f"member-of-{team.namespace}"), ("Impersonate-Group", team.group)]
    headers.append(("Impersonate-Group", "system:authenticated"))
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    path = f"{root}/namespaces/{team.namespace}/{place}"
    return team.kube.request(method, path, body, content_type=kind, headers=headers, params=params)


def refusal(attempt: Callable[[], Any]) -> str:
    """Why the API server refused; fails when it did not."""
    with pytest.raises(ApiError) as caught:
        attempt()
    assert caught.value.status in REFUSED, caught.value.message
    return caught.value.message


def refused(team: Tenant, manifest: dict[str, Any]) -> str:
    """Why a new object was refused."""
    return refusal(lambda: team.submit(manifest))


def gpus_on_nodes(kube: Kube, namespace: str) -> int:
    """GPUs that pods of a namespace hold on nodes: bound, and not ended."""
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
    """GPUs that Kueue counts as used by a ClusterQueue, in all flavors."""
    status = (kube.get_object(KUEUE, "ClusterQueue", queue) or {}).get("status") or {}
    return sum(
        int(entry.get("total") or 0)
        for flavor in status.get("flavorsUsage") or []
        for entry in flavor["resources"]
        if entry["name"] == GPU
    )
