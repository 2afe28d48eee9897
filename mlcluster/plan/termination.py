"""The admission policies that let quota, nodes and namespaces become free in bounded time.

Kueue 0.18.3 gives a Job's quota back when its pods are deleted, and not when they have ended: a pod that uses its grace
period keeps the GPU in the meantime. A finalizer that no controller removes keeps its object and so the namespace, and
a PodDisruptionBudget that allows no disruption keeps a node from being drained.
"""

from collections.abc import Mapping

from mlcluster.plan import job_kinds, names
from mlcluster.plan.model import Manifest
from mlcluster.plan.pod_templates import template_policy, template_variables
from mlcluster.plan.policy import CLUSTER_ADMIN, CONTROLLERS, MOST_SECONDS, Policy, may_everywhere

_PVC_PROTECTION = "(object.kind == 'PersistentVolumeClaim' && f == 'kubernetes.io/pvc-protection')"
"""CEL: an admission plugin adds this finalizer `f` to a member's request, and a controller removes it."""

_KUEUE = (
    "(object.kind == 'Pod' && request.operation == 'CREATE' && f == 'kueue.x-k8s.io/managed'"
    f" && !(has(namespaceObject.metadata.labels) && '{names.SCHEDULER}' in namespaceObject.metadata.labels))"
)
"""CEL: Kueue's webhook adds this finalizer `f` to a pod that Kueue manages. Kueue ignores the pods of a Job."""

_COLLECTOR = ("foregroundDeletion", "orphan")
"""The garbage collector removes these from objects of every kind."""


