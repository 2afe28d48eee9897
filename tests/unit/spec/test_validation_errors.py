"""Messages for every error that pydantic can report about a spec."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.masking import masked
from mlcluster.spec.patterns import PATTERNS
from mlcluster.spec.schema import cluster_schema
from mlcluster.spec.suggestions import did_you_mean, listed, nearest
from mlcluster.spec.validation_errors import validation_problems
from mlcluster.spec.yaml_reader import read_yaml

pytestmark = pytest.mark.unit


def patterns_in(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        yield from (key for key in node.get("patternProperties", {}) if key != "^x-")
        for value in node.values():
            yield from patterns_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from patterns_in(value)


def test_every_pattern_of_the_models_has_words_and_no_words_are_left_over() -> None:
    assert set(patterns_in(cluster_schema())) == set(PATTERNS)


def test_a_key_named_like_a_shape_does_not_lead_astray() -> None:
    text = "teams:\n  - name: a\n    borrow: {mapping: {nodes: 1}, word: {nodes: x}, list: {nodez: 1}}\n"
    document = read_yaml(text, "x")
    with pytest.raises(ValidationError) as caught:
        ClusterSpec.model_validate(document.data)
    found = {document.spell(problem.loc) for problem in validation_problems(document, caught.value.errors())}
    assert {"teams[0] (a).borrow.word.nodes", "teams[0] (a).borrow.list.nodez"} <= found


def test_a_misspelt_key_is_not_missing_too() -> None:
    document = read_yaml("nodePools:\n  - {name: a, instanceType: p5.48xlarge, max_size: 1}\n", "x")
    with pytest.raises(ValidationError) as caught:
        ClusterSpec.model_validate(document.data)
    messages = [problem.message for problem in validation_problems(document, caught.value.errors())]
    assert "maxSize is missing" not in messages
    assert "unknown field" in messages


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("backend: https://bob:pa55@state/x", "backend: https://********@state/x"),
        ('password: "hunter2"', 'password: "*******"'),
        ("{apiToken: abc, b: c}", "{apiToken: ***, b: c}"),
        ("password: ab,cd", "password: *****"),
        ("{'password':\t'ab, cd', e: f}", "{'password':\t'******', e: f}"),
        ("backend: https://bob:p@ss@state/x", "backend: https://********@state/x"),
        ("backend: azblob://c?sig=abc%2F&x=y", "backend: azblob://c?sig=******&x=y"),
        ("key: AKIAABCDEFGHIJKLMNOP", "key: ********************"),
        ("secretsProvider: awskms://alias/atlas", "secretsProvider: awskms://alias/atlas"),
        ("secretsProvider: passphrase", "secretsProvider: passphrase"),
        ("secretsProvider: hunter2", "secretsProvider: *******"),
        ("limits: {configMaps: 5, secrets: 100, jobs: 9}", "limits: {configMaps: 5, secrets: 100, jobs: 9}"),
        ("      secrets: 0", "      secrets: 0"),
        ("secrets: 123abc", "secrets: ******"),
        ("secrets: 12345678", "secrets: ********"),
        ("taints: [{key: dedicated, value: training}]", "taints: [{key: dedicated, value: training}]"),
        ("maxSize: 8  # see https://example.com/a@b", "maxSize: 8  # see https://example.com/a@b"),
    ],
)
def test_secrets_are_hidden_in_place(line: str, shown: str) -> None:
    assert masked(line) == shown
    assert len(masked(line)) == len(line)


@pytest.mark.parametrize("piece", ["-token", "?sig", "://a", "-token: ", "password", "?a-key", "secret: '"])
def test_a_hostile_line_is_masked_and_ends(piece: str) -> None:
    assert len(masked(piece * 100_000)) == len(piece) * 100_000


@pytest.mark.parametrize(
    ("word", "found"),
    [("max_size", "maxSize"), ("MAXSIZE", "maxSize"), ("minSise", "minSize"), ("zzz", ""), ("", "")],
)
def test_a_typo_gets_the_nearest_field_as_a_suggestion(word: str, found: str) -> None:
    assert nearest(word, ["name", "maxSize", "minSize"]) == found


def test_hints() -> None:
    assert did_you_mean("trian", ["train"]) == "Did you mean train?"
    assert did_you_mean("x", ["train"], otherwise="pools: train") == "pools: train"
    assert listed("abc") == "a, b, c"
    assert listed("abc", 2) == "a, b and 1 more"
