"""Which fields of planned objects only a replacement can change."""

import pytest

from mlcluster.plan.immutable import immutable_fields

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("api_version", "kind", "fields"),
    [
        ("scheduling.k8s.io/v1", "PriorityClass", ("preemptionPolicy", "value")),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", ("roleRef",)),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue", ("spec.clusterQueue",)),
        ("kueue.x-k8s.io/v1beta1", "Topology", ("spec.levels",)),
        ("v1", "ConfigMap", ()),
        ("example.test/v1", "PriorityClass", ()),
    ],
)
def test_fields_are_found_by_group_and_kind(api_version: str, kind: str, fields: tuple[str, ...]) -> None:
    assert immutable_fields({"apiVersion": api_version, "kind": kind}) == fields
