"""An AWS account in memory: its resources, its rejections, and faults that a test injects."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import cloud_names, remembered_values, replacement
from tests.fakes.in_memory_provider import Gate

Values = dict[str, Any]


class RefusedError(Exception):
    """AWS rejects a request; the text is its message."""


@dataclass
class Thing:
    """A resource of the account."""

    plan_id: str
    token: str
    id: str
    inputs: Values
    outputs: Values

    @property
    def handles(self) -> set[str]:
        """The texts by which others refer to it: its ID, which is the name where AWS has no other, and its ARN."""
        return {self.id, self.outputs.get("arn", self.id)}


IN_USE_BY = {
    "aws:cloudwatch/eventRule:EventRule": ("EventTarget",),
    "aws:ec2/eip:Eip": ("NatGateway",),
    "aws:ec2/launchTemplate:LaunchTemplate": ("NodeGroup",),
    "aws:ec2/placementGroup:PlacementGroup": ("LaunchTemplate",),
    "aws:ec2/routeTable:RouteTable": ("RouteTableAssociation",),
    "aws:ec2/securityGroup:SecurityGroup": (
        "SecurityGroupIngressRule",
        "SecurityGroupEgressRule",
        "LaunchTemplate",
        "MountTarget",
        "LustreFileSystem",
        "VpcEndpoint",
    ),
    "aws:ec2/subnet:Subnet": ("NatGateway", "NodeGroup", "Cluster", "MountTarget", "LustreFileSystem", "VpcEndpoint"),
    "aws:ec2/vpc:Vpc": ("Subnet", "InternetGateway", "SecurityGroup", "RouteTable", "VpcEndpoint"),
    "aws:efs/fileSystem:FileSystem": ("MountTarget",),
    "aws:eks/cluster:Cluster": ("NodeGroup",),
    "aws:iam/policy:Policy": ("RolePolicyAttachment",),
    "aws:iam/role:Role": ("RolePolicyAttachment", "RolePolicy", "InstanceProfile"),
}
"""What AWS does not delete while one of these refers to it (DependencyViolation, ResourceInUse, DeleteConflict). Two
are stricter than AWS: a launch template with a node group (EKS then reports the group as unhealthy), and whatever a
launch template names (only its instances hold that). A rule of a security group counts where it refers to another."""

_ITS_OWN = frozenset({"name", "tags", "tagSpecifications"})

NEEDED = {"clusterName": "aws:eks/cluster:Cluster", "role": "aws:iam/role:Role"}
"""Inputs that name something by text, which AWS looks up when it creates."""


@dataclass
class Cloud:
    """The account.

    Attributes:
        account: its ID.
        region: where everything is.
        things: what exists, in the order of creation.
        calls: every change and read: ("Create", plan id).
        asked: tokens of the functions that were called, e.g. aws:index/getPartition:getPartition.
        deleted: plan ids in the order of deletion.
        fail_once: message by plan id or type token: the next creation, update or deletion fails with it.
        gate: holds answers back.
        slow: type tokens whose answers the gate holds back; empty for every type.
        cancelled: the engine told the provider to stop, or the operation has ended.
    """

    account: str = "111122223333"
    region: str = "us-west-2"
    things: list[Thing] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    fail_once: dict[str, str] = field(default_factory=dict)
    gate: Gate = field(default_factory=Gate)
    slow: frozenset[str] = frozenset()
    cancelled: threading.Event = field(default_factory=threading.Event)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def one(self, plan_id: str) -> Thing:
        """The resource of a plan id; KeyError when there is none, or more than one."""
        found = [thing for thing in self.things if thing.plan_id == plan_id]
        if len(found) != 1:
            raise KeyError(f"{len(found)} of {plan_id}")
        return found[0]

    def ids(self) -> list[str]:
        """The plan ids of what exists, sorted."""
        with self.lock:
            return sorted(thing.plan_id for thing in self.things)

    def called(self, call: str) -> list[str]:
        """The plan ids of one kind of call, in order."""
        with self.lock:
            return [plan_id for name, plan_id in self.calls if name == call]

    def find(self, token: str, identifier: str) -> Thing | None:
        """What has this ID."""
        with self.lock:
            return next((thing for thing in self.things if (thing.token, thing.id) == (token, identifier)), None)

    def create(self, plan_id: str, token: str, inputs: Values) -> Thing:
        """Makes it; RefusedError when its name is taken, or what it names is not there."""
        with self.lock:
            self._begin("Create", plan_id, token)
            made = sum(1 for call in self.calls if call == ("Create", plan_id))
            name = cloud_names.Naming(self.account, self.region, plan_id, token, made)
            thing = Thing(plan_id, token, name.identifier(inputs), inputs, name.outputs(inputs))
            self._check_needs(thing)
            self._check_free(thing)
            self.things.append(thing)
        self._answer(token)
        return thing

    def update(self, plan_id: str, token: str, identifier: str, inputs: Values) -> Thing:
        """Changes it in place; RefusedError when it is gone."""
        with self.lock:
            self._begin("Update", plan_id, token)
            thing = self.find(token, identifier)
            if thing is None:
                raise RefusedError(f"{identifier} does not exist")
            inputs = remembered_values.planned(token, thing.outputs, inputs)
            asked = replacement.sent(token, thing.inputs, inputs)
            thing.outputs = cloud_names.changed(thing.token, thing.inputs, thing.outputs, asked)
            thing.inputs = asked
        self._answer(token)
        return thing

    def delete(self, plan_id: str, token: str, identifier: str) -> None:
        """Deletes it; RefusedError while others use it. What is gone already is no error."""
        with self.lock:
            self._begin("Delete", plan_id, token)
            thing = self.find(token, identifier)
            if thing is not None:
                self._check_unused(thing)
                self.things.remove(thing)
                self.deleted.append(plan_id)
        self._answer(token)

    def _begin(self, call: str, plan_id: str, token: str) -> None:
        self.calls.append((call, plan_id))
        for key in (plan_id, token):
            if key in self.fail_once:
                raise RefusedError(self.fail_once.pop(key))

    def _answer(self, token: str) -> None:
        if not self.slow or token in self.slow:
            self.gate.leave()

    def _check_needs(self, thing: Thing) -> None:
        for name, token in NEEDED.items():
            wanted = thing.inputs.get(name)
            if isinstance(wanted, str) and not any(one.token == token and wanted in one.handles for one in self.things):
                raise RefusedError(f"ResourceNotFoundException: no {token.rpartition(':')[2]} found for {wanted}")

    def _check_free(self, thing: Thing) -> None:
        for other in self.things:
            same_name = thing.token in cloud_names.UNIQUE_NAMES and other.inputs.get("name") == thing.inputs.get("name")
            same_place = other.inputs.get("vpcId") == thing.inputs.get("vpcId")
            if other.token == thing.token and (other.id == thing.id or (same_name and same_place)):
                raise RefusedError(f"AlreadyExistsException: {thing.id} exists already, as {other.plan_id}")

    def _check_unused(self, thing: Thing) -> None:
        if thing.inputs.get("deletionProtection"):
            raise RefusedError(f"InvalidRequestException: {thing.id} has deletion protection enabled")
        users = IN_USE_BY.get(thing.token, ())
        for other in self.things:
            kind = other.token.rpartition(":")[2]
            if other is not thing and kind in users and thing.handles & set(_used(other)):
                raise RefusedError(f"DependencyViolation: {thing.plan_id} ({thing.id}) is in use by {other.plan_id}")


def _used(thing: Thing) -> Iterator[str]:
    """Every text in the inputs of a thing but its own name and tags; of a group's rule only the other group."""
    if thing.token.startswith("aws:vpc/securityGroup"):
        yield thing.inputs.get("referencedSecurityGroupId", "")
    else:
        yield from _texts({key: value for key, value in thing.inputs.items() if key not in _ITS_OWN})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
