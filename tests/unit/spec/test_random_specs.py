"""Any file content gives a spec or a list of problems, never another error."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcluster.report.problems import problems_json, problems_text
from mlcluster.spec.load import Loaded, parse
from mlcluster.spec.problems import SpecInvalidError
from tests.strategies import broken_data, cluster_data

pytestmark = pytest.mark.unit

LAB = (Path(__file__).parent.parent.parent.parent / "examples" / "lab.yaml").read_bytes()


def yaml_of(data: Any) -> bytes:
    """Return data as JSON, which is YAML, with short lines for exact positions."""
    return json.dumps(data, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def assert_read_or_rejected(content: bytes) -> Loaded | SpecInvalidError:
    """Return the spec or the error, and check that an error has its required parts."""
    try:
        return parse(content, "random.yaml")
    except SpecInvalidError as error:
        refusal = error
    assert problems_text(refusal, color=False).endswith("\n")
    assert json.loads(json.dumps(problems_json(refusal)))["problems"]
    lines = content.decode("utf-8", "replace").splitlines()
    assert all(problem.message for problem in refusal.problems)
    assert all(problem.line is None or 1 <= problem.line <= len(lines) + 1 for problem in refusal.problems)
    return refusal


@settings(max_examples=40)  # tests of the whole plan check as many again
@given(cluster_data())
def test_a_plausible_spec_is_valid(data: dict[str, Any]) -> None:
    found = assert_read_or_rejected(yaml_of(data))
    assert isinstance(found, Loaded), found
    assert found.spec.metadata.name == data["metadata"]["name"]


@settings(max_examples=40)
@given(cluster_data(targets=("eks",)))
def test_a_plausible_eks_spec_is_valid(data: dict[str, Any]) -> None:
    found = assert_read_or_rejected(yaml_of(data))
    assert isinstance(found, Loaded), found


@settings(max_examples=150)
@given(broken_data())
def test_a_mutated_spec_is_read_or_rejected(data: dict[str, Any]) -> None:
    assert_read_or_rejected(yaml_of(data))


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_file_is_read_or_rejected(data: st.DataObject) -> None:
    content = bytearray(LAB)
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 12)))
        pieces = st.sampled_from([b":", b"- ", b"\t", b"\n", b"[", b"}", b"*a", b"&a ", b"'", b"!x ", b"<<: ", b"|\n"])
        content[start:end] = data.draw(st.one_of(pieces, st.binary(max_size=4)))
    assert_read_or_rejected(bytes(content))


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_noise_is_refused(content: bytes) -> None:
    assert isinstance(assert_read_or_rejected(content), SpecInvalidError)
