"""Changes of the engine through the built-in provider on a real API server."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from pulumi import Output, ResourceOptions
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from mlcluster.kube.client import Kube
from mlcluster.plan import names
from tests.fakes.provider_stack import Object, Program, ProviderStack, custom

pytestmark = pytest.mark.engine

PASSWORD = "correct horse battery"


def several(name: str, *, text: str = "1", priority: int = 10, app: str = "a", cpu: str = "1000m") -> Program:
    """Return a namespace and some objects that change in different ways."""

    def program(options: ResourceOptions) -> None:
        space = Namespace("space", metadata={"name": name, "labels": names.owned(name)}, opts=options)
        inside = {"namespace": space.metadata.name, "labels": names.owned(name)}
        ConfigMap("map", metadata={"name": "map", **inside}, data={"text": text, "a.b": "c"}, opts=options)
        Secret("secret", metadata={"name": "secret", **inside}, string_data={"password": PASSWORD}, opts=options)
        PriorityClass("tier", metadata={"name": name, "labels": names.owned(name)}, value=priority, opts=options)
        Deployment("web", metadata=_skipping("web", inside), spec=_deployment(app, cpu), opts=options)

    return program


def _skipping(name: str, inside: Object) -> Any:
    return {"name": name, **inside, "annotations": {"pulumi.com/skipAwait": "true"}}


def _deployment(app: str, cpu: str) -> Any:
    limits = {"limits": {"cpu": cpu, "memory": "1024Mi"}}
    container = {"name": "c", "image": "none", "resources": limits}
    return {
        "replicas": 0,
        "selector": {"matchLabels": {"app": app}},
        "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}},
    }


def test_preview_up_change_refresh_destroy(stack: ProviderStack, kube: Kube, name: str) -> None:
    everything = dict.fromkeys(["space", "map", "secret", "tier", "web"], "create")
    assert stack.preview(several(name)).ops() == everything
    assert kube.get_object("v1", "Namespace", name) is None
    made = stack.up(several(name))
    assert (made.ops(), made.error) == (everything, "")
    assert stack.up(several(name), refresh=True).ops() == {}

    changed = several(name, text="2", priority=20, app="b")
    planned = stack.preview(changed)
    assert planned.ops() == {"map": "update", "tier": "create-replacement", "web": "create-replacement"}
    assert planned.diff("map") == {"data.text": "update"}
    assert planned.diff("tier") == {"value": "update-replace"}
    assert planned.diff("web")["spec.selector.matchLabels.app"] == "update-replace"
    done = stack.up(changed)
    assert (done.ops(), done.error) == (planned.ops(), "")
    live = kube.get_object("scheduling.k8s.io/v1", "PriorityClass", name)
    assert live is not None
    assert live["value"] == 20

    assert stack.destroy().error == ""
    assert kube.get_object("v1", "Namespace", name) is None


def test_secrets_are_secret_in_the_state_and_known_to_the_server(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(several(name))
    stack.refresh()
    encoded = base64.b64encode(PASSWORD.encode()).decode()
    live = kube.get_object("v1", "Secret", "secret", name)
    assert live is not None
    assert live["data"] == {"password": encoded}
    text = stack.state_text()
    assert "correct horse" not in text
    assert encoded not in text
    assert '"trial' in text


def test_drift_is_found_and_corrected_and_foreign_fields_stay(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(several(name))
    kube.patch("v1", "ConfigMap", "map", {"data": {"text": "edited", "extra": "theirs"}}, name)
    kube.delete("v1", "Secret", "secret", name)
    assert stack.preview(several(name)).ops() == {}
    run = stack.up(several(name), refresh=True)
    ops = [(step.name, step.op) for step in run.steps if step.name in {"map", "secret"}]
    assert ("map", "update") in ops
    assert ("secret", "create") in ops
    live = kube.get_object("v1", "ConfigMap", "map", name)
    assert live is not None
    assert live["data"] == {"text": "1", "a.b": "c", "extra": "theirs"}


def _open_policy(name: str) -> Object:
    """Let every pod of the namespace reach every other."""
    metadata = {"name": "open", "namespace": name, "labels": names.owned(name)}
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _pause(name: str) -> Object:
    """Return a Deployment with empty maps, of which the server fills one in."""
    container = {"name": "c", "image": "none", "resources": {"requests": {}}, "securityContext": {}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"securityContext": {}, "containers": [container]}}
    metadata = {"name": "pause", "namespace": name, "labels": names.owned(name)}
    spec = {"replicas": 0, "strategy": {}, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_fields_that_others_add_to_an_empty_map_are_drift_and_are_removed(
    stack: ProviderStack, kube: Kube, name: str
) -> None:
    policy, pause = _open_policy(name), _pause(name)

    def program(options: ResourceOptions) -> None:
        space = Namespace("space", metadata={"name": name, "labels": names.owned(name)}, opts=options)
        custom(policy, options, space)
        custom(pause, options, space)

    stack.up(program)
    assert stack.up(program, refresh=True).ops() == {}
    selected = {"podSelector": {"matchLabels": {"app": "one"}}}
    for spec in (selected, {"ingress": [{"from": [selected]}]}):
        kube.patch(policy["apiVersion"], policy["kind"], "open", {"spec": spec}, name, field_manager="kubectl-edit")
    asked = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    kube.request(
        "PATCH", kube.path_of(pause), {"spec": {"template": {"spec": {"containers": [asked]}}}},
        content_type="application/strategic-merge-patch+json", params={"fieldManager": "kubectl-edit"},
    )  # fmt: skip

    planned = stack.preview(program, refresh=True)
    assert planned.ops() == {"open": "update", "pause": "update"}
    paths = {path for step in planned.steps if step.op == "update" for path in step.diff}
    assert paths >= {
        "spec.podSelector.matchLabels",
        "spec.ingress[0].from[0].podSelector.matchLabels",
        "spec.template.spec.containers[0].resources.requests.cpu",
    }
    done = stack.up(program, refresh=True)
    assert (done.ops(), done.error) == (planned.ops(), "")
    live = kube.request("GET", kube.path_of(policy))
    assert live["spec"] == policy["spec"]
    (container,) = kube.request("GET", kube.path_of(pause))["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {}
    assert stack.up(program, refresh=True).ops() == {}


def test_values_that_the_server_normalizes_are_no_drift(stack: ProviderStack, kube: Kube, name: str) -> None:
    stack.up(several(name, cpu="1000m"))
    live = kube.get_object("apps/v1", "Deployment", "web", name)
    assert live is not None
    assert live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "1"
    assert stack.up(several(name, cpu="1000m"), refresh=True).ops() == {}


def test_a_preview_shows_outputs_as_unknown_until_they_exist(stack: ProviderStack, name: str) -> None:
    seen: list[object] = []

    def program(options: ResourceOptions) -> None:
        space = Namespace("space", metadata={"name": name}, opts=options)
        uid = space.metadata.apply(lambda found: found.uid)
        uid.apply(seen.append)
        data = {"uid": uid, "name": Output.concat("in ", space.metadata.name)}
        ConfigMap("map", metadata={"name": "map", "namespace": name}, data=data, opts=options)

    assert stack.preview(program).ops() == {"space": "create", "map": "create"}
    assert seen == []
    assert stack.up(program).error == ""
    assert len(seen) == 1


def widget_definition(name: str) -> Object:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{name}.example.com"},
        "spec": {
            "group": f"{name}.example.com",
            "scope": "Cluster",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def test_a_definition_and_its_first_object_in_one_run(stack: ProviderStack, kube: Kube, name: str) -> None:
    group = f"{name}.example.com/v1"
    widget = {"apiVersion": group, "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}

    def program(options: ResourceOptions) -> None:
        crd = custom(widget_definition(name), options, name="definition")
        custom(widget, options, crd)

    assert stack.preview(program).error == ""
    assert stack.up(program).error == ""
    live = kube.get_object(group, "Widget", "w")
    assert live is not None
    assert live["spec"] == {"size": 1}
    assert stack.up(program, refresh=True).ops() == {}
    assert stack.destroy().error == ""


def node(name: str, cpu: str, **more: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": names.owned(name) | more},
        "status": {"capacity": {"cpu": cpu, "nvidia.com/gpu": "8"}, "allocatable": {"cpu": cpu, "nvidia.com/gpu": "8"}},
    }


def test_a_node_is_created_with_its_status_and_the_status_is_updated(
    stack: ProviderStack, kube: Kube, name: str
) -> None:
    def program(manifest: Object) -> Program:
        def register(options: ResourceOptions) -> None:
            custom(manifest, options)

        return register

    assert stack.up(program(node(name, "4000m", extra="x"))).error == ""
    live = kube.get_object("v1", "Node", name)
    assert live is not None
    assert live["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert live["metadata"]["labels"]["extra"] == "x"
    assert stack.up(program(node(name, "4000m", extra="x")), refresh=True).ops() == {}

    assert stack.up(program(node(name, "8"))).ops() == {name: "update"}
    live = kube.get_object("v1", "Node", name)
    assert live is not None
    assert live["status"]["allocatable"]["cpu"] == "8"
    assert "extra" not in live["metadata"]["labels"]

    kube.patch("v1", "Node", name, {"status": {"allocatable": {"nvidia.com/gpu": "7"}}}, subresource="status")
    run = stack.up(program(node(name, "8")), refresh=True)
    assert (name, "update") in [(step.name, step.op) for step in run.steps]
    live = kube.get_object("v1", "Node", name)
    assert live is not None
    assert live["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_an_object_that_is_not_ready_in_time_stays_in_the_state_and_up_continues(
    stack: ProviderStack, kube: Kube, name: str
) -> None:
    wait = {"pulumi.com/waitFor": "jsonpath={.data.open}=yes", "pulumi.com/timeoutSeconds": "1"}
    gate: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "annotations": wait},
        "data": {"side": "left"},
    }

    def program(options: ResourceOptions) -> None:
        first = custom(gate, options, name="gate")
        behind = {"name": f"{name}-behind", "namespace": "default"}
        custom({"apiVersion": "v1", "kind": "ConfigMap", "metadata": behind}, options, first, name="behind")

    broken = stack.up(program)
    assert f"ConfigMap default/{name} exists but is not ready: waiting for jsonpath" in broken.error
    assert stack.resource("gate")["initErrors"]
    kube.patch("v1", "ConfigMap", name, {"data": {"open": "yes"}}, "default")
    assert stack.up(program).error == ""
    assert "initErrors" not in stack.resource("gate")
    assert kube.get_object("v1", "ConfigMap", f"{name}-behind", "default") is not None


def test_a_refused_object_is_named_with_the_servers_reason(stack: ProviderStack, name: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "many"}},
    }
    run = stack.preview(lambda options: custom(quota, options))
    assert "quantities must match" in run.error
    misspelt = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "dta": {}}
    assert "dta" in stack.preview(lambda options: custom(misspelt, options)).error


def test_the_next_run_continues_after_an_injected_fault(
    make_stack: Callable[..., ProviderStack], kube: Kube, name: str
) -> None:
    faults = '[{"rpc": "Create", "urn": "::map$", "when": "after", "times": 1, "fail": "the power went"}]'
    stack = make_stack({"MLCLUSTER_PROVIDER_FAULTS": faults})
    broken = stack.up(several(name))
    assert "the power went" in broken.error
    assert kube.get_object("v1", "ConfigMap", "map", name) is not None
    with pytest.raises(StopIteration):
        stack.resource("map")
    # The fault strikes once a process, and the second `up` has a process of its own.
    again = make_stack({})
    assert again.up(several(name)).error == ""
