"""Checks across fields run on fields with the right shape, and report no problem that the correction would clear."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlcluster.report.problems import problems_json
from mlcluster.spec.load import parse
from mlcluster.spec.problems import SpecInvalidError
from tests.specs import SYSTEM, TRAIN, Data, cluster
from tests.strategies import broken_data, cluster_data

pytestmark = pytest.mark.unit

Place = tuple[str | int, ...]


def problems_of(data: Data | bytes) -> list[tuple[str, str]]:
    """Return path and message of every problem; empty for a valid spec."""
    content = (
        data if isinstance(data, bytes) else json.dumps(data, indent=1, ensure_ascii=False).encode("utf-8", "replace")
    )
    try:
        parse(content, "c.yaml")
    except SpecInvalidError as error:
        return [(problem["path"], problem["message"]) for problem in problems_json(error)["problems"]]
    return []


def mentions(problems: list[tuple[str, str]], text: str) -> bool:
    return any(text in f"{path}: {message}" for path, message in problems)


TEAMS: list[Data] = [
    {"name": "one", "guarantee": {"train": {"nodes": 1}}},
    {"name": "two", "guarantee": {"train": {"nodes": 1}, "system": {"nodes": 1}}},
    {"name": "three", "guarantee": {"system": {"nodes": 1}}},
]
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
TEAM_FAULTS: dict[str, tuple[Data, str]] = {
    "pool": ({"guarantee": {"nowhere": {"nodes": 1}}}, "unknown pool nowhere"),
    "borrowed pool": ({"borrow": {"nowhere": "all"}}, "unknown pool nowhere"),
    "tier": ({"tiers": ["nothing"]}, "unknown priority tier nothing"),
    "displaced tier": ({"displaces": "nothing"}, "unknown priority tier nothing"),
    "cohort": ({"cohort": "nothing"}, "unknown cohort nothing"),
    "units": ({"guarantee": {"train": {"nodes": 1, "gpus": 1}}}, "an amount has one unit"),
    "size": ({"guarantee": {"train": {"nodes": 9}}}, "which has 8"),
    "sum": ({"guarantee": {"train": {"nodes": 8}}}, "guarantees exceed pool train"),
    "lend": ({"lend": {"train": "all"}, "guarantee": {}}, "has no guarantee of pool train to lend"),
    "range": ({"network": {"egress": ["10.0.0.1/8"]}}, "an address inside a range"),
    "name": ({"name": "kube-system"}, "kube-system is a reserved namespace"),
    "name twice": ({"name": "two"}, "duplicate name two"),
    "role": ({"members": {"edit": {"awsRoles": ["arn:aws:iam::111122223333:role/x"]}}}, "IAM roles are not supported"),
    "scheduler": ({"scheduler": "volcano"}, "Volcano is not installed"),
}
POOL_FAULTS: dict[str, tuple[Data, str]] = {
    "sizes": ({"minSize": 9}, "expected at most 2 (maxSize), got 9"),
    "type": ({"instanceType": "m7i.13xlarge"}, "unknown size 13xlarge"),
    "taints": ({"taints": [TAINT, TAINT]}, "duplicate taint dedicated:NoSchedule"),
    "labels": ({"labels": {"kubernetes.io/x": "y"}}, "keys with the domain kubernetes.io are reserved"),
    "reserved": ({"reserved": {"pods": 500}}, "expected less than the"),
    "sharing": ({"gpu": {"mig": "all-1g.5gb"}}, "has no GPUs"),
    "selector": ({"selector": {"a": "b"}}, "selector is not supported on target local"),
    "capacity": ({"capacity": {"type": "spot"}}, "capacity type spot on target local"),
    "eks": ({"warm": {"nodes": 1}}, "warm is not supported on target local"),
    "topology": ({"topology": ["a", "a"]}, "duplicate label a"),
    "name twice": ({"name": "train"}, "duplicate name train"),
}
REST_FAULTS: dict[str, tuple[Data, str]] = {
    "finding": ({"allow": [{"id": "XYZ999", "reason": "there is no such finding"}]}, "unknown finding XYZ999"),
    "component": ({"components": {"efaDevicePlugin": {}}}, "does not install the EFA device plugin"),
    "weights": ({"components": {"kueue": {"fairSharing": {"weights": {"nobody": 1}}}}}, "unknown team nobody"),
    "times": ({"components": {"kueue": {"podsReadyTimeout": "0s"}}}, "is zero"),
    "tier": ({"priorityTiers": [{"name": "system-x", "value": 1}]}, "reserves the prefix system-"),
    "storage": ({"storage": {"classes": [{"name": "x"}]}}, "storage on target local is not supported"),
}
CROSS: list[Any] = [
    *(pytest.param(("teams", 0), *fault, id=f"team {name}") for name, fault in TEAM_FAULTS.items()),
    *(pytest.param(("nodePools", 0), *fault, id=f"pool {name}") for name, fault in POOL_FAULTS.items()),
    *(pytest.param((), *fault, id=name) for name, fault in REST_FAULTS.items()),
]
POOL_SHAPES: Data = {
    "labels": 7, "taints": [7], "reserved": {"cpu": 7}, "maxSize": "x", "minSize": "x", "gpu": 7, "capacity": 7,
    "network": {"efa": 7}, "nodeShape": 7, "selector": 7, "topology": 7, "warm": 7, "stray": 7,
}  # fmt: skip
TEAM_SHAPES: Data = {
    "borrow": 7, "lend": {"system": 7}, "tiers": 7, "members": 7, "network": 7, "displaces": 7, "scheduler": 7,
    "guarantee": {"system": {"nodes": "x"}}, "cohort": 7,
}  # fmt: skip
SHAPES: list[tuple[Place, Data]] = [
    *((("nodePools", 2), {key: value}) for key, value in POOL_SHAPES.items()),
    *((("teams", 2), {key: value}) for key, value in TEAM_SHAPES.items()),
    ((), {"budget": 7}),
    ((), {"state": {"backend": 7}}),
    (("target",), {"lab": 7}),
    (("target",), {"stray": 7}),
]


def spec_with(*changes: tuple[Place, Data]) -> Data:
    first = {"name": "first", "instanceType": "m7i.xlarge", "maxSize": 2}
    last = {"name": "last", "instanceType": "m7i.xlarge", "maxSize": 2}
    data = copy.deepcopy(cluster(first, TRAIN, last, SYSTEM, teams=TEAMS, components={}))
    for place, change in changes:
        inside: Any = data
        for part in place:
            inside = inside[part]
        inside.update(copy.deepcopy(change))
    return data


def test_the_spec_of_these_tests_is_valid() -> None:
    assert problems_of(spec_with()) == []


@pytest.mark.parametrize(("place", "change", "message"), CROSS)
def test_a_wrong_shape_hides_no_problem_elsewhere(place: Place, change: Data, message: str) -> None:
    """Both are reported, and nothing that neither of them has by itself."""
    across = problems_of(spec_with((place, change)))
    assert mentions(across, message), across
    for shape in SHAPES:
        of_shape = problems_of(spec_with(shape))
        assert of_shape
        assert set(problems_of(spec_with((place, change), shape))) == {*across, *of_shape}, shape


def places(value: Any, here: Place = ()) -> list[Place]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in ((*here, key), *places(inner, (*here, key)))]


def spoiled(draw: Callable[[st.SearchStrategy[Any]], Any], data: Data) -> tuple[Data, Place]:
    """The data with one value of a shape that no field has, a misspelt key, or one entry less that must be there."""
    place = draw(st.sampled_from([place for place in places(data) if place[0] != "x-home"]))
    data = copy.deepcopy(data)
    holder: Any = data
    for part in place[:-1]:
        holder = holder[part]
    if isinstance(holder, dict) and draw(st.booleans()):
        holder[f"{place[-1]}--"] = holder.pop(place[-1])  # no name of a field, pool or label
    else:
        holder[place[-1]] = 7.5 if isinstance(holder[place[-1]], dict | list) else [[{}]]
    return data, place


@settings(max_examples=40)
@given(cluster_data(targets=("local", "existing", "eks")), st.data())
def test_a_wrong_shape_alone_is_reported_alone(data: Data, random: st.DataObject) -> None:
    broken, place = spoiled(random.draw, data)
    problems = problems_of(broken)
    assume(problems)  # a label by another name is as good
    top = place[0] if len(place) == 1 else f"{place[0]}[{place[1]}]" if isinstance(place[1], int) else place[0]
    shape_only = [path for path, _ in problems if not (path == "" or path.startswith(str(top)))]
    assert shape_only == [], (place, problems)


@settings(max_examples=40)
@given(broken_data(), st.data())
def test_no_problem_depends_on_a_value_of_a_wrong_shape(data: Data, random: st.DataObject) -> None:
    """A problem across fields that is reported beside a wrong shape is also reported with the right shape."""
    before = problems_of(data)
    assume(not (len(before) == 1 and before[0][0] == ""))  # the file as a whole, e.g. for its characters
    broken, place = spoiled(random.draw, data)
    alone = [part for part in problems_of(broken) if part not in before]
    top = str(place[0])
    assert all(path == "" or path.startswith(top) for path, _ in alone), (place, before, alone)


def test_values_that_cannot_be_read_are_unknown() -> None:
    head = b"apiVersion: mlcluster/v1alpha1\nkind: Cluster\nmetadata: {name: atlas}\ntarget: {kind: local}\n"
    pools = b"nodePools: [{name: a, instanceType: m7i.large, minSize: 3, %s}, {name: b, instanceType: m7i, maxSize: 1}]"
    for unread in (b"maxSize: 1, maxSize: 4", b"maxSize: !x 1", b"maxSize: .inf"):
        problems = problems_of(head + pools % unread)
        assert not mentions(problems, "(maxSize), got 3"), unread
    known = problems_of(head + pools % b"maxSize: 1, labels: {a: b, a: c}")
    assert mentions(known, "(maxSize), got 3")


def test_a_value_that_was_read_by_an_alias_is_unknown_where_it_ends_up() -> None:
    head = b"apiVersion: mlcluster/v1alpha1\nkind: Cluster\nmetadata: {name: atlas}\ntarget: {kind: local}\nbudget: {"
    content = head + b"maxHourlyUsd: &m .inf}\nnodePools: [{name: a, instanceType: m7i.large, minSize: 3, maxSize: *m}]"
    assert not mentions(problems_of(content), "(maxSize), got 3")
