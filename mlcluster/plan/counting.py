"""The admission policies that keep Kueue's count true: what Kueue 0.18.3 would believe although it is not so.

Each was tried on a real control plane with the role `edit`: a whole pool in use, and a handful of GPUs counted.
"""

from mlcluster.plan import names
from mlcluster.plan.model import Manifest
from mlcluster.plan.policy import CONTAINERS, KUEUE_ONLY, POD_SPEC, Policy

KUEUE_PREFIX = "kueue.x-k8s.io/"
POD_GROUP = f"{KUEUE_PREFIX}pod-group-name"
ELASTIC_JOB = f"{KUEUE_PREFIX}elastic-job"
DEFAULTED = ("cpu", "memory", "ephemeral-storage")
"""What the LimitRange gives a default request for."""


def kueue_marks() -> Policy:
    """Kueue's labels and annotations on a pod say what it is counted as; without them Kueue forgets the pod.

    A pod without the label `managed` is never evicted (jobs/pod/pod_controller.go, Skip), and one that is written
    into a group takes the place of a smaller one. Only the priority is the team's to change.
    """
    marks = f"k.startsWith('{KUEUE_PREFIX}') && k != '{names.WORKLOAD_PRIORITY}'"
    parts = ("labels", "annotations")
    variables = {
        f"{age}{part.capitalize()}": f"has({subject}.metadata.{part}) ? {subject}.metadata.{part} : {{}}"
        for age, subject in (("old", "oldObject"), ("new", "object"))
        for part in parts
    }
    kept = " && ".join(
        f"variables.old{part}.all(k, !({marks}) || (k in variables.new{part}"
        f" && variables.new{part}[k] == variables.old{part}[k]))"
        f" && variables.new{part}.all(k, !({marks}) || k in variables.old{part})"
        for part in (part.capitalize() for part in parts)
    )
    return Policy(
        name="mlcluster-kueue-marks",
        rules=[_rule("", "pods", "UPDATE")],
        variables=variables,
        validations=[(kept, f"only Kueue writes the labels and annotations {KUEUE_PREFIX}* of a pod that is there")],
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )


def counted_as_used() -> Policy:
    """Where Kueue counts something else than what runs.

    - Pods of a group say themselves which role they play (annotation role-hash): the first pod's requests count for
      all (jobs/pod/pod_controller.go, getRoleHash). Pods of StatefulSets are grouped by Kueue, after they are made.
    - Of an elastic job only the number of pods is compared, and only a gate in its template, which may be taken off,
      holds new ones back (workloadslicing, EnsureWorkloadSlices).
    - A StatefulSet is counted as it was made; of a change only the requests are compared, not the limits that become
      requests (util/pod, ContainersShape).
    - A limit without a request is counted as the LimitRange's default request (workload/resources.go,
      AdjustResources), while the API server makes the limit the request of the pod.
    """
    return Policy(
        name="mlcluster-counted-as-used",
        rules=[
            _rule("", "pods", "CREATE"),
            _rule("batch", "jobs", "CREATE", "UPDATE"),
            _rule("batch", "cronjobs", "CREATE", "UPDATE"),
            _rule("apps", "statefulsets", "CREATE", "UPDATE"),
        ],
        variables={"podSpec": POD_SPEC, "containers": CONTAINERS},
        validations=_counted(),
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )


def _counted() -> list[tuple[str, str]]:
    group = f"has(object.metadata.{{0}}) && '{POD_GROUP}' in object.metadata.{{0}}"
    elastic = f"has(object.metadata.annotations) && '{ELASTIC_JOB}' in object.metadata.annotations"
    as_before = f"{_resources('object')} == {_resources('oldObject')}"
    return [
        (
            f"object.kind != 'Pod' || !({group.format('labels')} || {group.format('annotations')})",
            "pods that form a group by themselves are not counted one by one: submit a Job of that many pods",
        ),
        (
            f"object.kind != 'Job' || request.operation == 'UPDATE' || !({elastic})",
            "elastic jobs grow past what the queue has counted: submit one more Job instead",
        ),
        (
            f"object.kind != 'StatefulSet' || request.operation == 'CREATE' || ({as_before})",
            "a StatefulSet is counted as it was made: to ask for something else, delete it and submit it anew",
        ),
        (
            f"object.kind == 'Pod' || ({requested('(variables.containers + [variables.podSpec])')})",
            "the queue counts requests: name one wherever there is a limit of cpu, memory or ephemeral-storage",
        ),
    ]


def _resources(subject: str) -> str:
    """The resources of all containers of a template, as a list that can be compared."""
    spec = f"{subject}.spec.template.spec"
    each = "map(c, has(c.resources) && has(c.resources.{0}) ? c.resources.{0} : {{}})"
    lists = [
        f"{containers}.{each.format(part)}"
        for containers in (f"{spec}.containers", f"(has({spec}.initContainers) ? {spec}.initContainers : [])")
        for part in ("requests", "limits")
    ]
    return f"[{', '.join(lists)}]"


def requested(containers: str) -> str:
    """Every limit that would be defaulted has its request, for a list of whatever has `resources`."""
    return (
        f"{containers}.all(c, !has(c.resources) || !has(c.resources.limits) || c.resources.limits.all(r, "
        f"!(r in [{', '.join(repr(name) for name in DEFAULTED)}]) || "
        "(has(c.resources.requests) && r in c.resources.requests)))"
    )


def _rule(group: str, resource: str, *operations: str) -> Manifest:
    return {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource], "operations": list(operations)}
