"""Resolution of references in the plan to Pulumi outputs of this run or exports of another stack."""

import asyncio
import contextvars
import importlib.metadata
import json
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import Settings, configure

from mlcluster.plan.values import Base64Text, Joined, JsonText, Ref
from stacks.eks import outputs, registration
from stacks.references import exported, sent

pytestmark = pytest.mark.unit
HERE = {"arn": "arn:x", "groups": [{"names": [{"name": "eks-1"}]}], "version": 3.0, "share": 0.5}


def _seen(ref_or_value: Any, *, preview: bool = False, known: bool = True) -> tuple[Any, bool]:
    """Return the value that the engine receives if references resolve to outputs of HERE, and whether it is known."""

    async def look() -> tuple[Any, bool]:
        def output(value: Any) -> Any:
            return pulumi.Output.from_input(value if known else pulumi.UNKNOWN)

        resource: Any = SimpleNamespace(**{name: output(value) for name, value in HERE.items()})
        made = pulumi.Output.from_input(sent(ref_or_value, lambda ref: outputs.output_of(resource, ref)))
        return await made.future(), await made.is_known()

    def run() -> tuple[Any, bool]:
        configure(Settings("project", "stack", dry_run=preview))
        return asyncio.run(look())

    return contextvars.copy_context().run(run)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (Ref("A/a", "arn"), "arn:x"),
        (Ref("A/a", "groups[0].names[0].name"), "eks-1"),
        (Ref("A/a", "version"), 3),
        (Ref("A/a", "share"), 0.5),
        (Joined((Ref("A/a", "version"), "/", Ref("A/a", "arn"))), "3/arn:x"),
        (JsonText({"b": [Ref("A/a", "arn")], "a": 1}), '{"a": 1, "b": ["arn:x"]}'),
        ({"plain": [Base64Text("x")], "arn": Ref("A/a", "arn")}, {"plain": ["eA=="], "arn": "arn:x"}),
    ],
)
def test_references_become_outputs(value: Any, seen: Any) -> None:
    found, known = _seen(value)
    assert (found, known) == (seen, True)
    assert type(found) is type(seen)


@pytest.mark.parametrize("path", ["arn", "groups[0].names[0].name", "groups[7].names", "groups[0].other.name"])
@pytest.mark.parametrize("wrapped", [lambda ref: ref, lambda ref: Joined(("a", ref)), lambda ref: JsonText([ref])])
def test_nested_unknown_values_stay_unknown(wrapped: Any, path: str) -> None:
    assert _seen(wrapped(Ref("A/a", path)), preview=True, known=False)[1] is False


def test_a_missing_output_in_a_preview_is_unknown() -> None:
    assert _seen(Ref("A/a", "groups[1].names[0].name"), preview=True) == (None, False)
    assert _seen(Ref("A/a", "groups[0].other"), preview=True) == (None, False)


def test_a_missing_output_of_a_created_resource_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\$\{A/a.groups\[1\].names\} has no value"):
        _seen(Ref("A/a", "groups[1].names"))


@pytest.mark.parametrize("path", ["", "a.", ".a", "a[x]", "a[0", "a b", "0"])
def test_invalid_paths_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is no output"):
        outputs.steps(path)


def test_valid_paths() -> None:
    assert outputs.steps("resources[0].autoscalingGroups[12].name") == [
        "resources",
        0,
        "autoscalingGroups",
        12,
        "name",
    ]


def test_values_without_references_are_plain() -> None:
    value = {"policy": JsonText({"b": 1, "a": [2]}), "data": Base64Text("x"), "list": ("a", "b")}
    assert sent(value, exported({})) == {"policy": '{"a": [2], "b": 1}', "data": "eA==", "list": ["a", "b"]}


def test_exports_of_another_stack_are_plain_and_missing_ones_unknown_in_a_preview() -> None:
    find = exported({"A/a": {"id": "fs-1"}})
    value = {"id": Ref("A/a", "id"), "text": JsonText({"id": Ref("A/a", "id")})}
    assert sent(value, find) == {"id": "fs-1", "text": json.dumps({"id": "fs-1"})}

    async def look() -> bool:
        made = pulumi.Output.from_input(sent({"new": Joined(("x-", Ref("B/b", "id")))}, find))
        return bool(await made.is_known())

    def run() -> bool:
        configure(Settings("project", "stack", dry_run=True))
        return asyncio.run(look())

    assert contextvars.copy_context().run(run) is False


def test_requested_versions_are_those_of_the_installed_sdks() -> None:
    assert importlib.metadata.version("pulumi-aws") == registration.AWS_VERSION
    assert importlib.metadata.version("pulumi-eks") == registration.EKS_VERSION
