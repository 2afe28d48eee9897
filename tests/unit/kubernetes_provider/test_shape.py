from typing import Any

import pytest

from mlcluster.kubernetes_provider.shape import (
    cut,
    from_wire,
    removed,
    status_drift,
    to_sdk,
    to_wire,
    wanted_of,
    without_noise,
)

pytestmark = pytest.mark.unit

CRD: dict[str, Any] = {"kind": "CustomResourceDefinition", "metadata": {"name": "x", "managedFields": []}}


def test_only_crds_change_their_spelling() -> None:
    sdk = {**CRD, "spec": {"x_kubernetes_list_type": "map", "_ref": "#/a", "x_other": 1}}
    wire = {**CRD, "spec": {"x-kubernetes-list-type": "map", "$ref": "#/a", "x_other": 1}}
    assert to_wire(sdk) == wire
    assert to_sdk(wire) == sdk
    assert from_wire(wire)["spec"] == sdk["spec"]
    assert "managedFields" not in from_wire(wire)["metadata"]
    other = {"kind": "ConfigMap", "data": {"x_kubernetes_y": "1"}}
    assert to_wire(other) == other


@pytest.mark.parametrize(
    ("live", "inputs", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 5}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 9}, "gone": 1}, {"a": {"b": 1}}),
        ({"l": [{"x": 1, "y": 2}]}, {"l": [{"x": 9}]}, {"l": [{"x": 1}]}),
        (
            {"l": [{"name": "b", "x": 1, "d": 0}, {"name": "a", "x": 2}, {"name": "new", "d": 0}]},
            {"l": [{"name": "a", "x": 9}, {"name": "b", "x": 9}]},
            {"l": [{"name": "b", "x": 1}, {"name": "a", "x": 2}, {"name": "new", "d": 0}]},
        ),
        ({"l": [1, 2, 3]}, {"l": [1]}, {"l": [1, 2, 3]}),
    ],
)
def test_cut(live: Any, inputs: Any, expected: Any) -> None:
    assert cut(live, inputs) == expected


def test_noise_keeps_the_inputs_spelling_and_drift_does_not() -> None:
    inputs = {"cpu": "1000m", "replicas": 2, "empty": None, "list": [{"size": "1024Mi", "x": 1}]}
    would = {"cpu": "1", "replicas": 2, "list": [{"size": "1Gi", "x": 1, "default": 0}]}
    live = {"cpu": "1", "replicas": 5, "list": [{"size": "1Gi", "x": 7, "default": 0}]}
    expected = {"cpu": "1000m", "replicas": 5, "empty": None, "list": [{"size": "1024Mi", "x": 7}]}
    assert without_noise(live, would, inputs) == expected
    assert without_noise(would, would, inputs) == inputs
    assert without_noise({}, would, inputs) == {"empty": None}


def test_status_drift_counts_in_fields_and_not_in_lists() -> None:
    inputs = {"capacity": {"cpu": "1", "gpu": "8"}, "conditions": [{"type": "Ready"}]}
    live = {"capacity": {"cpu": "2", "memory": "1Gi"}, "conditions": [{"type": "Ready", "heartbeat": 1}], "x": 1}
    assert status_drift(live, inputs) == {"capacity": {"cpu": "2"}, "conditions": [{"type": "Ready"}]}


def test_removed_is_a_merge_patch_of_nulls() -> None:
    assert removed({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": 5}}) == {"a": None, "b": {"d": None}}
    assert removed({"a": 1}, {"a": 2}) == {}
    assert removed(None, {"a": 2}) == {}


def test_inputs_of_an_import_are_live_values_without_generated_ones() -> None:
    live = {"kind": "Pod", "metadata": {"name": "a", "uid": "u", "labels": {}}, "spec": {}, "status": {}}
    assert wanted_of(live) == {"kind": "Pod", "metadata": {"name": "a", "labels": {}}, "spec": {}}
