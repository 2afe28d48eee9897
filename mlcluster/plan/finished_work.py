"""The admission policy that lets pods end with the work that Kueue counts: quota and GPUs become free together.

Kueue 0.18.3 gives the quota of an MPIJob or a RayJob back when the object has finished. The MPI operator leaves the
workers running by default, and KubeRay keeps the RayCluster for as long as the RayJob names.
"""

from collections.abc import Mapping

from mlcluster.plan import job_kinds
from mlcluster.plan.policy import MOST_SECONDS, Policy

_SPEC = "dyn(object.spec)"


def finished_work(users: Mapping[str, str]) -> list[Policy]:
    """Return the policy, if a component of the plan brings one of the kinds.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = tuple(kind for kind in job_kinds.kinds_of(users) if kind.kind in {"MPIJob", "RayJob"})
    if not kinds:
        return []
    return [
        Policy(
            name="mlcluster-finished-work",
            rules=job_kinds.rules(kinds, "CREATE"),
            variables={"most": MOST_SECONDS},
            validations=[_workers(), *_ray_clusters()],
            match_conditions={},
        )
    ]


def _workers() -> tuple[str, str]:
    run = f"{_SPEC}.runPolicy"
    return (
        (
            f"object.kind != 'MPIJob' || (has({run}) && has({run}.cleanPodPolicy)"
            f" && {run}.cleanPodPolicy in ['All', 'Running'])"
        ),
        (
            "the workers of an MPIJob would keep their GPUs when the launcher has ended:"
            " set runPolicy.cleanPodPolicy to Running"
        ),
    )


def _ray_clusters() -> list[tuple[str, str]]:
    later = f"{_SPEC}.ttlSecondsAfterFinished"
    return [
        (
            f"object.kind != 'RayJob' || !has({later}) || int({later}) <= variables.most",
            (
                "'a RayJob keeps its cluster for at most ' + string(variables.most) +"
                " ' s after it has finished: lower ttlSecondsAfterFinished'"
            ),
        ),
        (
            f"object.kind != 'RayJob' || !has({_SPEC}.deletionStrategy)",
            "the cluster of a RayJob ends with it: leave deletionStrategy out",
        ),
    ]
