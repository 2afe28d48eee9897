"""Workloads for tests, and assertions about their state."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from tests.waiting import wait_for

GPU = "nvidia.com/gpu"
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
KUEUE = "kueue.x-k8s.io/v1beta2"
QUIET_SECONDS = 2.0


def environment(state: Path) -> dict[str, str]:
    """Return the environment of a user at a terminal, not that of CI, with the state in `state`."""
    kept = {key: value for key, value in os.environ.items() if key not in {"CI", "KUBECONFIG", "MLCLUSTER_BACKEND_URL"}}
    return {**kept, "MLCLUSTER_STATE_DIR": str(state)}


def container(*, gpus: int = 0, cpu: str = "1", memory: str = "1Gi", **more: str) -> dict[str, Any]:
    """Return a container that asks for `gpus` GPUs and the rest as given."""
    requests = {"cpu": cpu, "memory": memory, **more}
    limits = {**({GPU: str(gpus)} if gpus else {}), **more}
    return {
        "name": "main",
        "image": "example.test/none",
        "resources": {"requests": {**requests, **limits}, "limits": limits},
    }


def pod_spec(*, gpus: int = 0, tolerate: bool | None = None, **more: Any) -> dict[str, Any]:
    """Return the spec of a pod; GPU pods have the toleration of the accelerator, as in the templates of mlcluster."""
    tolerated = bool(gpus) if tolerate is None else tolerate
    resources = {key: more.pop(key) for key in ("cpu", "memory") if key in more}
    return {
        "containers": [container(gpus=gpus, **resources)],
        "restartPolicy": "Never",
        **({"tolerations": [GPU_TOLERATION]} if tolerated else {}),
        **more,
    }


def pod(name: str, namespace: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a bare pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }


def job(
    name: str,
    namespace: str,
    spec: dict[str, Any],
    *,
    pods: int = 1,
    tier: str = "",
    labels: dict[str, str] | None = None,
    suspend: bool | None = None,
) -> dict[str, Any]:
    """Return a Job of `pods` parallel pods; without labels, as most people submit it."""
    marked = {**(labels or {}), **({"kueue.x-k8s.io/priority-class": tier} if tier else {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, **({"labels": marked} if marked else {})},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            **({} if suspend is None else {"suspend": suspend}),
            "template": {"spec": spec},
        },
    }


def controller(kind: str, name: str, namespace: str, spec: dict[str, Any], replicas: int) -> dict[str, Any]:
    """Return a Deployment or a StatefulSet."""
    selector = {"app": name}
    body = {
        "replicas": replicas,
        "selector": {"matchLabels": selector},
        "template": {"metadata": {"labels": selector}, "spec": {**spec, "restartPolicy": "Always"}},
    }
    if kind == "StatefulSet":
        body["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": body}


def assert_says_in_time(words: str, say: Callable[[], str]) -> str:
    """Return the first message with these words; before that, a controller may report other reasons."""
    said = ""

    def look() -> bool:
        nonlocal said
        said = say()
        return words in said

    try:
        wait_for(words, look)
    except AssertionError as error:
        raise AssertionError(f"{error}; but: {said!r}") from None
    return said


def assert_stays(what: str, check: Callable[[], bool], seconds: float = QUIET_SECONDS) -> None:
    """Fail as soon as `check` is false within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert check(), f"did not stay: {what}"
        time.sleep(0.1)


def pids(lab: Lab) -> dict[str, int | None]:
    """Return the process ID of each program of a lab."""
    return {found.name: found.pid for found in lab.status().processes}


def config_map(name: str) -> dict[str, Any]:
    """Return an empty ConfigMap in the namespace `default`."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def condition(found: dict[str, Any] | None, kind: str) -> dict[str, Any]:
    """Return a condition by its type; {} if the object has none."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == kind), {})


