"""The admission policies that keep work of every kind held, whole and as it was counted.

Kueue suspends a Job, JobSet, TrainJob, MPIJob or Ray object as it is created, counts it once, and lets the whole of it
go. So it must come in suspended, nobody but Kueue may resume it (its parts: the controller that made them), it must
not change afterwards, and its pods must not be cut loose from it: a running pod without its owner counts as nothing.
"""

from collections.abc import Mapping

from mlcluster.plan import job_kinds, names
from mlcluster.plan.counting import ELASTIC_JOB, requested
from mlcluster.plan.job_kinds import JobKind
from mlcluster.plan.kueue_marks import PARENT
from mlcluster.plan.model import Manifest
from mlcluster.plan.policy import (
    CONTROLLERS,
    KUEUE_ONLY,
    NO_TIER,
    TEAM_TIERS,
    Policy,
    asks_accelerator,
    tolerates_accelerator,
)

JOBS: Manifest = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
PODS: Manifest = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
NODE_NAME = "a team's pod may not name its node: the scheduler and the queue choose it; use a nodeSelector"
RESOURCE_CLAIMS = "resource claims (DRA) are not counted by the queue: ask for the accelerator as a resource"
GPU_NODES = (
    f"GPU nodes are for GPU pods: tolerating {names.ACCELERATOR_TAINT}, or everything, "
    "needs a request for an accelerator; drop the toleration"
)
REQUESTS = "the queue counts requests: name one wherever there is a limit of cpu, memory or ephemeral-storage"

_POLICY = "has(request.options) && has(request.options.propagationPolicy)"
_CASCADES = (
    f"({_POLICY} && request.options.propagationPolicy in ['Background', 'Foreground'])"
    " || (has(request.options) && has(request.options.orphanDependents) && !request.options.orphanDependents)"
    f" || (oldObject.kind != 'Job' && !({_POLICY})"
    " && !(has(request.options) && has(request.options.orphanDependents)))"
)
"""CEL: a deletion deletes the dependents too.

DELETE of a batch/v1 Job without options leaves its pods (registry/batch/job/strategy.go,
DefaultGarbageCollectionPolicy); kubectl always sets Background.
"""


def held_work_policies(resources: list[str], users: Mapping[str, str]) -> list[Policy]:
    """The policies for Jobs and for the kinds that the plan's components bring.

    Args:
        resources: accelerators by the names that pods ask for.
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    policies = [_comes_in_held(kinds, users), _as_submitted(kinds, users), _stays_together(kinds, users)]
    return [*policies, _templates(kinds, resources)] if kinds else policies


def _comes_in_held(kinds: tuple[JobKind, ...], users: Mapping[str, str]) -> Policy:
    """Kueue's webhook has suspended or marked it by now; if it did not, for whatever reason, nothing would count it."""
    # An owner that somebody else names is refused by the policy on owners, which says so.
    forged = (
        "(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller)"
        f" && o.controller) && !({CONTROLLERS} || {job_kinds.is_controller(users)}))"
    )
    validations = [
        (
            f"{_held(kinds)} || {job_kinds.acts_for_owner(users, only=job_kinds.COUNTED)} || {forged}",
            "the queue did not hold this back, so nobody would count it: is Kueue there, and set up for it?",
        )
    ]
    if any(kind.kind == "TrainJob" for kind in kinds):
        runtime = "dyn(object.spec).runtimeRef"
        validations.append(
            (
                f"object.kind != 'TrainJob' || (has({runtime}.kind) && {runtime}.kind == 'ClusterTrainingRuntime')",
                (
                    "a TrainJob is counted by its runtime, which must not change under it:"
                    " use a ClusterTrainingRuntime, and runtimePatches for what differs"
                ),
            )
        )
    return Policy(
        name="mlcluster-held-work",
        rules=[{**JOBS, "operations": ["CREATE"]}, *job_kinds.rules(kinds, "CREATE")],
        variables={},
        validations=validations,
        match_conditions={},
    )


