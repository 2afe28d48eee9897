"""The admission policy on Kueue's labels and annotations: members set those that describe a request, Kueue all others.

Kueue 0.18.3 trusts these values. A pod with `pod-suspending-parent` is left to the controller that the annotation
names, and Kueue does not count it until that controller comes; `prebuilt-workload-name` starts a Job on the quota of
an existing Workload; a pod without `managed` is never evicted (jobs/pod/pod_webhook.go, jobframework/reconciler.go).
"""

from collections.abc import Iterable, Mapping

from mlcluster.plan import job_kinds, names
from mlcluster.plan.job_kinds import JobKind
from mlcluster.plan.pod_templates import NOT_KUEUE, templates_of
from mlcluster.plan.policy import CONTROLLERS, WORKLOAD_RULES, Policy

DOMAIN = "kueue.x-k8s.io/"
PARENT = f"{DOMAIN}pod-suspending-parent"
GROUPS = "leaderworkerset.sigs.k8s.io/"
"""By these labels Kueue finds the group of a LeaderWorkerSet to which a pod belongs, and counts the pod with it."""

MEMBERS_MAY_SET = (
    names.QUEUE_NAME,
    names.WORKLOAD_PRIORITY,
    *(
        DOMAIN + key
        for key in (
            "elastic-job",  # the policies on elastic jobs reject it with a reason
            "job-completions-equal-parallelism",
            "job-min-parallelism",
            "max-exec-time-seconds",
            "pod-group-name",  # the policy on groups rejects it with a reason
            "pod-group-total-count",
            "podset-group-name",
            "podset-preferred-topology",
            "podset-required-topology",
            "podset-slice-required-topology",
            "podset-slice-required-topology-constraints",
            "podset-slice-size",
            "podset-unconstrained-topology",
            "role-hash",  # on every gated pod; it has no effect outside a group
        )
    ),
)
"""Labels and annotations by which a member describes the needs of a job."""

_WEBHOOK_SETS = (
    ("Pod", f"{DOMAIN}managed", "true"),
    ("Deployment", f"{DOMAIN}managed", "true"),
    ("Deployment", PARENT, "deployment"),
    ("StatefulSet", PARENT, "statefulset"),
    ("LeaderWorkerSet", PARENT, "leaderworkerset.x-k8s.io/leaderworkerset"),
    ("LeaderWorkerSet", f"{DOMAIN}pod-group-serving", "true"),
    ("LeaderWorkerSet", f"{DOMAIN}pod-index-offset", "1"),
)
"""(kind, key, value): Kueue's webhooks add it to the request of a member before the policy sees the request."""

_KEPT = "variables.oldMarks.exists(o, k in o && o[k] == m[k])"
"""CEL, of a key `k` of a map `m`: the object had it with the same value."""


def kueue_marks(users: Mapping[str, str]) -> Policy:
    """Return the policy.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    return Policy(
        name="mlcluster-kueue-marks",
        rules=[*WORKLOAD_RULES, *job_kinds.rules(kinds, "CREATE", "UPDATE")],
        variables={
            "marks": _marks(kinds, "object"),
            "oldMarks": f"oldObject == null ? [] : ({_marks(kinds, 'oldObject')})",
            # A controller makes pods of templates that passed this policy. A Job of a CronJob counts as a member's.
            "byController": (
                f"({CONTROLLERS} && object.kind != 'Job') || {job_kinds.acts_for_owner(users, only=job_kinds.COUNTED)}"
            ),
        },
        validations=[_in_requests(kinds), _in_pods(kinds)],
        match_conditions=NOT_KUEUE,
    )


def _reserved(kinds: Iterable[JobKind]) -> tuple[str, str]:
    """Return CEL for a key `k` that a member may not set freely, and what the message adds about it."""
    marks = f"k.contains('{DOMAIN}')"
    if all(kind.kind != "LeaderWorkerSet" for kind in kinds):
        return marks, ""
    return (
        f"({marks} || k.startsWith('{GROUPS}'))",
        f"; those of {GROUPS}* are set by the controller of LeaderWorkerSets",
    )


def _in_requests(kinds: tuple[JobKind, ...]) -> tuple[str, str]:
    of_webhook = " || ".join(
        f"(object.kind == '{kind}' && k == '{key}' && m[k] == '{value}')"
        for kind, key, value in _WEBHOOK_SETS
        if kind in {"Pod", "Deployment", "StatefulSet", *(one.kind for one in kinds)}
    )
    reserved, of_others = _reserved(kinds)
    free = f"!{reserved} || k in [{', '.join(repr(key) for key in MEMBERS_MAY_SET)}] || {of_webhook}"
    return (
        (
            "(object.kind == 'Pod' && request.operation == 'UPDATE') || variables.byController"
            f" || variables.marks.all(m, m.all(k, {free} || {_KEPT}))"
        ),
        (
            f"only Kueue sets labels and annotations {DOMAIN}*, except those that describe a request"
            f" (queue-name, priority-class, podset-*-topology): leave the others out{of_others}"
        ),
    )


def _in_pods(kinds: tuple[JobKind, ...]) -> tuple[str, str]:
    reserved, of_others = _reserved(kinds)
    may_change = f"!{reserved} || k == '{names.WORKLOAD_PRIORITY}'"
    return (
        (
            "object.kind != 'Pod' || request.operation != 'UPDATE' || ("
            f"variables.marks.all(m, m.all(k, {may_change} || {_KEPT}))"
            f" && variables.oldMarks.all(m, m.all(k, {may_change}"
            " || variables.marks.exists(o, k in o && o[k] == m[k]))))"
        ),
        f"only Kueue writes the labels and annotations {DOMAIN}* of a pod that is there{of_others}",
    )


def _marks(kinds: Iterable[JobKind], subject: str) -> str:
    """CEL: the labels and the annotations of an object and of its templates, as a list of maps."""
    parts, whole = ("labels", "annotations"), f"dyn({subject})"
    own = ", ".join(_part(f"{whole}.metadata", part) for part in parts)
    job = f"{whole}.spec.jobTemplate.metadata"
    of_job = ", ".join(_part(job, part) for part in parts)
    templates = templates_of(tuple(kinds), subject)
    of_templates = " + ".join(
        f"{templates}.map(t, has(t.metadata) ? ({_part('t.metadata', part)}) : {{}})" for part in parts
    )
    return (
        f"[{own}] + ({subject}.kind == 'CronJob' && has({job}) ? [{of_job}] : [])"
        f" + ({subject}.kind == 'Pod' ? [] : {of_templates})"
    )


def _part(metadata: str, part: str) -> str:
    """CEL: the labels or annotations of some metadata, {} without any."""
    return f"has({metadata}.{part}) ? {metadata}.{part} : {{}}"
