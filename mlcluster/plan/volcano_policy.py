"""The admission policy of the teams that Volcano queues: their pods are Volcano's, and in the team's own queue."""

from mlcluster.plan import names
from mlcluster.plan.held_work import NODE_NAME, RESOURCE_CLAIMS
from mlcluster.plan.policy import Policy

QUEUE = "scheduling.volcano.sh/queue-name"
"""Annotation of a pod (volcano.sh/apis v1.14.0, QueueNameAnnotationKey)."""


def volcano_policy() -> Policy:
    """Whoever passes by Volcano passes by its queue; the namespace's ResourceQuota bounds the team even then."""
    team = f"namespaceObject.metadata.labels['{names.TEAM}']"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    jobs = {"apiGroups": ["batch.volcano.sh"], "apiVersions": ["v1alpha1"], "resources": ["jobs"]}
    groups = {"apiGroups": ["scheduling.volcano.sh"], "apiVersions": ["v1beta1"], "resources": ["podgroups"]}
    written = ["CREATE", "UPDATE"]
    annotated = (
        f"has(object.metadata.annotations) && '{QUEUE}' in object.metadata.annotations"
        f" && object.metadata.annotations['{QUEUE}'] == {team}"
    )
    spec = "dyn(object.spec)"
    return Policy(
        name="mlcluster-volcano",
        rules=[pods, {**jobs, "operations": written}, {**groups, "operations": written}],
        variables={},
        validations=[
            (
                f"object.kind != 'Pod' || (has({spec}.schedulerName) && {spec}.schedulerName == 'volcano')",
                "Volcano places this team's pods: set schedulerName: volcano",
            ),
            (f"object.kind != 'Pod' || !has({spec}.nodeName) || {spec}.nodeName == ''", NODE_NAME),
            (f"object.kind != 'Pod' || !has({spec}.resourceClaims)", RESOURCE_CLAIMS),
            (
                f"object.kind != 'Pod' || ({annotated})",
                f"this team's pods wait in its own queue: annotate them {QUEUE}: the team's name",
            ),
            (
                f"object.kind == 'Pod' || (has({spec}.queue) && {spec}.queue == {team})",
                "this team's jobs wait in its own queue: set queue to the team's name",
            ),
        ],
        match_conditions={},
        scheduler="volcano",
    )
