"""Rights of members on the kinds of a component, for components whose chart grants members none.

The roles are added to Kubernetes' own `admin`, `edit` and `view`, which members have in their team's namespace.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import PlanObject
from mlcluster.plan.objects import RBAC_API, RBAC_GROUP, READ, make

WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_TO = f"{RBAC_GROUP}/aggregate-to-"


@dataclass(frozen=True, slots=True)
class MemberKinds:
    """The kinds of a component that members of teams use.

    Attributes:
        group: API group of the kinds.
        editable: resources that members write; only their controller writes their status.
        read: resources that members only read.
    """

    group: str
    editable: tuple[str, ...]
    read: tuple[str, ...] = ()


def member_roles(context: ComponentContext, component: str, kinds: MemberKinds) -> tuple[PlanObject, ...]:
    """Return two ClusterRoles: one for members that may edit, one for all members."""
    path = context.spec_path(component)
    status = [f"{resource}/status" for resource in kinds.editable]
    looks = {"apiGroups": [kinds.group], "resources": [*kinds.editable, *status, *kinds.read], "verbs": READ}
    edits = {"apiGroups": [kinds.group], "resources": list(kinds.editable), "verbs": WRITE}

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
