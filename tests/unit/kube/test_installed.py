"""Discovery of existing installations: what it reads and returns; a forbidden list never counts as an empty one."""

import dataclasses
import json

import pytest

from mlcluster.kube.installed import RECORDS, look
from mlcluster.rules.cluster_facts import Maker, Release, Seen
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installations import PASSWORD, api_service, crd, helm_record, workload

pytestmark = pytest.mark.unit
OPERATOR = "nvcr.io/nvidia/gpu-operator:v26.3.3"


def seen_on(server: FakeApiServer) -> Seen:
    with server.kube() as kube:
        return look(kube)


def test_an_empty_cluster() -> None:
    seen = seen_on(FakeApiServer())
    assert [one.name for one in seen.namespaces] == ["default", "kube-system"]
    assert dataclasses.replace(seen, namespaces=()) == Seen(kubernetes="v1.36.3")


def test_a_release_with_its_chart() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3"))
    assert seen_on(server).releases == (
        Release("gpu-operator", "gpu", "gpu-operator", "v26.3.3", "v26.3.3", "deployed"),
    )


def test_values_are_not_kept() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3"))
    assert PASSWORD not in json.dumps(dataclasses.asdict(seen_on(server)))


def test_version_of_the_deployed_revision_and_status_of_the_last_one() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v25.10.1", status="superseded"))
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3", revision=9))
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.7.0", revision=10, status="failed"))
    (release,) = seen_on(server).releases
    assert (release.version, release.status) == ("v26.3.3", "failed")


def test_a_record_deleted_meanwhile_does_not_hide_the_others() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3"))
    server.put(helm_record("queue", "kueue-system", "kueue", "0.18.3"))
    server.fail("GET", "secrets/sh.helm.release.v1.gpu.v1", 404)
    assert [(one.name, one.version) for one in seen_on(server).releases] == [("gpu", ""), ("queue", "0.18.3")]


def test_one_record_per_release_is_read() -> None:
    server = FakeApiServer(page=2)
    for revision in range(1, 8):
        status = "deployed" if revision == 7 else "superseded"
        server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3", revision=revision, status=status))
    assert len(seen_on(server).releases) == 1
    assert [call.path for call in server.calls if "/secrets/" in call.path] == [
        "/api/v1/namespaces/gpu-operator/secrets/sh.helm.release.v1.gpu.v7"
    ]


def test_an_uninstalled_release_with_history_is_omitted() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3", status="uninstalled"))
    assert seen_on(server).releases == ()


def test_records_in_config_maps() -> None:
    server = FakeApiServer()
    server.put(helm_record("queue", "kueue-system", "kueue", "0.18.3", kind="ConfigMap"))
    assert [(one.chart, one.version) for one in seen_on(server).releases] == [("kueue", "0.18.3")]


@pytest.mark.parametrize("data", [{}, {"release": "%%%"}, {"release": "bm90aGluZw=="}, {"release": "ImEi"}])
def test_an_unreadable_record_is_still_a_release(data: dict[str, str]) -> None:
    server = FakeApiServer()
    server.put({**helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3"), "data": data})
    (release,) = seen_on(server).releases
    assert (release.name, release.chart, release.version) == ("gpu", "", "")


def test_a_managed_label_on_a_release() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.7.0", cluster="other"))
    assert seen_on(server).releases[0].cluster == "other"


def test_workloads_crds_webhooks_and_api_services() -> None:
    server = FakeApiServer()
    server.put(workload("Deployment", "gpu-operator", "gpu-operator", OPERATOR, release="gpu-operator/gpu"))
    server.put(workload("DaemonSet", "plugin", "kube-system", "a/b:1", labels={"helm.sh/chart": "x-1.2.3"}))
    server.put(crd("clusterpolicies.nvidia.com", "ClusterPolicy"))
    metadata = {"name": "kueue-mutating-webhook-configuration"}
    kind = "MutatingWebhookConfiguration"
    server.put({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata})
    server.put(api_service("v1beta1.external.metrics.k8s.io", "keda/keda-operator-metrics-apiserver"))
    server.put(api_service("v1.apps"))
    seen = seen_on(server)
    assert [(one.text, one.images, one.chart) for one in seen.workloads] == [
        ("Deployment gpu-operator/gpu-operator", (OPERATOR,), ""),
        ("DaemonSet kube-system/plugin", ("a/b:1",), "x-1.2.3"),
    ]
    assert seen.workloads[0].maker == Maker("helm", "gpu", "gpu-operator")
    assert [one.text for one in seen.crds] == ["CustomResourceDefinition clusterpolicies.nvidia.com"]
    assert [one.name for one in seen.webhooks] == ["kueue-mutating-webhook-configuration"]
    (service,) = seen.api_services  # API services of the API server itself are omitted
    assert (service.name, service.service) == (
        "v1beta1.external.metrics.k8s.io",
        "keda/keda-operator-metrics-apiserver",
    )


def test_lists_of_secrets_and_crds_request_only_metadata() -> None:
    server = FakeApiServer()
    seen_on(server)
    asked = {call.path: call.headers["accept"] for call in server.calls}
    for path in ("/api/v1/secrets", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
        assert asked[path].startswith("application/json;as=PartialObjectMetadataList")


def test_discovery_only_reads() -> None:
    server = FakeApiServer()
    server.put(helm_record("gpu", "gpu-operator", "gpu-operator", "v26.3.3"))
    seen_on(server)
    assert {call.method for call in server.calls} == {"GET"}


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/api/v1/secrets", RECORDS),
        ("/customresourcedefinitions", "custom resource definitions"),
        ("/deployments", "deployments"),
        ("/daemonsets", "daemon sets"),
        ("/mutatingwebhookconfigurations", "webhook configurations"),
        ("/apiservices", "API services"),
        ("/namespaces", "namespaces"),
    ],
)
def test_forbidden_lists_are_reported(path: str, what: str) -> None:
    server = FakeApiServer()
    server.put(workload("DaemonSet", "nvidia-device-plugin", "kube-system", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"))
    server.fail("GET", path, 403, "Forbidden", "User dev cannot list this")
    seen = seen_on(server)
    assert seen.blind == {what: "User dev cannot list this"}
    assert bool(seen.workloads) == (what != "daemon sets")


def test_a_missing_kind_has_no_entries() -> None:
    server = FakeApiServer()
    server.fail("GET", "/apis/apiregistration.k8s.io/v1", 404)
    seen = seen_on(server)
    assert (seen.api_services, dict(seen.blind)) == ((), {})
