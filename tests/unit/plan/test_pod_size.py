"""The policy on pods that no node can hold; tests/lab/promise/test_pod_size.py asks the API server."""

import pytest

from mlcluster.plan import names
from tests.specs import SYSTEM, Data, manifests, planned

pytestmark = pytest.mark.unit

POLICY = "mlcluster-pod-size"
LONGEST_MESSAGE = 5 * 1024
"""Bytes of a message that the API server passes on (apiserver v0.36.2, MaxEvaluatedMessageExpressionSizeBytes)."""


def variables(*pools: Data) -> dict[str, str]:
    """Return the variables of the policy for a plan with these pools."""
    spec = manifests(planned(*pools), "ValidatingAdmissionPolicy")[POLICY]["spec"]
    return {entry["name"]: entry["expression"] for entry in spec["variables"]}


def test_the_pools_of_a_message_are_cut_where_it_would_be_dropped() -> None:
    """A message that is too long is replaced by one without any size."""
    found = variables(*({**SYSTEM, "name": f"a-pool-with-a-long-name-{index}"} for index in range(64)))
    assert len(found["described"]) > LONGEST_MESSAGE
    assert ".substring(0, 4096)" in found["nodes"]


def test_only_workloads_of_kueue_need_a_pool_in_the_message() -> None:
    """Volcano compares a pod with each node, so one pool that holds it is enough."""
    spec = manifests(planned(SYSTEM), "ValidatingAdmissionPolicy")[POLICY]["spec"]
    none, ambiguous = spec["validations"]
    assert names.SCHEDULER not in none["expression"]
    assert ambiguous["expression"].startswith(f"'{names.SCHEDULER}' in namespaceObject.metadata.labels || ")
