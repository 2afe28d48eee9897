"""Messages about the pending creations of a killed run."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.recovery import recover_if_owner_dead
from mlcluster.engine.state import Pending, pending_in


@dataclass
class Stack:
    """A stack without a lock, with pending operations."""

    home: StackHome
    open: list[Pending]
    project: str = "p"
    said: list[str] = field(default_factory=list)

    def say(self, text: str, /) -> None:
        self.said.append(text)

    def pending(self) -> list[Pending]:
        return self.open

    def cancel(self) -> None:
        raise AssertionError

    def take_over(self) -> None:
        self.open = []


def _after(tmp_path: Path, *resources: dict[str, object], operation: str = "creating") -> str:
    entries = [
        {"type": operation, "resource": {"urn": f"urn:pulumi:a::p::{one['type']}::x", **one}} for one in resources
    ]
    stack = Stack(StackHome("atlas", tmp_path), pending_in({"pending_operations": entries}))
    recover_if_owner_dead(stack)
    return "\n".join(stack.said)


@pytest.mark.parametrize(
    ("type_", "inputs", "operation", "warned"),
    [
        ("aws:fsx/lustreFileSystem:LustreFileSystem", {"storageCapacity": 1200}, "creating", True),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, "creating", True),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, "deleting", False),
        ("aws:iam/role:Role", {"name": "atlas-nodes"}, "creating", False),
        ("kubernetes:core/v1:Namespace", {"metadata": {"name": "research"}}, "creating", False),
    ],
)
def test_creations_without_a_predictable_id_are_named(
    type_: str, inputs: dict[str, object], operation: str, *, warned: bool, tmp_path: Path
) -> None:
    """AWS chooses such an ID, so the next `up` creates another one, and both cost money."""
    said = _after(tmp_path, {"type": type_, "inputs": inputs}, operation=operation)
    assert "A killed run left pending operations" in said
    assert ("mlcluster.dev/cluster" in said) is warned
