"""The admission policies that keep Kueue's count true: what Kueue 0.18.3 would believe although it is not so.

Each was tried on a real control plane with the role `edit`: a whole pool in use, and a handful of GPUs counted.
"""

from mlcluster.plan.kueue_marks import DOMAIN
from mlcluster.plan.model import Manifest
from mlcluster.plan.policy import CONTAINERS, KUEUE_ONLY, POD_SPEC, Policy

POD_GROUP = f"{DOMAIN}pod-group-name"
ELASTIC_JOB = f"{DOMAIN}elastic-job"
DEFAULTED = ("cpu", "memory", "ephemeral-storage")
"""What the LimitRange gives a default request for."""


def counted_as_used() -> Policy:
    """Where Kueue counts something else than what runs.

    - Pods of a group say themselves which role they play (annotation role-hash): the first pod's requests count for
      all (jobs/pod/pod_controller.go, getRoleHash). Pods of StatefulSets are grouped by Kueue, after they are made.
    - Of an elastic job only the number of pods is compared, and only a gate in its template, which may be taken off,
      holds new ones back (workloadslicing, EnsureWorkloadSlices).
    - A StatefulSet is counted as it was made; of a change only the requests are compared, not the limits that become
      requests, and not whether an init container becomes a sidecar, which adds to the others (util/pod,
      ContainersShape). With other ordinals it starts new pods while those with the old ones end.
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
    as_before = " && ".join(f"{part('object')} == {part('oldObject')}" for part in (_resources, _sidecars, _first))
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


def fixed_replicas() -> Policy:
    """Return the policy that keeps the number of replicas with which Kueue has counted a StatefulSet.

    Kueue 0.18.3 checks a change of `spec.replicas` and has no webhook for the subresource `scale`, by which `kubectl
    scale` and HorizontalPodAutoscalers change it. A Workload whose count differs from that of its set is finished as
    out of sync (jobframework/reconciler.go, ensurePrebuiltWorkloadInSync), and the set never starts again.
    """
    old, new = (f"(has({age}.spec.replicas) ? {age}.spec.replicas : 0)" for age in ("dyn(oldObject)", "dyn(object)"))
    autoscaler = {**_rule("autoscaling", "horizontalpodautoscalers", "CREATE", "UPDATE"), "apiVersions": ["v1", "v2"]}
    return Policy(
        name="mlcluster-fixed-replicas",
        rules=[_rule("apps", "statefulsets/scale", "UPDATE"), autoscaler],
        variables={"autoscaler": "object.kind == 'HorizontalPodAutoscaler'"},
        validations=[
            (
                f"variables.autoscaler || {old} == {new} || {old} == 0 || {new} == 0",
                (
                    "a StatefulSet is counted with its replicas: scale it to 0, and back to the same number;"
                    " to run another number of pods, delete it and submit it anew, or use a Deployment"
                ),
            ),
            (
                "!variables.autoscaler || dyn(object).spec.scaleTargetRef.kind != 'StatefulSet'",
                "a StatefulSet is counted with its replicas and cannot be autoscaled: use a Deployment",
            ),
        ],
        match_conditions={},
    )


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


def _sidecars(subject: str) -> str:
    """Which init containers of a template run beside the others."""
    containers = f"{subject}.spec.template.spec.initContainers"
    return f"(has({containers}) ? {containers}.map(c, has(c.restartPolicy)) : [])"


def _first(subject: str) -> str:
    """The number of the first pod of a StatefulSet."""
    return f"(has({subject}.spec.ordinals) && has({subject}.spec.ordinals.start) ? {subject}.spec.ordinals.start : 0)"


def requested(containers: str) -> str:
    """Every limit that would be defaulted has its request, for a list of whatever has `resources`."""
    return (
        f"{containers}.all(c, !has(c.resources) || !has(c.resources.limits) || c.resources.limits.all(r, "
        f"!(r in [{', '.join(repr(name) for name in DEFAULTED)}]) || "
        "(has(c.resources.requests) && r in c.resources.requests)))"
    )


def _rule(group: str, resource: str, *operations: str) -> Manifest:
    return {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource], "operations": list(operations)}
