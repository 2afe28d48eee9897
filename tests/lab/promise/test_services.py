"""Services that expose pods outside the cluster or capture traffic of other teams are rejected."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.attacks import as_member, refusal, refused, refused_change, request_as
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import Tenant

pytestmark = pytest.mark.lab


def service(name: str, namespace: str = "research", **spec: Any) -> dict[str, Any]:
    """Return a Service with one port."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


def ingress(name: str) -> dict[str, Any]:
    """Return an Ingress for every host."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    metadata = {"name": name, "namespace": "research"}
    spec = {"defaultBackend": backend}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "load balancer": (service("a", type="LoadBalancer"), "ask for teams[].limits.loadBalancers in the spec"),
    "load balancer without node ports": (
        service("a", type="LoadBalancer", allocateLoadBalancerNodePorts=False),
        "ask for teams[].limits.loadBalancers in the spec",
    ),
    "load balancer at an address": (
        service("a", type="LoadBalancer", allocateLoadBalancerNodePorts=False, loadBalancerIP="10.0.0.1"),
        "ask for teams[].limits.loadBalancers in the spec",
    ),
    "node port": (service("a", type="NodePort"), "a NodePort opens a port on every node"),
    "external address": (service("a", externalIPs=["10.96.0.10"]), "CVE-2020-8554"),
    "external address, headless": (service("a", clusterIP="None", externalIPs=["1.1.1.1"]), "CVE-2020-8554"),
    "external name": (
        service("a", type="ExternalName", externalName="kubernetes.default.svc"),
        "use the name of the host itself",
    ),
    "ingress": (ingress("a"), "ask for teams[].limits.ingresses in the spec"),
}


@pytest.mark.parametrize(("manifest", "words"), ATTACKS.values(), ids=ATTACKS)
def test_ways_to_the_outside_are_refused(research: Tenant, manifest: dict[str, Any], words: str) -> None:
    assert words in refused(research, manifest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, "the team may have no load balancer"),
        ({"type": "NodePort"}, "a NodePort opens a port on every node"),
        ({"externalIPs": ["8.8.8.8"]}, "CVE-2020-8554"),
        ({"type": "ExternalName", "externalName": "db.products.svc", "clusterIP": None}, "the name of the host itself"),
    ],
)
def test_an_existing_service_is_not_opened(research: Tenant, change: dict[str, Any], words: str) -> None:
    """A Service of type ClusterIP is made and its ports change; its type and addresses do not."""
    research.submit(service("web", selector={"app": "web"}))
    try:
        as_member(research, "PATCH", "v1", "services/web", {"spec": {"ports": [{"port": 81}]}})
        assert words in refused_change(research, "v1", "services/web", {"spec": change})
    finally:
        research.kube.delete("v1", "Service", "web", "research")


def test_controllers_are_bound_too(cluster: Cluster) -> None:
    """KubeRay makes the Service of a RayCluster with the type that the member wrote."""
    operator = ("system:serviceaccount:kuberay:kuberay-operator", ["system:masters", "system:authenticated"])
    path, made = "/api/v1/namespaces/research/services", service("head", type="NodePort")
    words = refusal(lambda: request_as(cluster.kube, operator, "POST", path, made, dryRun="All"))
    assert "a NodePort opens a port on every node" in words


@pytest.mark.parametrize("group", ["ml-leads", "ml-research"])
def test_members_do_not_change_endpoints(cluster: Cluster, group: str) -> None:
    """Endpoints of other namespaces' pods, and the address that a load balancer was given."""
    for api_group, resource in (
        ("", "endpoints"),
        ("discovery.k8s.io", "endpointslices"),
        ("", "services/status"),
        ("networking.k8s.io", "ingresses/status"),
        ("gateway.networking.k8s.io", "gateways"),
        ("gateway.networking.k8s.io", "httproutes"),
        ("", "pods/status"),
    ):
        for verb in ("create", "update", "patch"):
            assert not cluster.kube.can(verb, api_group, resource, "research", as_user="ann", as_groups=[group])


def test_services_with_and_without_an_address_are_created(research: Tenant) -> None:
    """One with an address and one without, as Jobs, StatefulSets and RayClusters use them."""
    headless: dict[str, Any] = {"clusterIP": "None", "publishNotReadyAddresses": True}
    for name, spec in (("web", {}), ("gang", headless)):
        made = research.submit(service(name, selector={"app": name}, **spec))
        assert (made["spec"]["type"], made["spec"]["clusterIP"] == "None") == ("ClusterIP", bool(spec))
        research.kube.delete("v1", "Service", name, "research")


@pytest.fixture
def opened(cluster: Cluster) -> Iterator[None]:
    """Let team students have one load balancer and one Ingress."""
    text = cluster.spec.read_text("utf-8")
    network = "network: {egress: none}"
    assert text.count(network) == 1
    limits = f"{network}\n    limits: {{loadBalancers: 1, ingresses: 1}}"
    cluster.spec.write_text(text.replace(network, limits), "utf-8")
    cluster.run("up", str(cluster.spec), "--yes")
    yield
    for api_version, kind in (("v1", "Service"), ("networking.k8s.io/v1", "Ingress")):
        for entry in cluster.kube.list(api_version, kind, "students"):
            cluster.kube.delete(api_version, kind, entry["metadata"]["name"], "students")
    cluster.spec.write_text(text, "utf-8")
    cluster.run("up", str(cluster.spec), "--yes")


@pytest.mark.usefixtures("opened")
def test_the_limits_of_the_spec_allow_load_balancers_and_ingresses(students: Tenant) -> None:
    """Only the configured number is allowed; node ports and external addresses stay rejected."""
    students.submit(service("front", "students", type="LoadBalancer"))
    students.submit({**ingress("front"), "metadata": {"name": "front", "namespace": "students"}})
    for manifest, words in (
        (service("more", "students", type="LoadBalancer"), "exceeded quota: team, requested: services.loadbalancers=1"),
        (service("port", "students", type="NodePort"), "a NodePort opens a port on every node"),
        (service("out", "students", type="LoadBalancer", externalIPs=["8.8.8.8"]), "CVE-2020-8554"),
        ({**ingress("more"), "metadata": {"name": "more", "namespace": "students"}}, "exceeded quota: team"),
    ):
        assert words in refused(students, manifest)