def grace_periods(users: Mapping[str, str]) -> Policy:
    """Return the policy that bounds grace periods by the limit of the team, in templates and in deletions.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    pods: Manifest = {"apiGroups": [""], "apiVersions": ["v1"]}
    period = "has(t.spec.terminationGracePeriodSeconds) ? int(t.spec.terminationGracePeriodSeconds) : 30"
    creates = "(request.operation != 'DELETE' && object.kind != 'Eviction')"
    # The API server fills in the pod's own period where a deletion names none (BeforeDelete), also for controllers.
    own = "int(request.options.gracePeriodSeconds) <= int(dyn(oldObject).spec.terminationGracePeriodSeconds)"
    evicts_everywhere = may_everywhere("create", "''", "'pods'", subresource="eviction")
    advice = "' s: checkpoint earlier, or ask for teams[].limits.gracePeriodSeconds in the spec'"
    return template_policy(
        "mlcluster-grace-periods",
        kinds,
        [
            (
                f"variables.fresh.all(t, ({period}) <= variables.most)",
                f"'a pod of this team may take at most ' + string(variables.most) + {advice}",
            ),
            (
                f"request.operation != 'DELETE' || {_within('request.options')} || {own} || {CLUSTER_ADMIN}",
                f"'the grace period of a deletion is at most ' + string(variables.most) + {advice}",
            ),
            (
                (
                    "request.operation == 'DELETE' || object.kind != 'Eviction' || !has(dyn(object).deleteOptions)"
                    f" || {_within('dyn(object).deleteOptions')} || {evicts_everywhere}"
                ),
                f"'the grace period of an eviction is at most ' + string(variables.most) + {advice}",
            ),
        ],
        variables={
            "most": MOST_SECONDS,
            **{name: f"{creates} ? ({cel}) : []" for name, cel in template_variables(kinds).items()},
        },
        rules=[
            {**pods, "resources": ["pods"], "operations": ["DELETE"]},
            {**pods, "resources": ["pods/eviction"], "operations": ["CREATE"]},
        ],
    )


def _within(options: str) -> str:
    """CEL: the options of a deletion name no grace period, or one within the bound."""
    return f"!has({options}.gracePeriodSeconds) || int({options}.gracePeriodSeconds) <= variables.most"


def finalizers() -> Policy:
    """Return the policy that refuses finalizers of members, on objects of every kind.

    `copied_finalizers` refuses those that a controller would copy from a member's object.

    A controller that sets finalizers in teams' namespaces works in every namespace. The policy recognizes it by the API
    server's authorizer: a member may write in the team's namespace only.
    """
    listed = "(has({0}.metadata.finalizers) ? {0}.metadata.finalizers : [])"
    old = f"(oldObject == null ? [] : {listed.format('oldObject')})"
    known = f"{_PVC_PROTECTION} || {_KUEUE}"
    everywhere = " || ".join(
        may_everywhere(verb, "request.resource.group", "request.resource.resource") for verb in ("update", "patch")
    )
    every_kind: Manifest = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "scope": "Namespaced",  # a namespace selector never exempts cluster-scoped objects
    }
    return Policy(
        name="mlcluster-finalizers",
        scheduler="",
        rules=[every_kind],
        variables={"added": f"{listed.format('object')}.filter(f, !(f in {old}) && !({known}))"},
        validations=[
            (
                f"variables.added.all(f, f in {list(_COLLECTOR)!r}) || {CONTROLLERS} || {everywhere}",
                "a finalizer that no controller removes keeps the object and its namespace for ever: leave it out",
            ),
        ],
        match_conditions={},
    )


def copied_finalizers(users: Mapping[str, str]) -> Policy:
    """Return the policy that refuses finalizers in the templates of pods, volume claims and Services.

    The Job controller copies a template's finalizers to its pods (controller_utils.go, GetPodFromTemplate), the
    StatefulSet controller to its volume claims, and KubeRay to its pods and to the Service of the head.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    free = "!has({0}.metadata) || !has({0}.metadata.finalizers)"
    spec, cluster = "dyn(object.spec)", "dyn(object.spec).rayClusterSpec"
    ray = f"object.kind == 'RayCluster' ? [{spec}] : (object.kind == 'RayJob' && has({cluster}) ? [{cluster}] : [])"
    head = "r.headGroupSpec"
    instead = "a finalizer that no controller removes keeps the object and its namespace for ever: leave it out"
    validations = [
        (f"object.kind == 'Pod' || variables.fresh.all(t, {free.format('t')})", f"in a template too, {instead}"),
        (
            (
                f"object.kind != 'StatefulSet' || !has({spec}.volumeClaimTemplates)"
                f" || {spec}.volumeClaimTemplates.all(c, {free.format('c')})"
            ),
            f"in the template of a volume claim too, {instead}",
        ),
    ]
    if any(kind.component == "kuberay-operator" for kind in kinds):
        validations.append(
            (
                f"({ray}).all(r, !has({head}.headService) || ({free.format(f'{head}.headService')}))",
                f"in the Service of a head too, {instead}",
            )
        )
    return template_policy("mlcluster-copied-finalizers", kinds, validations)


def disruption_budgets() -> Policy:
    """Return the policy that refuses budgets which allow no disruption by their own numbers.

    It cannot keep every node drainable: for pods of a Job, whose kind has no subresource `scale`, and for bare pods the
    disruption controller computes no allowed disruption from `maxUnavailable` (pkg/controller/disruption, failSafe).
    """
    budget: Manifest = {"apiGroups": ["policy"], "apiVersions": ["v1"], "resources": ["poddisruptionbudgets"]}
    return Policy(
        name="mlcluster-disruption-budgets",
        scheduler="",
        rules=[{**budget, "operations": ["CREATE", "UPDATE"]}],
        variables={},
        validations=[
            (
                (
                    "has(object.spec.maxUnavailable) && !has(object.spec.minAvailable)"
                    " && !string(object.spec.maxUnavailable).matches('^0+%?$')"  # 00% is a percentage too
                ),
                "nodes must stay drainable: set maxUnavailable to 1 or more, or to a percentage, and no minAvailable",
            ),
        ],
        match_conditions={"not-a-cluster-admin": f"!({CLUSTER_ADMIN})"},
    )
