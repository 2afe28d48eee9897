"""Wait until ResourceQuotas count the custom resources that they limit.

The quota controller learns of a new kind some time after its CRD is installed (it asks for the kinds every 30 seconds,
kubernetes/cmd/kube-controller-manager/app/core.go), and counts it in an existing ResourceQuota after that. Until then
the API server rejects every object of the kind: "status unknown for quota".
"""

import time
from collections.abc import Mapping

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress

PATIENCE_SECONDS = 420.0
"""The controller looks at every quota again after five minutes (--resource-quota-sync-period) at the latest."""

_PAUSE_SECONDS = 0.5


def wait_until_counted(plan: Plan, kube: Kube, progress: Progress) -> None:
    """Return when the ResourceQuota of every team counts each custom resource that the cluster serves.

    Raises:
        MlclusterError: a ResourceQuota still does not.
    """
    if not any(_custom(team.limits) for team in plan.teams):
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    with progress.task("waiting for quotas to count the kinds of jobs") as task:
        while waiting := uncounted_kinds(plan, kube):
            if time.monotonic() > deadline:
                raise MlclusterError(
                    "waiting for quotas to count the kinds of jobs",
                    f"{waiting[0]}; until then the API server rejects them",
                    "Check that kube-controller-manager runs its resourcequota controller, then run up again",
                )
            task.update(waiting[0])
            time.sleep(_PAUSE_SECONDS)


def uncounted_kinds(plan: Plan, kube: Kube) -> list[str]:
    """Return which kinds ResourceQuotas do not count yet, in words."""
    served = {group["name"] for group in kube.request("GET", "/apis").get("groups") or []}
    found = []
    for team in plan.teams:
        quota = kube.get_object("v1", "ResourceQuota", "team", team.namespace) or {}
        used = (quota.get("status") or {}).get("used") or {}
        missing = [kind for kind in _custom(team.limits) if f"count/{kind}" not in used]
        known = [kind for kind in missing if kind.partition(".")[2] in served]
        if known:
            found.append(f"the quota of {team.name} does not count {', '.join(known)} yet")
    return found


def _custom(limits: Mapping[str, str]) -> list[str]:
    """Return the custom resources among limits, as plural.group: groups like apps and *.k8s.io are Kubernetes' own."""
    kinds = [key.removeprefix("count/") for key in limits if key.startswith("count/")]
    return [kind for kind in kinds if "." in kind.partition(".")[2] and not kind.endswith(".k8s.io")]
