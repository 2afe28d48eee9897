"""The rights of members on the kinds that a component brings: its chart gives members none.

The roles are added to Kubernetes' own `admin`, `edit` and `view`, which members have in their team's namespace.
"""

from collections.abc import Iterable

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import PlanObject
from mlcluster.plan.objects import RBAC_API, RBAC_GROUP, READ, make

WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_TO = f"{RBAC_GROUP}/aggregate-to-"


def member_roles(
    context: ComponentContext, component: str, group: str, written: Iterable[str], read: Iterable[str] = ()
) -> tuple[PlanObject, ...]:
    """Return two ClusterRoles: one for members that may edit, one for all members.

    Args:
        group: API group of the kinds.
        written: resources that members write; only their controller writes their status.
        read: resources that members only read.
    """
    written, path = list(written), context.spec_path(component)
    status = [f"{resource}/status" for resource in written]
    looks = {"apiGroups": [group], "resources": [*written, *status, *read], "verbs": READ}
    edits = {"apiGroups": [group], "resources": written, "verbs": WRITE}

    def role(kind: str, rules: list[dict[str, list[str]]], into: Iterable[str]) -> PlanObject:
        labels = {f"{_TO}{name}": "true" for name in into}
        name = f"mlcluster-{component}-{kind}"
        return make(context.cluster, RBAC_API, "ClusterRole", name, {"rules": rules}, labels=labels, spec_path=path)

    return role("edit", [edits], ("admin", "edit")), role("view", [looks], ("admin", "edit", "view"))


def kinds_of_members(objects: Iterable[PlanObject]) -> tuple[str, ...]:
    """Return the custom resources that the roles among these objects let members create, as plural.group."""
    return tuple(
        sorted(
            f"{resource}.{group}"
            for entry in objects
            if entry.manifest["metadata"]["labels"].get(f"{_TO}edit") == "true"
            for rule in entry.manifest["rules"]
            if "create" in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
        )
    )
