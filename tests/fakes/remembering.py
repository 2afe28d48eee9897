"""Stacks that only remember what was asked of them, and readings of small `eks` specs: for verbs, without Pulumi."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.adoption import Held
from mlcluster.engine.engine import Engine
from mlcluster.engine.identity import RELEASE
from mlcluster.engine.state import Resource, resources_in
from mlcluster.errors import MlclusterError
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from tests.specs import SYSTEM, Data, checked, cluster

CONTROL_PLANE = Resource("urn:pulumi:atlas::p::aws:eks/cluster:Cluster::c", "atlas", "aws:eks/cluster:Cluster", "c")
TOKENS = {
    "FileSystem": "aws:efs/fileSystem:FileSystem",
    "Release": RELEASE,
    "Subnet": "aws:ec2/subnet:Subnet",
    "Vpc": "aws:ec2/vpc:Vpc",
}
EKS: Data = {"kind": "eks", "region": "us-west-2", "kubernetesVersion": "1.34", "deletionProtection": False}


@dataclass
class RememberingEngine:
    """A stack that holds these resources and tells these outputs.

    Attributes:
        log: gets "title: operation"; shared by the stacks of a test, so that it tells their order.
        there: whether the backend has the stack.
        fails: what `destroy` raises, after it has deleted everything but the first resource.
    """

    title: str
    log: list[str]
    held: list[Resource] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    there: bool = True
    fails: MlclusterError | None = None
    home: Any = field(default_factory=lambda: SimpleNamespace(name="atlas"))

    def exists(self) -> bool:
        return self.there

    def resources(self) -> list[Resource]:
        return list(self.held) if self.there else []

    def held_objects(self) -> list[Held]:
        return []

    def recover_if_owner_dead(self) -> None:
        pass

    def outputs(self) -> dict[str, Any]:
        return self.told

    def stop_retaining(self, plan_ids: tuple[str, ...]) -> None:
        self.log.append(f"{self.title}: stop retaining {', '.join(plan_ids)}")

    def destroy(self, _on_event: object) -> None:
        self.log.append(f"{self.title}: destroy")
        if self.fails is not None:
            del self.held[1:]
            raise self.fails
        self.held.clear()

    def remove_stack(self) -> None:
        self.log.append(f"{self.title}: remove")
        assert not self.held, "the engine refuses to remove a stack that holds something"
        self.there = False

    def abandon(self) -> None:
        if self.there:
            self.log.append(f"{self.title}: abandon")
        self.there = False

    @property
    def stack(self) -> Stack:
        """As the verbs have it."""
        return Stack(self.title, cast("Engine", self))


def held(plan_id: str, identifier: str = "", type_: str = "") -> Resource:
    """A resource in a state; the cloud's ID is its plan id's last part where none is given."""
    kind, *space, name = plan_id.split("/")
    token = type_ or TOKENS.get(kind, f"kubernetes:core/v1:{kind}")
    inputs: Data = {"name": name, **({"namespace": space[0]} if space else {})}
    item = {
        "urn": f"urn:pulumi:atlas::p::{token}::{plan_id}",
        "id": identifier or name,
        "type": token,
        "inputs": {"metadata": inputs} if token.startswith("kubernetes:") and token != RELEASE else inputs,
    }
    (found,) = resources_in({"resources": [item]})
    return found


def workspace_of(*pools: Data, target: Data | None = None, path: Path = Path("cluster.yaml"), **rest: Any) -> Workspace:
    """Return the workspace of a spec of these pools (default: two CPU nodes) on `eks`, without findings."""
    given = target if target and "kind" in target else {**EKS, **(target or {})}
    spec = checked(cluster(*(pools or ({**SYSTEM, "minSize": 2},)), target=given, **rest))
    plan: Plan = build(spec)
    return Workspace(path, spec, cast("Any", None), plan, ())