def _held(kinds: tuple[JobKind, ...]) -> str:
    """CEL: the object is suspended, or each of its templates has the mark by which Kueue gates the pods."""
    gated = tuple(kind for kind in kinds if kind.gated)
    if not gated:
        return job_kinds.suspended("object")
    marked = f"has(t.metadata) && has(t.metadata.annotations) && '{PARENT}' in t.metadata.annotations"
    named = ", ".join(repr(kind.kind) for kind in gated)
    return (
        f"(object.kind in [{named}] ? ({job_kinds.templates(gated)}).all(t, {marked})"
        f" : {job_kinds.suspended('object')})"
    )


def _as_submitted(kinds: tuple[JobKind, ...], users: Mapping[str, str]) -> Policy:
    """Return the policy by which a kind, and the Jobs that its controller makes of it, stay as Kueue counted them.

    Upstream lets an MPIJob or a RayCluster grow while it runs. Kueue looks at the top object only, so the API server
    has to check the parallelism of its Jobs.
    """
    old, new = "dyn(oldObject.spec)", "dyn(object.spec)"
    return Policy(
        name="mlcluster-as-submitted",
        rules=[{**JOBS, "operations": ["UPDATE"]}, *job_kinds.rules(kinds, "UPDATE")],
        variables={"part": _owned_by(kinds)},
        validations=[
            (
                f"object.kind == 'Job' || ({_unchanged(kinds, old, new)})",
                "what the queue has counted does not change: delete it and submit it anew",
            ),
            (
                f"object.kind != 'Job' || !variables.part || {new} == {old}",
                "this Job is part of what its owner asked for, and counted with it: submit a Job of its own",
            ),
            (
                (
                    f"object.kind != 'Job' || {job_kinds.suspended('oldObject')}"
                    f" || ({new}.parallelism <= {old}.parallelism && (!has({new}.completions)"
                    f" || (has({old}.completions) && {new}.completions <= {old}.completions)))"
                ),
                "a Job that runs has been counted: to run more pods, submit one more Job",
            ),
            (
                f"{job_kinds.suspended('oldObject')} || !{job_kinds.suspended('object')}",
                (
                    "Kueue resumes at once what it has admitted, beside the pods that are still ending:"
                    " to stop it, delete it and submit it anew"
                ),
            ),
        ],
        match_conditions=_members(users),
    )


def _unchanged(kinds: tuple[JobKind, ...], old: str, new: str) -> str:
    """CEL: two specs differ at most in the fields that suspend and resume, and in the number of gated groups."""
    outside = "k in ['suspend', 'runPolicy']"
    if any(kind.gated for kind in kinds):  # each group is a Workload of its own, and its pods wait for that one
        grows = " || ".join(f"(object.kind == '{kind.kind}' && k == 'replicas')" for kind in kinds if kind.gated)
        outside = f"{outside} || {grows}"
    same = f"{new}.all(k, {outside} || (k in {old} && {new}[k] == {old}[k])) && {old}.all(k, {outside} || k in {new})"
    same_run = (
        "(!has({0}.runPolicy) || {0}.runPolicy.all(k, k == 'suspend' ||"
        " (has({1}.runPolicy) && k in {1}.runPolicy && {0}.runPolicy[k] == {1}.runPolicy[k])))"
    )
    return f"{same} && {same_run.format(new, old)} && {same_run.format(old, new)}"


