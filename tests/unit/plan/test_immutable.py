"""Which fields of planned objects only a replacement can change."""

import pytest

from mlcluster.catalog.components import pin
from mlcluster.plan.immutable import CHECKED_VERSIONS, immutable_fields
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("api_version", "kind", "fields"),
    [
        ("scheduling.k8s.io/v1", "PriorityClass", ("preemptionPolicy", "value")),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", ("roleRef",)),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue", ("spec.clusterQueue",)),
        ("kueue.x-k8s.io/v1beta1", "Topology", ("spec.levels",)),
        (
            "readiness.node.x-k8s.io/v1alpha1",
            "NodeReadinessRule",
            ("spec.conditions", "spec.enforcementMode", "spec.nodeSelector", "spec.taint"),
        ),
        ("v1", "ConfigMap", ()),
        ("v1", "PersistentVolume", ()),
        ("v1", "PersistentVolumeClaim", ()),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", ()),
        ("example.test/v1", "PriorityClass", ()),
    ],
)
def test_fields_are_found_by_group_and_kind(api_version: str, kind: str, fields: tuple[str, ...]) -> None:
    assert immutable_fields({"apiVersion": api_version, "kind": kind}) == fields


def test_the_table_was_checked_against_the_pinned_versions() -> None:
    """A changed pin fails here: read the rules with `oldSelf` in the new CRDs, then change the version."""
    assert {name: pin(name).version for name in CHECKED_VERSIONS} == CHECKED_VERSIONS


def test_only_a_plan_for_the_official_provider_replaces_objects() -> None:
    builtin = planned(SYSTEM, target=EXISTING)
    official = planned(SYSTEM, target={**EXISTING, "kubernetesProvider": "official"})
    assert builtin.immutable == {}
    kinds = {item.id: immutable_fields(item.manifest) for item in official.objects}
    assert official.immutable == {name: paths for name, paths in kinds.items() if paths}
    assert official.immutable
