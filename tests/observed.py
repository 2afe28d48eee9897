"""A small cluster as rules and dashboards see it: pools with GPUs in each form and with none, and two teams."""

from dataclasses import dataclass, field
from typing import Literal

from mlcluster.plan.model import Accelerator, Manifest, Pool, Price, TeamPlan
from mlcluster.plan.observe.rules import rule_spec

Sharing = Literal["whole", "mig", "timeSlicing"]


def pool(name: str, accelerator: Accelerator | None = None, usd: float | None = None) -> Pool:
    """Return a pool with the managed label."""
    here = {"mlcluster.dev/pool": name}
    return Pool(
        name=name,
        instance_type="",
        arch="",
        min_size=0,
        max_size=4,
        labels=here,
        selector=here,
        taints=(),
        allocatable={},
        overhead={},
        usable={},
        accelerator=accelerator,
        capacity_type="onDemand",
        placement_group="",
        price=None if usd is None else Price(usd, "us-east-1", "2026-08-01", exact=True),
        spec_path=("nodePools", 0),
    )


def gpus(
    model: str,
    count: int,
    slices: int,
    sharing: Sharing,
    resource: str = "nvidia.com/gpu",
    shares: dict[str, int] | None = None,
) -> Accelerator:
    """Return the GPUs of a node."""
    return Accelerator(model, count, 81920, resource, slices, sharing, shares or {resource: slices})


def team(name: str) -> TeamPlan:
    """Return a team whose namespace is called differently."""
    return TeamPlan(name, f"team-{name}", "atlas", (), (), ("teams", 0))


MIXED = {"nvidia.com/gpu": 2, "nvidia.com/mig-3g.40gb": 6, "nvidia.com/mig-1g.10gb": 24}
POOLS = (
    pool("system", usd=0.5),
    pool("train", gpus("h100", 8, 8, "whole"), usd=48.0),
    pool("shared", gpus("a100", 8, 56, "mig", "nvidia.com/mig-1g.5gb"), usd=28.0),
    pool("sliced", gpus("l4", 1, 4, "timeSlicing")),
    # Of 8 GPUs 2 are whole; each of the others has one piece of 3 compute slices and four of 1.
    pool("mixed", gpus("h100", 8, 32, "mig", shares=MIXED), usd=56.0),
)
TEAMS = (team("research"), team("vision"))


@dataclass(frozen=True)
class Watched:
    """The parts of a cluster that rules depend on."""

    pools: tuple[Pool, ...] = POOLS
    teams: tuple[TeamPlan, ...] = TEAMS
    components: frozenset[str] = field(
        default_factory=lambda: frozenset({"gpu-operator", "kueue", "node-problem-detector"})
    )

    def has(self, component: str) -> bool:
        """Return whether a component is in the plan."""
        return component in self.components


def alerts(of: Watched | None = None) -> list[Manifest]:
    """Return every alert of a cluster."""
    return [rule for rule in _rules(of) if "alert" in rule]


def records(of: Watched | None = None) -> list[Manifest]:
    """Return every recording rule of a cluster."""
    return [rule for rule in _rules(of) if "record" in rule]


def _rules(of: Watched | None) -> list[Manifest]:
    return [rule for group in rule_spec(of or Watched())["groups"] for rule in group["rules"]]
