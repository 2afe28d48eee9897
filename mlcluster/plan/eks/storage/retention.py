"""Retention of the resources that contain a retained resource."""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import references


def with_kept_parents(resources: Iterable[PlanResource]) -> tuple[PlanResource, ...]:
    """Return the resources, and retain every resource that a retained resource refers to, directly or indirectly.

    AWS does not delete a subnet, security group or VPC that contains a file system, so `down` would fail.
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
