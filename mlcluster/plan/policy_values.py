"""Values that a plan fills into the admission policies under `templates/policies`: lists as CEL literals, and flags."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlcluster.plan import job_kinds
from mlcluster.plan.model import Pool
from mlcluster.plan.pod_size import pod_size_lists
from mlcluster.plan.templates import Values, read
from mlcluster.spec.teams import GRACE_PERIOD_SECONDS

SHARED = "policies/shared"


def policy_values(pools: Sequence[Pool], users: Mapping[str, str], *, volcano: bool) -> Values:
    """Return the values of every policy.

    Args:
        pools: with the resources that a node of each holds beside its daemon sets.
        users: component of the plan that makes objects in teams' namespaces -> the user that its controller is.
        volcano: there are teams that Volcano queues.
    """
    lists = {**_lists(pools, users), **pod_size_lists(pools)}
    kinds = {kind.kind for kind in job_kinds.kinds_of(users)}
    flags = {kind.kind: kind.kind in kinds for kind in job_kinds.KINDS}
    conditional = ("jobKinds", "owners", "countedOwners", "podOwners", "componentUsers")
    return Values(
        flags={
            **flags,
            **{name: bool(lists[name]) for name in conditional},
            "kserve": "kserve" in users,
            "volcano": volcano,
        },
        texts={
            **{name: cel(value) for name, value in lists.items()},
            "defaultGracePeriodSeconds": cel(GRACE_PERIOD_SECONDS),
            "kserveUser": cel(users.get("kserve", "")),
        },
        expressions=read(f"{SHARED}/expressions.yaml"),
        lists=read(f"{SHARED}/lists.yaml"),
    )


def cel(value: Any) -> str:
    """Return a value as a CEL literal, which is how Python writes it.

    Raises:
        TypeError: Python writes the value in another way than CEL.
        ValueError: the value has a placeholder, which would be filled in.
    """
    if isinstance(value, str) and "${" in value:
        raise ValueError(f"a placeholder in {value!r}")
    parts: Iterable[Any] = ()
    if isinstance(value, dict):
        parts = (*value, *value.values())
    elif isinstance(value, list):
        parts = value
    elif isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"no CEL literal for {value!r}")
    for part in parts:
        cel(part)
    return repr(value)


def _lists(pools: Sequence[Pool], users: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the lists that follow from the components of the plan, and the resources by which pods request GPUs."""
    kinds = job_kinds.kinds_of(users)
    groups = {f"{kind.group}/" for kind in kinds}
    accelerators = {name for pool in pools if pool.accelerator is not None for name in pool.accelerator.shares}
    return {
        "accelerators": list(dict.fromkeys(["nvidia.com/gpu", *sorted(accelerators)])),
        "jobKinds": [kind.kind for kind in kinds],
        "jobKindGroups": sorted(groups),
        "jobGroups": sorted({*groups, "batch/"}),
        "owners": job_kinds.owners(users),
        "countedOwners": job_kinds.owners(users, only=job_kinds.COUNTED),
        "podOwners": job_kinds.owners(users, only=("mpi-operator", "kuberay-operator")),
        "componentUsers": job_kinds.users_of(users),
    }
