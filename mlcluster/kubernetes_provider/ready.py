"""Readiness of an object for those that depend on it. Pure.

The kinds and annotations are those of the official provider; custom resources are awaited only if annotated.
"""

import json
import re
from typing import Any

Object = dict[str, Any]

SKIP_AWAIT = "pulumi.com/skipAwait"
WAIT_FOR = "pulumi.com/waitFor"
TIMEOUT_SECONDS = "pulumi.com/timeoutSeconds"

_DEFAULT_SECONDS = 600


class NeverReady(Exception):  # noqa: N818 - a verdict on an object
    """The object will never be ready, such as a Job that has failed."""


def skips_await(manifest: Object) -> bool:
    """Return whether an annotation disables the wait for this object."""
    return str(_annotations(manifest).get(SKIP_AWAIT, "")).lower() == "true"


def patience(manifest: Object, asked: float) -> float:
    """Return the seconds to wait: the program's timeout, the annotation, or ten minutes."""
    annotated = str(_annotations(manifest).get(TIMEOUT_SECONDS, ""))
    return asked or (float(annotated) if annotated.isdigit() else _DEFAULT_SECONDS)


def unready(live: Object) -> str:
    """Return why the object is not ready yet; "" if it is.

    Raises:
        NeverReady: it will never be ready.
    """
    wanted = _annotations(live).get(WAIT_FOR)
    if wanted:
        return next((f"waiting for {item}" for item in _expressions(wanted) if not _holds(live, item)), "")
    check = _CHECKS.get((_group(live), live.get("kind", "")))
    return check(live) if check else ""


def _group(live: Object) -> str:
    return str(live.get("apiVersion", "")).rpartition("/")[0]


def _annotations(manifest: Object) -> Object:
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _status(live: Object) -> Object:
    return live.get("status") or {}


def _condition(live: Object, kind: str, status: str = "True") -> bool:
    conditions = _status(live).get("conditions") or []
    return any(item.get("type") == kind and item.get("status") == status for item in conditions)


def _observed(live: Object) -> bool:
    return bool(_status(live).get("observedGeneration", 0) >= (live.get("metadata") or {}).get("generation", 0))


def _crd(live: Object) -> str:
    return "" if _condition(live, "Established") else "it is not Established"


def _replicated(live: Object) -> str:
    wanted = live.get("spec", {}).get("replicas", 1)
    status = _status(live)
    if not _observed(live):
        return "its controller has not processed the new spec"
    if _condition(live, "Progressing", "False"):
        raise NeverReady(_message(live, "Progressing") or "its rollout does not progress")
    if status.get("updatedReplicas", 0) < wanted:
        return f"{status.get('updatedReplicas', 0)} of {wanted} replicas are updated"
    if status.get("availableReplicas", 0) < wanted:
        return f"{status.get('availableReplicas', 0)} of {wanted} replicas are available"
    extra = status.get("replicas", wanted) - wanted
    return f"{extra} old replicas still exist" if extra > 0 else ""


def _daemon_set(live: Object) -> str:
    status = _status(live)
    if not _observed(live):
        return "its controller has not processed the new spec"
    wanted = status.get("desiredNumberScheduled", 0)
    updated, available = status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0)
    done = min(updated, available)
    return "" if done >= wanted else f"{done} of {wanted} nodes run an updated, available pod"


def _job(live: Object) -> str:
    if _condition(live, "Failed"):
        raise NeverReady(_message(live, "Failed") or "the job failed")
    if live.get("spec", {}).get("suspend"):
        return ""  # another controller, such as Kueue, starts a suspended job
    return "" if _condition(live, "Complete") else "the job is not complete"


def _message(live: Object, kind: str) -> str:
    conditions = _status(live).get("conditions") or []
    return next((str(item.get("message") or "") for item in conditions if item.get("type") == kind), "")


def _service(live: Object) -> str:
    if live.get("spec", {}).get("type") != "LoadBalancer":
        return ""
    return "" if (_status(live).get("loadBalancer") or {}).get("ingress") else "it has no load balancer address"


_CHECKS = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    ("apps", "Deployment"): _replicated,
    ("apps", "StatefulSet"): _replicated,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Service"): _service,
}


def _expressions(wanted: str) -> list[str]:
    if wanted.lstrip().startswith("["):
        try:
            return [str(item) for item in json.loads(wanted)]
        except ValueError:
            raise NeverReady(f"the annotation {WAIT_FOR} is not a JSON list: {wanted}") from None
    return [wanted]


def _holds(live: Object, expression: str) -> bool:
    kind, _, rest = expression.partition("=")
    if kind == "condition":
        name, _, value = rest.partition("=")
        return _condition(live, name, value or "True")
    if kind == "jsonpath":
        path, found, value = rest.partition("}=")
        result = _follow(live, path.strip("{}"))
        return result is not None and (not found or _text(result) == value)
    raise NeverReady(f"the annotation {WAIT_FOR} supports condition= and jsonpath=, not: {expression}")


def _follow(value: Any, path: str) -> Any:
    for key in re.findall(r"\[['\"]?([^\]'\"]+)['\"]?\]|([^.\[\]$]+)", path):
        part = key[0] or key[1]
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
