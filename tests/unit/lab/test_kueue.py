"""Adaptation of Kueue's chart to a lab, with small objects of the same structure."""

import base64
import copy
from typing import Any

import pytest

from mlcluster.lab.controllers import kueue, rendering
from mlcluster.lab.controllers.adaptation import Arranged

pytestmark = pytest.mark.unit

PORTS = {"webhook": 1001, "health": 1002, "metrics": 1003, "visibility": 1004}
SECRET = {"ca.crt": b"authority", "ca.key": b"k", "tls.crt": b"c", "tls.key": b"s"}
CONFIG: dict[str, Any] = {"integrations": {"frameworks": ["batch/job", "pod"]}}
VISIBLE: dict[str, Any] = {**CONFIG, "featureGates": {"VisibilityOnDemand": True}}
SELECTOR = {"matchLabels": {"team": "yes"}}


def hook(name: str, group: str, resource: str, **more: Any) -> dict[str, Any]:
    service = {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": f"/{name}"}
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    return {"name": name, "clientConfig": {"service": service}, "rules": [rule], **more}


def thing(kind: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": more.pop("labels", {}), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, **more}


VISIBILITY = {"app.kubernetes.io/component": "visibility-service"}
CHART = [
    thing("ClusterRole", "editor"),
    thing("ServiceAccount", "kueue-controller-manager", "kueue-system"),
    thing("Deployment", "kueue-controller-manager", "kueue-system"),
    thing("Secret", "kueue-webhook-server-cert", "kueue-system"),
    thing("Service", "kueue-webhook-service", "kueue-system"),
    thing("Service", "kueue-visibility-server", "kueue-system", labels=VISIBILITY, spec={"selector": {"a": "b"}}),
    thing("RoleBinding", "kueue-visibility-server-auth-reader", "kube-system", labels=VISIBILITY),
    thing("APIService", "v1beta2.visibility", labels=VISIBILITY, spec={"service": {"name": "kueue-visibility-server"}}),
    thing(
        "MutatingWebhookConfiguration",
        "kueue-mutating",
        "kueue-system",
        webhooks=[
            hook("mworkload.kb.io", "kueue.x-k8s.io", "workloads"),
            hook("mjob.kb.io", "batch", "jobs", namespaceSelector=SELECTOR),
            hook("mpod.kb.io", "", "pods", namespaceSelector=SELECTOR),
            hook("mdeployment.kb.io", "apps", "deployments", namespaceSelector=SELECTOR),
            hook("mjobset.kb.io", "jobset.x-k8s.io", "jobsets", namespaceSelector=SELECTOR),
        ],
    ),
    thing(
        "CustomResourceDefinition",
        "workloads.kueue.x-k8s.io",
        spec={
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"service": {"name": "kueue-webhook-service", "path": "/convert"}}},
            }
        },
    ),
    thing("CustomResourceDefinition", "topologies.kueue.x-k8s.io", spec={}),
]


def arranged(config: dict[str, Any]) -> Arranged:
    return kueue.arrange(CHART, config, PORTS, SECRET)


def kept_hooks(config: dict[str, Any]) -> list[str]:
    found = [item for item in arranged(config).hooks if item["kind"].endswith("WebhookConfiguration")]
    return [entry["name"] for item in found for entry in item["webhooks"]]


def test_the_chart_itself_is_not_changed() -> None:
    before = copy.deepcopy(CHART)
    arranged(VISIBLE)
    assert before == CHART


def test_only_webhooks_of_kueue_and_of_the_frameworks_are_kept() -> None:
    assert kept_hooks(CONFIG) == ["mworkload.kb.io", "mjob.kb.io", "mpod.kb.io"]
    left = [name for kind, name in arranged(CONFIG).left_out if kind.endswith("WebhookConfiguration")]
    assert left == ["mdeployment.kb.io", "mjobset.kb.io"]


@pytest.mark.parametrize(("framework", "name"), [
    ("deployment", "mdeployment.kb.io"), ("jobset.x-k8s.io/jobset", "mjobset.kb.io"),
])  # fmt: skip
def test_each_framework_brings_its_webhook(framework: str, name: str) -> None:
    assert kept_hooks({"integrations": {"frameworks": [framework]}}) == ["mworkload.kb.io", name]


