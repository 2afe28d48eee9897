"""Inputs of the checks: the account, the spec, the plan, the time, and answers that several checks share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from mlcluster.aws.refusals import AwsError
from mlcluster.aws.session import Account
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Plan, PlanResource, Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget

Place = tuple[str | int, ...]


@dataclass(slots=True)
class Facts:
    """The questions' ground.

    Attributes:
        now: with a time zone; what windows of capacity blocks are compared with.
        context: resolves zones of pools as the plan does.
    """

    account: Account
    spec: ClusterSpec
    target: EksTarget
    plan: Plan
    now: datetime
    context: EksContext
    _known: dict[str, Any] = field(default_factory=dict)
    _locks: dict[str, Any] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def once(self, name: str, question: Callable[[], Any]) -> Any:
        """The answer to a question that several checks ask, asked once; a refusal is asked again by the next."""
        with self._lock:
            lock = self._locks.setdefault(name, Lock())
        with lock:
            if name not in self._known:
                self._known[name] = question()
            return self._known[name]

    def cluster(self) -> dict[str, Any] | None:
        """The EKS cluster of the plan's name as DescribeCluster has it, None when there is none."""

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
        """Whether the cluster of the plan is there and ours, so that its own nodes count in what is used."""
        found = self.cluster()
        return found is not None and self.is_ours(found)

    def is_ours(self, cluster: dict[str, Any]) -> bool:
        """Whether an EKS cluster carries our tags."""
        tags = cluster.get("tags") or {}
        return all(tags.get(key) == value for key, value in self.context.tags.items())

    def zones(self) -> dict[str, dict[str, Any]]:
        """Zones of the region that this account has: name -> DescribeAvailabilityZones' entry."""

        def ask() -> dict[str, dict[str, Any]]:
            listed = self.account.ask("ec2", "DescribeAvailabilityZones")["AvailabilityZones"]
            return {zone["ZoneName"]: zone for zone in listed}

        answer: dict[str, dict[str, Any]] = self.once("zones", ask)
        return answer

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The plan's pools."""
        return self.plan.pools

    def types_of(self, pool: Pool) -> tuple[str, ...]:
        """The pool's instance type, then the other ones that will do."""
        return tuple(dict.fromkeys((pool.instance_type, *self.context.spec_pool(pool).capacity.also)))

    def place(self, pool: Pool, *more: str | int) -> Place:
        """The place of a pool in the spec, e.g. ("nodePools", 1, "instanceType")."""
        index = next(index for index, written in enumerate(self.spec.node_pools) if written.name == pool.name)
        return ("nodePools", index, *more)

    def resources(self, type_name: str) -> tuple[PlanResource, ...]:
        """The plan's resources of a type, e.g. "NodeGroup"."""
        return tuple(entry for entry in self.plan.resources if entry.kind == type_name)


def joined(words: Iterable[str]) -> str:
    """Words for a sentence: "a, b and c"."""
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}" if listed else "none"
