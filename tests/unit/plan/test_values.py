"""Values that are known, or take their final form, only when the engine runs: printed, searched and sent."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcluster.plan.values import Base64Text, Joined, JsonText, Ref, printable, references, resolved

pytestmark = pytest.mark.unit

ARN, NAME = Ref("Role/nodes", "arn"), Ref("Cluster/atlas", "eksCluster.name")
KNOWN = {ARN: "arn:aws:iam::111122223333:role/nodes", NAME: "atlas", Ref("LaunchTemplate/a", "latestVersion"): 3}
POLICY = {"Statement": [{"Resource": [ARN, Joined((ARN, "/*"))], "Effect": "Allow"}]}

CASES: list[tuple[Any, Any, list[Ref], Any]] = [
    # value, as a plan prints it, what it refers to, what is sent
    ("plain", "plain", [], "plain"),
    (None, None, [], None),
    (7, 7, [], 7),
    (False, False, [], False),
    (ARN, "${Role/nodes.arn}", [ARN], KNOWN[ARN]),
    (Ref("LaunchTemplate/a", "latestVersion"), "${LaunchTemplate/a.latestVersion}",
     [Ref("LaunchTemplate/a", "latestVersion")], 3),
    (Joined(("a-", NAME, "-", ARN)), "a-${Cluster/atlas.eksCluster.name}-${Role/nodes.arn}", [NAME, ARN],
     f"a-atlas-{KNOWN[ARN]}"),
    (Joined(("v", Ref("LaunchTemplate/a", "latestVersion"))), "v${LaunchTemplate/a.latestVersion}",
     [Ref("LaunchTemplate/a", "latestVersion")], "v3"),
    (Joined(()), "", [], ""),
    (Base64Text("MIME-Version: 1.0\n"), {"$base64": "MIME-Version: 1.0\n"}, [], "TUlNRS1WZXJzaW9uOiAxLjAK"),
    (Base64Text("größe"), {"$base64": "größe"}, [], base64.b64encode("größe".encode()).decode()),
    (JsonText({"b": 1, "a": [True, None]}), {"$json": {"b": 1, "a": [True, None]}}, [], '{"a": [true, null], "b": 1}'),
    (JsonText(POLICY),
     {"$json": {"Statement": [{"Resource": ["${Role/nodes.arn}", "${Role/nodes.arn}/*"], "Effect": "Allow"}]}},
     [ARN, ARN],
     json.dumps({"Statement": [{"Effect": "Allow", "Resource": [KNOWN[ARN], f"{KNOWN[ARN]}/*"]}]}, sort_keys=True)),
    ({}, {}, [], {}),
    ((), [], [], []),
    ({"role": ARN, "tags": {"a": "b"}, "list": [NAME, ("x", ARN)]},
     {"role": "${Role/nodes.arn}", "tags": {"a": "b"},
      "list": ["${Cluster/atlas.eksCluster.name}", ["x", "${Role/nodes.arn}"]]},
     [ARN, NAME, ARN],
     {"role": KNOWN[ARN], "tags": {"a": "b"}, "list": ["atlas", ["x", KNOWN[ARN]]]}),
    ([{"policy": JsonText([NAME])}, Base64Text("x")], [{"policy": {"$json": ["${Cluster/atlas.eksCluster.name}"]}},
     {"$base64": "x"}], [NAME], [{"policy": '["atlas"]'}, "eA=="]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "shown"), [(value, shown) for value, shown, _, _ in CASES])
def test_written(value: Any, shown: Any) -> None:
    assert printable(value) == shown
    assert json.loads(json.dumps(printable(value))) == shown, "a plan is printed as JSON"


@pytest.mark.parametrize(("value", "found"), [(value, found) for value, _, found, _ in CASES])
def test_references(value: Any, found: list[Ref]) -> None:
    assert list(references(value)) == found


@pytest.mark.parametrize(("value", "sent"), [(value, sent) for value, _, _, sent in CASES])
def test_resolved(value: Any, sent: Any) -> None:
    found = resolved(value, KNOWN.__getitem__)
    assert found == sent
    assert type(found) is type(sent)


@pytest.mark.parametrize("value", [ARN, Joined(("a", ARN)), JsonText([{"a": ARN}]), {"a": [(ARN,)]}])
def test_an_error_of_the_lookup_is_raised(value: Any) -> None:
    with pytest.raises(KeyError):
        resolved(value, dict[Ref, Any]().__getitem__)


def test_nothing_is_changed_in_place() -> None:
    value = {"a": [ARN, {"b": NAME}]}
    printable(value)
    resolved(value, KNOWN.__getitem__)
    assert value == {"a": [ARN, {"b": NAME}]}


_text = st.text(max_size=5)
_refs = st.builds(Ref, st.sampled_from(["Vpc/a", "Role/b"]), st.sampled_from(["id", "arn"]))
_joined = st.builds(Joined, st.lists(_text | _refs, max_size=3).map(tuple))
_leaves: st.SearchStrategy[Any] = st.one_of(
    _text, st.integers(), st.none(), _refs, _joined, st.builds(Base64Text, _text)
)
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3) | st.builds(JsonText, inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(_values)
def test_every_reference_is_looked_up_once_and_no_other(value: Any) -> None:
    asked: list[Ref] = []

    def lookup(ref: Ref) -> str:
        asked.append(ref)
        return "known"

    found = resolved(value, lookup)
    assert asked == list(references(value))
    assert list(references(found)) == []
    assert printable(found) == found
    assert json.loads(json.dumps(found)) == found
