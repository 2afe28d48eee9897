"""Progress of `down` while a finalizer of another party blocks the deletion of a namespace."""

import pytest
from pulumi import ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace

from mlcluster.kube.client import Kube
from tests.fakes.provider_stack import ProviderStack

pytestmark = pytest.mark.engine


def test_the_finalizer_is_named_before_the_deletion_fails(stack: ProviderStack, kube: Kube, name: str) -> None:
    def program(options: ResourceOptions) -> None:
        annotations = {"pulumi.com/timeoutSeconds": "20"}
        Namespace("space", metadata={"name": name, "annotations": annotations}, opts=options)

    assert stack.up(program).error == ""
    metadata = {"name": "kept", "namespace": name, "finalizers": ["example.test/never"]}
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    blocked = stack.destroy()
    warning, _, failure = blocked.diagnostics.partition("is still being deleted after 20 s")
    assert f"Namespace {name} is still being deleted after 15 s" in warning
    assert "example.test/never in 1 resource instances" in warning
    assert "example.test/never in 1 resource instances" in failure

    kube.patch("v1", "ConfigMap", "kept", {"metadata": {"finalizers": None}}, name)
    assert stack.destroy().error == ""
    assert kube.get_object("v1", "Namespace", name) is None
