"""Objects in the namespace of each team: labels, roles, limits, network."""

from collections.abc import Iterable

from mlcluster.plan import names
from mlcluster.plan.limits import closed_limits
from mlcluster.plan.model import Amounts, Manifest, PlanObject, TeamPlan
from mlcluster.plan.network import Caller, caller_policy, network_policy
from mlcluster.plan.objects import RBAC_API, RBAC_GROUP, cluster_role_ref, make
from mlcluster.quantities import canonical
from mlcluster.spec.teams import Members, Team

NETWORK_API = "networking.k8s.io/v1"


def namespace_objects(
    cluster: str, spec: Team, team: TeamPlan, requests: Amounts, policies: tuple[str, ...]
) -> list[PlanObject]:
    """Return the namespace of a team and everything in it except its queue.

    Args:
        requests: of a container that names none.
        policies: ids of the policies and bindings that guard the namespace: created before it, deleted after it.
    """

    def inside(api_version: str, kind: str, name: str, body: Manifest, *part: str) -> PlanObject:
        path = (*team.spec_path, *part)
        return make(cluster, api_version, kind, name, body, namespace=team.namespace, spec_path=path, team=team.name)

    return [
        _namespace(cluster, spec, team, policies),
        inside("v1", "ResourceQuota", "team", {"spec": {"hard": dict(team.limits)}}, "limits"),
        inside("v1", "LimitRange", "team", {"spec": _limit_range(requests)}),
        inside(NETWORK_API, "NetworkPolicy", "team", {"spec": network_policy(spec.network.egress)}, "network"),
        *(
            inside(RBAC_API, "RoleBinding", f"mlcluster:{role}", _binding(role, subjects), "members", role)
            for role, subjects in _roles(spec)
            if subjects
        ),
    ]


def ingress_objects(cluster: str, team: TeamPlan, callers: Iterable[Caller]) -> list[PlanObject]:
    """Return a NetworkPolicy for each kind of pods of components that connect to the team's pods."""
    return [
        make(
            cluster,
            NETWORK_API,
            "NetworkPolicy",
            caller.name,
            {"spec": caller_policy(caller)},
            namespace=team.namespace,
            spec_path=caller.spec_path,
            team=team.name,
        )
        for caller in callers
    ]


def _closed(spec: Team) -> dict[str, str]:
    """Return the annotation with the limits of the team that are 0, which the policy on Services names."""
    closed = closed_limits(spec.limits)
    return {names.CLOSED: ",".join(closed)} if closed else {}


def _namespace(cluster: str, spec: Team, team: TeamPlan, policies: tuple[str, ...]) -> PlanObject:
    scheduler = {} if spec.scheduler == "kueue" else {names.SCHEDULER: spec.scheduler}
    security = {
        "pod-security.kubernetes.io/enforce": spec.pod_security,
        "pod-security.kubernetes.io/enforce-version": "latest",
    }
    return make(
        cluster,
        "v1",
        "Namespace",
        team.namespace,
        {},
        labels={**scheduler, **security},
        annotations={
            names.TIERS: ",".join(team.tiers),
            names.POOLS: ",".join(quota.pool for quota in team.quotas),
            names.GRACE_PERIOD: str(team.grace_period_seconds),
            **_closed(spec),
        },
        needs=policies,
        spec_path=team.spec_path,
        team=team.name,
    )


def _limit_range(requests: Amounts) -> Manifest:
    """Requests for containers that name none, so that Kueue and ResourceQuota can count them.

    No default limits and no maximum: a maximum becomes every container's limit (core/v1 LimitRange defaulting).
    """
    written = {name: canonical(name, amount) for name, amount in requests.items()}
    return {"limits": [{"type": "Container", "defaultRequest": written}]}


def members_of(team: Team) -> list[Manifest]:
    """Return the subjects of all roles of a team, each once."""
    found = [subject for _, subjects in _roles(team) for subject in subjects]
    return [subject for place, subject in enumerate(found) if subject not in found[:place]]


def _roles(team: Team) -> list[tuple[str, list[Manifest]]]:
    members = {"admin": team.members.admin, "edit": team.members.edit, "view": team.members.view}
    return [(role, _subjects(team.name, role, who)) for role, who in members.items()]


def _subjects(team: str, role: str, who: Members) -> list[Manifest]:
    groups = [*who.groups, *([f"mlcluster:{team}:{role}"] if who.aws_roles else [])]
    subjects = [{"kind": "Group", "name": name} for name in groups] + [
        {"kind": "User", "name": name} for name in who.users
    ]
    return [{"apiGroup": RBAC_GROUP, **subject} for subject in subjects]


def _binding(role: str, subjects: list[Manifest]) -> Manifest:
    return {"roleRef": cluster_role_ref(role), "subjects": subjects}