def _stays_together(kinds: tuple[JobKind, ...], users: Mapping[str, str]) -> Policy:
    """Return the policy that keeps pods with their owner: without it they run on, and the owner makes new pods."""
    finalizer = "has({0}.metadata.finalizers) && 'orphan' in {0}.metadata.finalizers"
    labels = (
        "!has(oldObject.metadata.labels) || oldObject.metadata.labels.all(k, has(object.metadata.labels)"
        " && k in object.metadata.labels && object.metadata.labels[k] == oldObject.metadata.labels[k])"
    )
    return Policy(
        name="mlcluster-stays-together",
        rules=[
            {**PODS, "operations": ["UPDATE"]},
            {**JOBS, "operations": ["CREATE", "UPDATE", "DELETE"]},
            *job_kinds.rules(kinds, "CREATE", "UPDATE", "DELETE"),
        ],
        variables={"pod": "object != null && object.kind == 'Pod'"},
        validations=[
            (
                f"request.operation != 'DELETE' || {_CASCADES}",
                (
                    "pods are counted with what they belong to, and go with it:"
                    " delete it with propagationPolicy Background or Foreground, as kubectl does"
                ),
            ),
            (
                (
                    f"request.operation == 'DELETE' || !({finalizer.format('object')})"
                    f" || (request.operation == 'UPDATE' && {finalizer.format('oldObject')})"
                ),
                "pods are counted with what they belong to: take the finalizer orphan out",
            ),
            (
                f"!variables.pod || !({_owned_by(kinds, jobs=True)}) || ({labels})",
                "the labels of a job's pod say what it belongs to: they stay (more may be added)",
            ),
        ],
        match_conditions=_members(users),
    )


def _templates(kinds: tuple[JobKind, ...], resources: list[str]) -> Policy:
    """What holds for every pod, asked of the templates in such an object, so that it is refused at once and whole."""
    spec = "t.spec"
    tolerates, asks = tolerates_accelerator(spec), asks_accelerator(resources, spec)
    containers = f"({spec}.containers + (has({spec}.initContainers) ? {spec}.initContainers : []) + [{spec}])"
    label = f"'{names.WORKLOAD_PRIORITY}'"
    of_tiers = (
        f"(!has({spec}.priorityClassName) || {spec}.priorityClassName == ''"
        f" || {spec}.priorityClassName in variables.tiers)"
    )
    by_label = "(!has({0}.labels) || !({1} in {0}.labels) || {0}.labels[{1}] in variables.tiers)"
    run = "dyn(object.spec).runPolicy"
    by_policy = (
        f"(object.kind != 'MPIJob' || !has({run}) || !has({run}.schedulingPolicy)"
        f" || !has({run}.schedulingPolicy.priorityClass) || {run}.schedulingPolicy.priorityClass in variables.tiers)"
    )
    marked = f"(!has(t.metadata) || {by_label.format('t.metadata', label)})"
    in_tiers = (
        f"{by_label.format('object.metadata', label)} && {by_policy}"
        f" && variables.templates.all(t, {of_tiers} && {marked})"
    )
    return Policy(
        name="mlcluster-job-templates",
        rules=job_kinds.rules(kinds, "CREATE", "UPDATE"),
        variables={
            "templates": job_kinds.templates(kinds),
            "tiers": TEAM_TIERS,
        },
        validations=[
            (f"variables.templates.all(t, !has({spec}.nodeName) || {spec}.nodeName == '')", NODE_NAME),
            (f"variables.templates.all(t, !has({spec}.resourceClaims))", RESOURCE_CLAIMS),
            (f"variables.templates.all(t, !({tolerates}) || {asks})", GPU_NODES),
            (f"variables.templates.all(t, {requested(containers)})", REQUESTS),
            (in_tiers, NO_TIER),
            (
                f"!has(object.metadata.annotations) || !('{ELASTIC_JOB}' in object.metadata.annotations)",
                "elastic jobs grow past what the queue has counted: submit one more job instead",
            ),
        ],
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )


def _owned_by(kinds: tuple[JobKind, ...], *, jobs: bool = False) -> str:
    """CEL: what was there before belongs to an object of these kinds, or to a Job."""
    groups = sorted({f"{kind.group}/" for kind in kinds} | ({"batch/"} if jobs else set()))
    if not groups:
        return "false"
    return (
        "oldObject != null && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(o,"
        f" has(o.controller) && o.controller && [{', '.join(repr(group) for group in groups)}]"
        ".exists(g, o.apiVersion.startsWith(g)))"
    )


def _members(users: Mapping[str, str]) -> dict[str, str]:
    return {"not-a-controller": f"!({CONTROLLERS} || {job_kinds.is_controller(users)})"}
