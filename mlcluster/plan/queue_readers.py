"""Rights to read queues: team members see why their workloads are pending, and the quota that they can borrow.

ClusterQueues and Cohorts are cluster-scoped, so the roles of a namespace do not cover them. They hold numbers only:
quota, usage, and how many workloads are pending. The names of pending workloads come from Kueue's visibility API
(`pendingworkloads`); a team gets that of its own ClusterQueue. Its LocalQueue is covered by Kueue's own viewer roles,
which are aggregated into `view`, `edit` and `admin`.
"""

from collections.abc import Iterable

from mlcluster.plan.model import Manifest, PlanObject, TeamPlan
from mlcluster.plan.objects import RBAC_API, READ, cluster_role_ref, make

KUEUE_GROUP = "kueue.x-k8s.io"
VISIBILITY_GROUP = f"visibility.{KUEUE_GROUP}"
FOR_EVERY_TEAM = ["resourceflavors", "topologies", "workloadpriorityclasses"]
"""Kinds that hold no data of teams: which nodes there are, and which tiers."""


def queue_readers(
    cluster: str, team: TeamPlan, queued: Iterable[TeamPlan], members: list[Manifest]
) -> list[PlanObject]:
    """Return the ClusterRole of a team's members and its binding; nothing for a team without members.

    Args:
        queued: every team that Kueue queues.
        members: the subjects of all roles of the team.
    """
    if not members:
        return []
    name = reader_name(team.name)
    role = {"rules": _rules(team, [other.name for other in queued if other.cohort == team.cohort])}
    binding = {"roleRef": cluster_role_ref(name), "subjects": members}
    path = (*team.spec_path, "members")
    made = make(cluster, RBAC_API, "ClusterRole", name, role, spec_path=path, team=team.name)
    bound = make(
        cluster,
        RBAC_API,
        "ClusterRoleBinding",
        name,
        binding,
        needs=(made.id,),
        spec_path=path,
        team=team.name,
    )
    return [made, bound]


def reader_name(team: str) -> str:
    """Return the name of a team's ClusterRole and of its binding."""
    return f"mlcluster:{team}:queue-reader"


def _rules(team: TeamPlan, cohort_teams: list[str]) -> list[Manifest]:
    """Return the rule to list or watch one object by its name; a list of all objects fails (RBAC, `resourceNames`)."""
    return [
        {
            "apiGroups": [KUEUE_GROUP],
            "resources": ["clusterqueues"],
            "resourceNames": sorted(cohort_teams),
            "verbs": READ,
        },
        {"apiGroups": [KUEUE_GROUP], "resources": ["cohorts"], "resourceNames": [team.cohort], "verbs": READ},
        {"apiGroups": [KUEUE_GROUP], "resources": FOR_EVERY_TEAM, "verbs": READ},
        {
            "apiGroups": [VISIBILITY_GROUP],
            "resources": ["clusterqueues/pendingworkloads"],
            "resourceNames": [team.name],
            "verbs": ["get"],
        },
    ]
