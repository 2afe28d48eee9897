"""What is kept because something kept lives in it."""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import references


def with_kept_parents(resources: Iterable[PlanResource]) -> tuple[PlanResource, ...]:
    """The resources, with everything that a kept one refers to kept as well, and what that refers to, and so on.

    AWS does not delete a subnet, security group or VPC that a file system is in: `down` would fail on it.
    """
    every = tuple(resources)
    by_id = {entry.id: entry for entry in every}
    kept: set[str] = set()
    waiting = [entry.id for entry in every if entry.retained]
    while waiting:
        identifier = waiting.pop()
        if identifier in by_id and identifier not in kept:
            kept.add(identifier)
            waiting += [found.resource for found in references(by_id[identifier].inputs)]
    return tuple(replace(entry, retained=entry.id in kept) for entry in every)