def create_as(kube: Kube, manifest: dict[str, Any], user: str, groups: Sequence[str]) -> dict[str, Any]:
    """Create an object as a user, again while the API server refuses it for a ResourceQuota that changes meanwhile.

    The server counts an object by an update of the quota's status; after three conflicts it refuses the object with
    `Conflict` and asks for another attempt (k8s.io/apiserver, pkg/admission/plugin/resourcequota/controller.go).
    """
    for _ in range(20):
        try:
            return kube.create(manifest, as_user=user, as_groups=groups)
        except ApiError as error:
            if error.reason != "Conflict" or "resourcequotas" not in error.message:
                raise
            time.sleep(0.1)
    return kube.create(manifest, as_user=user, as_groups=groups)


class Tenant:
    """One team's namespace, as its members and the tests see it."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace

    def submit(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Create an object as a member with the role `edit`."""
        return create_as(self.kube, manifest, f"member-of-{self.namespace}", (self.group, "system:authenticated"))

    @property
    def group(self) -> str:
        """Return the group with the role `edit` in examples/lab.yaml."""
        return f"ml-{self.namespace}"

    def job(self, name: str) -> dict[str, Any] | None:
        return self.kube.get_object("batch/v1", "Job", name, self.namespace)

    def pod(self, name: str) -> dict[str, Any] | None:
        return self.kube.get_object("v1", "Pod", name, self.namespace)

    def pods(self, **labels: str) -> list[dict[str, Any]]:
        """Return pods with these labels that are not on their way out."""
        selector = ",".join(f"{key.replace('__', '/').replace('_', '-')}={value}" for key, value in labels.items())
        found = self.kube.list("v1", "Pod", self.namespace, selector)
        return [entry for entry in found if not entry["metadata"].get("deletionTimestamp")]

    def pods_of(self, job_name: str) -> list[dict[str, Any]]:
        """Return pods of a Job."""
        found = self.kube.list("v1", "Pod", self.namespace, f"batch.kubernetes.io/job-name={job_name}")
        return [entry for entry in found if not entry["metadata"].get("deletionTimestamp")]

    def running(self, job_name: str) -> int:
        """Return the number of running pods of a Job."""
        return len([entry for entry in self.pods_of(job_name) if (entry.get("status") or {}).get("phase") == "Running"])

    def workload(self, owner: str) -> dict[str, Any] | None:
        """Return the workload of a Job or pod."""
        for entry in self.kube.list(KUEUE, "Workload", self.namespace):
            owners = entry["metadata"].get("ownerReferences") or []
            if any(reference["name"] == owner for reference in owners):
                return entry
        return None

    def admitted(self, owner: str) -> bool:
        """Return whether Kueue has admitted it."""
        return condition(self.workload(owner), "Admitted").get("status") == "True"

    def waits_because(self, owner: str) -> str:
        """Return the reason of Kueue for a pending workload."""
        reserved = condition(self.workload(owner), "QuotaReserved")
        return str(reserved.get("message") or "") if reserved.get("status") == "False" else ""

    def assert_waits_because(self, owner: str, words: str) -> str:
        """Wait until Kueue leaves the workload pending for a reason with these words."""
        return assert_says_in_time(words, lambda: self.waits_because(owner))

    def assert_pends_because(self, name: str, words: str) -> str:
        """Wait until the scheduler leaves the pod pending for a reason with these words."""

        def say() -> str:
            verdict = condition(self.pod(name), "PodScheduled")
            return str(verdict.get("message") or "") if verdict.get("status") == "False" else ""

        return assert_says_in_time(words, say)

    def clean(self) -> None:
        """Delete the objects that a test left, and wait until nothing uses quota."""
        for api_version, kind in (
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("batch/v1", "Job"),
            ("v1", "Pod"),
        ):
            for entry in self.kube.list(api_version, kind, self.namespace):
                self.kube.delete(api_version, kind, entry["metadata"]["name"], self.namespace)
        wait_for(f"{self.namespace} is empty", lambda: not self._leftovers())

    def _leftovers(self) -> list[dict[str, Any]]:
        return [*self.kube.list("v1", "Pod", self.namespace), *self.kube.list(KUEUE, "Workload", self.namespace)]
