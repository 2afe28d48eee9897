"""The admission policy of the teams that Volcano queues: their pods are Volcano's, and in the team's own queue."""

from mlcluster.plan import names
from mlcluster.plan.held_work import NODE_NAME, RESOURCE_CLAIMS
from mlcluster.plan.policy import NO_TIER, TEAM_TIERS, Policy

QUEUE = "scheduling.volcano.sh/queue-name"
"""Annotation of a pod (volcano.sh/apis v1.14.0, QueueNameAnnotationKey)."""

JOBS_QUEUE = "volcano.sh/queue-name"
"""Label and annotation that Volcano puts on the pods of its jobs (batch/v1alpha1, QueueNameKey)."""

_MARKS = (("labels", JOBS_QUEUE), ("annotations", JOBS_QUEUE), ("annotations", QUEUE))
"""Where Volcano looks for a pod's queue; the first that is there counts (controllers' GetObjQueue)."""

_TEAM = f"namespaceObject.metadata.labels['{names.TEAM}']"


def volcano_policy() -> Policy:
    """Whoever passes by Volcano passes by its queue; the namespace's ResourceQuota bounds the team even then."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    jobs = {"apiGroups": ["batch.volcano.sh"], "apiVersions": ["v1alpha1"], "resources": ["jobs"]}
    groups = {"apiGroups": ["scheduling.volcano.sh"], "apiVersions": ["v1beta1"], "resources": ["podgroups"]}
    written = ["CREATE", "UPDATE"]
    spec = "dyn(object.spec)"
    return Policy(
        name="mlcluster-volcano",
        rules=[pods, {**jobs, "operations": written}, {**groups, "operations": written}],
        variables={"tiers": TEAM_TIERS},
        validations=[
            (
                f"object.kind != 'Pod' || (has({spec}.schedulerName) && {spec}.schedulerName == 'volcano')",
                "Volcano places this team's pods: set schedulerName: volcano",
            ),
            (f"object.kind != 'Pod' || !has({spec}.nodeName) || {spec}.nodeName == ''", NODE_NAME),
            (f"object.kind != 'Pod' || !has({spec}.resourceClaims)", RESOURCE_CLAIMS),
            (
                f"object.kind != 'Pod' || ({_in_own_queue()})",
                f"this team's pods wait in its own queue: annotate them {QUEUE}: the team's name",
            ),
            (
                f"object.kind == 'Pod' || (has({spec}.queue) && {spec}.queue == {_TEAM})",
                "this team's jobs wait in its own queue: set queue to the team's name",
            ),
            (
                (
                    f"object.kind == 'Pod' || !has({spec}.priorityClassName) || {spec}.priorityClassName == ''"
                    f" || {spec}.priorityClassName in variables.tiers"
                ),
                NO_TIER,
            ),
        ],
        match_conditions={},
        scheduler="volcano",
    )


def _in_own_queue() -> str:
    """A queue is named, and wherever one is named it is the team's."""
    there = [f"(has(object.metadata.{part}) && '{key}' in object.metadata.{part})" for part, key in _MARKS]
    same = [
        f"(!{is_there} || object.metadata.{part}['{key}'] == {_TEAM})"
        for is_there, (part, key) in zip(there, _MARKS, strict=True)
    ]
    return f"({' || '.join(there)}) && {' && '.join(same)}"