def test_webhooks_call_this_host_and_keep_their_namespaces() -> None:
    item = next(item for item in arranged(CONFIG).hooks if item["kind"] == "MutatingWebhookConfiguration")
    job = next(entry for entry in item["webhooks"] if entry["name"] == "mjob.kb.io")
    authority = base64.b64encode(b"authority").decode()
    assert job["clientConfig"] == {"url": "https://127.0.0.1:1001/mjob.kb.io", "caBundle": authority}
    assert job["namespaceSelector"] == SELECTOR


def test_conversion_webhooks_call_this_host() -> None:
    found = {item["metadata"]["name"]: item["spec"] for item in arranged(CONFIG).first if "spec" in item}
    client = found["workloads.kueue.x-k8s.io"]["conversion"]["webhook"]["clientConfig"]
    assert client["url"] == "https://127.0.0.1:1001/convert"
    assert "service" not in client
    assert found["topologies.kueue.x-k8s.io"] == {}


def test_unneeded_objects_are_omitted() -> None:
    left = {kind for kind, _ in arranged(CONFIG).left_out}
    assert {"Deployment", "Service", "APIService", "RoleBinding", "Secret"} <= left


def test_the_labs_secret_replaces_the_charts() -> None:
    secrets = [item for item in arranged(CONFIG).first if item["kind"] == "Secret"]
    assert len(secrets) == 1
    assert set(secrets[0]["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}


def test_the_namespace_is_first_and_then_the_crds() -> None:
    kinds = [item["kind"] for item in arranged(CONFIG).first]
    assert kinds[:3] == ["Namespace", "CustomResourceDefinition", "CustomResourceDefinition"]


def test_cluster_scoped_objects_lose_the_charts_namespace() -> None:
    assert all("namespace" not in item["metadata"] for item in arranged(CONFIG).hooks)


def test_visibility_is_served_from_this_host_if_enabled() -> None:
    found = arranged(VISIBLE)
    api = next(item for item in found.hooks if item["kind"] == "APIService")
    assert api["spec"]["service"]["port"] == 1004
    service = next(item for item in found.first if item["kind"] == "Service")
    assert service["spec"]["externalName"] == "127.0.0.1"
    assert "selector" not in service["spec"]
    assert any(item["kind"] == "RoleBinding" for item in found.first)


@pytest.mark.parametrize("config", [CONFIG, VISIBLE])
def test_every_object_is_applied_or_listed_as_omitted(config: dict[str, Any]) -> None:
    found = arranged(config)
    names = {(item["kind"], item["metadata"]["name"]) for item in (*found.first, *found.hooks)} | set(found.left_out)
    assert {(item["kind"], item["metadata"]["name"]) for item in CHART} <= names


def test_addresses_come_from_the_host_and_workload_settings_from_the_caller() -> None:
    config = {
        "manageJobsWithoutQueueName": True,
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "x"},
    }
    whole = kueue.host_config(config, PORTS, "/labs/one/kueue/certs")
    assert whole["manageJobsWithoutQueueName"] is True
    assert whole["metrics"] == {"bindAddress": "127.0.0.1:1003", "enableClusterQueueResources": True}
    assert whole["webhook"] == {"port": 1001, "host": "127.0.0.1", "certDir": "/labs/one/kueue/certs"}
    assert whole["leaderElection"] == {"leaderElect": False, "resourceName": "x"}
    assert whole["health"] == {"healthProbeBindAddress": "127.0.0.1:1002"}
    assert whole["kind"] == "Configuration"


def test_visibility_is_disabled_by_default() -> None:
    assert kueue.host_config(CONFIG, PORTS, "/c")["featureGates"] == {"VisibilityOnDemand": False}
    assert "visibilityServer" not in kueue.host_config(CONFIG, PORTS, "/c")
    assert kueue.host_config(VISIBLE, PORTS, "/c")["visibilityServer"]["bindAddress"] == "127.0.0.1"


def test_the_callers_configuration_is_not_changed() -> None:
    config = {"metrics": {"a": 1}}
    kueue.host_config(config, PORTS, "/c")["metrics"]["a"] = 2
    assert config == {"metrics": {"a": 1}}


def test_concatenated_json_documents() -> None:
    assert rendering.documents('{"a": 1}\n{\n "b": 2}\n') == [{"a": 1}, {"b": 2}]
