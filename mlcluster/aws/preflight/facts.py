"""The inputs of the checks: account, spec, plan, time, and the responses that several checks share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from mlcluster.aws.errors import AwsError
from mlcluster.aws.session import Account
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Plan, PlanResource, Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget

Place = tuple[str | int, ...]


@dataclass(slots=True)
class Facts:
    """The inputs of the checks.

    Attributes:
        now: the time, with a time zone; capacity block windows are compared with it.
        context: resolves the zones of pools as the plan does.
    """

    account: Account
    spec: ClusterSpec
    target: EksTarget
    plan: Plan
    now: datetime
    context: EksContext
    _responses: dict[str, Any] = field(default_factory=dict)
    _locks: dict[str, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def once(self, name: str, question: Callable[[], Any]) -> Any:
        """Return the response that several checks share, requested once; the next check repeats a failed request."""
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._responses:
                self._responses[name] = question()
            return self._responses[name]

    def cluster(self) -> dict[str, Any] | None:
        """Return the DescribeCluster entry of the EKS cluster with the plan's name; None if there is none."""

        def ask() -> dict[str, Any] | None:
            try:
                found: dict[str, Any] = self.account.ask("eks", "DescribeCluster", name=self.plan.cluster.name)[
                    "cluster"
                ]
            except AwsError as error:
                if error.code == "ResourceNotFoundException":
                    return None
                raise
            return found

        answer: dict[str, Any] | None = self.once("cluster", ask)
        return answer

    @property
    def exists_already(self) -> bool:
        """Whether mlcluster already created the cluster of the plan, so that present usage includes its nodes."""
        found = self.cluster()
        return found is not None and self.is_managed(found)

    def is_managed(self, cluster: dict[str, Any]) -> bool:
        """Return whether an EKS cluster carries the tags of the plan."""
        tags = cluster.get("tags") or {}
        return all(tags.get(key) == value for key, value in self.context.tags.items())

    def zones(self) -> dict[str, dict[str, Any]]:
        """Return the zones of the region that this account has: name -> entry of DescribeAvailabilityZones."""

        def ask() -> dict[str, dict[str, Any]]:
            listed = self.account.ask("ec2", "DescribeAvailabilityZones")["AvailabilityZones"]
            return {zone["ZoneName"]: zone for zone in listed}

        answer: dict[str, dict[str, Any]] = self.once("zones", ask)
        return answer

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools of the plan."""
        return self.plan.pools

    def types_of(self, pool: Pool) -> tuple[str, ...]:
        """Return the pool's instance type, then its alternatives."""
        return tuple(dict.fromkeys((pool.instance_type, *self.context.spec_pool(pool).capacity.also)))

    def place(self, pool: Pool, *more: str | int) -> Place:
        """Return the place of a pool in the spec, e.g. ("nodePools", 1, "instanceType")."""
        index = next(index for index, written in enumerate(self.spec.node_pools) if written.name == pool.name)
        return ("nodePools", index, *more)

    def resources(self, type_name: str) -> tuple[PlanResource, ...]:
        """Return the plan's resources of a type, e.g. "NodeGroup"."""
        return tuple(entry for entry in self.plan.resources if entry.kind == type_name)


def joined(words: Iterable[str]) -> str:
    """Return the words as text: "a, b and c"."""
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}" if listed else "none"
