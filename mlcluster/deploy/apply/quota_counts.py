"""Wait until ResourceQuotas count the custom resources that they limit.

The quota controller learns of a new kind some time after its CRD is installed (it asks for the kinds every 30 seconds,
kubernetes/cmd/kube-controller-manager/app/core.go), and counts it in an existing ResourceQuota after that. Until then
the API server rejects every object of the kind: "status unknown for quota".
"""

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.plan.components.member_roles import kinds_of_members
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress
from mlcluster.waiting import wait_while

PATIENCE_SECONDS = 420.0
"""The controller looks at every quota again after five minutes (--resource-quota-sync-period) at the latest."""

_PAUSE_SECONDS = 0.5


def wait_until_counted(plan: Plan, kube: Kube, progress: Progress) -> None:
    """Return when the ResourceQuota of every team counts each custom resource that the cluster serves.

    Raises:
        MlclusterError: a ResourceQuota still does not.
    """
    if not (plan.teams and kinds_of_members(plan.objects)):
        return
    with progress.task("waiting for quotas to count the kinds of jobs") as task:
        uncounted = wait_while(
            lambda: uncounted_kinds(plan, kube),
            PATIENCE_SECONDS,
            lambda waiting: task.update(waiting[0]),
            pause=_PAUSE_SECONDS,
        )
        if uncounted:
            raise MlclusterError(
                "waiting for quotas to count the kinds of jobs",
                f"{uncounted[0]}; until then the API server rejects them",
                "Check that kube-controller-manager runs its resourcequota controller, then run up again",
            )


def uncounted_kinds(plan: Plan, kube: Kube) -> list[str]:
    """Return a sentence for each ResourceQuota that does not count all custom resources that members may create."""
    served = {group["name"] for group in kube.request("GET", "/apis").get("groups") or []}
    kinds = [kind for kind in kinds_of_members(plan.objects) if kind.partition(".")[2] in served]
    found = []
    for team in plan.teams:
        quota = kube.get_object("v1", "ResourceQuota", "team", team.namespace) or {}
        used = (quota.get("status") or {}).get("used") or {}
        missing = [kind for kind in kinds if f"count/{kind}" not in used]
        if missing:
            found.append(f"the quota of {team.name} does not count {', '.join(missing)} yet")
    return found
