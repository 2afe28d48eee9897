"""The admission policies on controlling owners: Kueue counts an object with the owner with which it was created."""

from collections.abc import Mapping

from mlcluster.plan import job_kinds
from mlcluster.plan.policy import CONTROLLERS, WORKLOAD_RULES, Policy
from mlcluster.plan.queue_gates import SUBMIT


def owner_references(users: Mapping[str, str]) -> Policy:
    """Return the policy that refuses a controlling owner from users, and its removal.

    Kueue does not count an object whose owner it manages, and finds that owner by kind and name only.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    controlled = (
        "has({0}.metadata.ownerReferences) && {0}.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
    )
    unchanged = (
        "request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && "
        "has(object.metadata.ownerReferences) && "
        "object.metadata.ownerReferences == oldObject.metadata.ownerReferences"
    )
    # `kubectl create job --from=cronjob/NAME`: Kueue does not manage CronJobs, and so manages the Job.
    by_hand = (
        "(object.kind == 'Job' && object.metadata.ownerReferences.all(o, !has(o.controller) || !o.controller"
        " || (o.kind == 'CronJob' && o.apiVersion == 'batch/v1')))"
    )
    return Policy(
        name="mlcluster-owner-references",
        rules=[*WORKLOAD_RULES, *job_kinds.rules(job_kinds.kinds_of(users), "CREATE", "UPDATE")],
        variables={},
        validations=[
            (
                f"!({controlled.format('object')}) || ({unchanged}) || {by_hand} || {job_kinds.acts_for_owner(users)}",
                f"only a controller may name a controlling owner; without one, {SUBMIT}",
            ),
            (
                f"request.operation == 'CREATE' || !({controlled.format('oldObject')}) || ({unchanged})",
                "what a controller made stays its own: the queue counts it with its owner",
            ),
        ],
        match_conditions={"not-a-controller": f"!{CONTROLLERS}"},
    )


def adoption(users: Mapping[str, str]) -> Policy:
    """Return the policy that refuses a controlling owner to an object that exists, from every user and controller.

    Kueue counts a bare pod, or one of a ReplicaSet, by itself, and those of a StatefulSet with the set. A controller
    adopts what its selector matches (controller_ref_manager.go), and the pod would be counted as a part of its owner.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    owners = "(has({0}.metadata.ownerReferences) ? {0}.metadata.ownerReferences.filter(o, {1}) : [])"
    controls = "has(o.controller) && o.controller"
    old = owners.format("oldObject", controls)
    return Policy(
        name="mlcluster-adoption",
        rules=[
            {**rule, "operations": ["UPDATE"]}
            for rule in (*WORKLOAD_RULES, *job_kinds.rules(job_kinds.kinds_of(users), "UPDATE"))
        ],
        variables={},
        validations=[
            (
                f"{owners.format('object', controls)}.all(n, {old}.exists(o, o.uid == n.uid))",
                (
                    "the queue has counted this with the owner that it was made with, and no controller may adopt it:"
                    " choose a selector that matches none of the objects that are there, or delete them"
                ),
            ),
        ],
        match_conditions={},
    )
