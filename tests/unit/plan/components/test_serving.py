"""The way to served models: Envoy Gateway, its proxies, TLS, the load balancer, and KServe's runtimes."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.catalog.components import pin
from mlcluster.plan import build
from mlcluster.plan.components.mirror import is_value
from mlcluster.plan.model import Manifest, Plan
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import parse
from mlcluster.rules import findings
from mlcluster.spec.problems import SpecInvalidError
from tests.charts.contents import archive_of, schemas_of
from tests.charts.sources import needs_archives
from tests.eks_contexts import eks_spec
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, checked, cluster, manifests, planned, release
from tests.upstream import errors_of

pytestmark = pytest.mark.unit

TAINTED: Data = {
    **SYSTEM,
    "minSize": 2,
    "taints": [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}],
}
DOMAIN = "models.example.com"
ROOT = Path(__file__).parents[4]


def serving(*, tls: Data | None = None, target: Data = EXISTING, gateway: Data | None = None, **rest: Any) -> Plan:
    ingress: Data = {"domain": DOMAIN, **({"tls": tls} if tls else {})}
    components: Data = {"kserve": {"ingress": ingress}, **({"gateway": gateway} if gateway is not None else {}), **rest}
    return planned(TAINTED, TRAIN, target=target, components=components)


def proxies(plan: Plan) -> Manifest:
    found: Manifest = manifests(plan, "EnvoyProxy")["envoy-gateway-system/mlcluster"]["spec"]["provider"]["kubernetes"]
    return found


def listeners(plan: Plan) -> list[Manifest]:
    found: list[Manifest] = manifests(plan, "Gateway")["kserve/kserve-ingress-gateway"]["spec"]["listeners"]
    return found


# Proxies


@pytest.mark.parametrize("target", [LOCAL, EXISTING], ids=["local", "existing"])
def test_the_proxies_of_every_gateway_are_two_that_system_nodes_take(target: Data) -> None:
    plan = serving(target=target)
    deployment = proxies(plan)["envoyDeployment"]
    assert deployment["replicas"] == 2
    assert {entry["key"] for entry in deployment["pod"]["tolerations"]} >= {"CriticalAddonsOnly"}
    assert deployment["container"]["resources"]["requests"].keys() == {"cpu", "memory"}
    assert proxies(plan)["envoyPDB"] == {"maxUnavailable": 1}
    (of_gateways,) = manifests(plan, "GatewayClass").values()
    assert of_gateways["spec"]["parametersRef"]["kind"] == "EnvoyProxy"


def test_the_plan_counts_the_proxies_of_a_gateway() -> None:
    """Envoy Gateway v1.9.0 names them by a digest of NAMESPACE/NAME and adds its shutdown manager (10m, 32Mi)."""
    plan = serving()
    digest = hashlib.sha256(b"kserve/kserve-ingress-gateway").hexdigest()[:8]
    (pod,) = [entry for entry in plan.pods if entry.name == f"envoy-kserve-kserve-ingress-gateway-{digest}"]
    deployment = proxies(plan)["envoyDeployment"]
    asked = deployment["container"]["resources"]["requests"]
    assert pod.requests["cpu"] == parse("cpu", asked["cpu"]) + parse("cpu", "10m")
    assert pod.requests["memory"] == parse("memory", asked["memory"]) + parse("memory", "32Mi")
    assert (pod.replicas, pod.namespace, pod.kind) == (deployment["replicas"], "envoy-gateway-system", "Deployment")
    assert toleration_manifests(pod.tolerations) == deployment["pod"]["tolerations"]
    assert pod.priority_class == deployment["pod"]["priorityClassName"]


def test_without_a_gateway_there_are_no_proxies() -> None:
    plan = planned(TAINTED, target=EXISTING, components={"gateway": {}})
    assert {pod.name for pod in plan.pods if pod.name.startswith("envoy-") and pod.kind != "Job"} == {"envoy-gateway"}


def test_proxies_of_an_existing_installation_are_set_up_beside_the_gateway() -> None:
    """Its namespace may have any name, and a Gateway refers to an EnvoyProxy of its own namespace."""
    plan = serving(gateway={"install": False})
    (where,) = manifests(plan, "EnvoyProxy")
    assert where == "kserve/mlcluster"
    (of_gateways,) = manifests(plan, "GatewayClass").values()
    assert "parametersRef" not in of_gateways["spec"]
    infrastructure = manifests(plan, "Gateway")["kserve/kserve-ingress-gateway"]["spec"]["infrastructure"]
    assert infrastructure == {
        "parametersRef": {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", "name": "mlcluster"}
    }
    assert any(pod.name.startswith("envoy-kserve-") for pod in plan.pods)
    alone = planned(TAINTED, target=EXISTING, components={"gateway": {"install": False}})
    assert not manifests(alone, "EnvoyProxy")


def test_a_mirror_holds_the_image_of_the_proxies() -> None:
    plan = serving(registry="registry.example.com/mirror")
    image = proxies(plan)["envoyDeployment"]["container"]["image"]
    assert (
        image == "registry.example.com/mirror/" + pin("envoy-gateway").images["EnvoyProxy mlcluster"].partition("/")[2]
    )


# Load balancer


def test_a_gateway_has_a_load_balancer_by_default() -> None:
    assert proxies(serving())["envoyService"] == {"type": "LoadBalancer"}
    assert proxies(serving(gateway={"service": {"type": "ClusterIP"}}))["envoyService"] == {"type": "ClusterIP"}


def test_class_annotations_and_sources_of_the_load_balancer() -> None:
    service = {
        "loadBalancerClass": "metallb.universe.tf/metallb",
        "annotations": {"metallb.universe.tf/address-pool": "models"},
        "sourceRanges": ["10.0.0.0/8"],
    }
    assert proxies(serving(gateway={"service": service}))["envoyService"] == {
        "type": "LoadBalancer",
        "loadBalancerClass": "metallb.universe.tf/metallb",
        "annotations": {"metallb.universe.tf/address-pool": "models"},
        "loadBalancerSourceRanges": ["10.0.0.0/8"],
    }


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("internal", {"aws-load-balancer-scheme": "internal", "aws-load-balancer-internal": "true"}),
        ("internetFacing", {"aws-load-balancer-scheme": "internet-facing"}),
    ],
)
def test_on_eks_the_spec_decides_whether_models_are_public(scheme: str, expected: dict[str, str]) -> None:
    components = {"kserve": {"ingress": {"domain": DOMAIN}}, "gateway": {"service": {"scheme": scheme}}}
    plan = build(eks_spec({**SYSTEM, "minSize": 2}, rest={"components": components}))
    annotations = proxies(plan)["envoyService"]["annotations"]
    assert annotations == {f"service.beta.kubernetes.io/{key}": value for key, value in expected.items()}


@pytest.mark.parametrize(
    ("service", "where"),
    [
        ({"type": "ClusterIP", "loadBalancerClass": "example.com/lb"}, "loadBalancerClass"),
        ({"type": "ClusterIP", "sourceRanges": ["10.0.0.0/8"]}, "sourceRanges"),
        ({"scheme": "internal"}, "scheme"),
        ({"sourceRanges": ["10.0.0.1/8"]}, "sourceRanges"),
    ],
)
def test_a_service_that_cannot_be_is_refused(service: Data, where: str) -> None:
    with pytest.raises(SpecInvalidError) as caught:
        serving(gateway={"service": service})
    assert where in str(caught.value)


# TLS


def test_a_certificate_of_an_issuer_for_all_names_under_the_domain() -> None:
    plan = serving(tls={"issuer": "letsencrypt"})
    certificate = manifests(plan, "Certificate")["kserve/kserve-ingress-gateway"]["spec"]
    assert certificate["dnsNames"] == [f"*.{DOMAIN}"]
    assert certificate["issuerRef"] == {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "letsencrypt"}
    (listener,) = listeners(plan)
    assert (listener["protocol"], listener["port"]) == ("HTTPS", 443)
    assert listener["tls"] == {
        "mode": "Terminate",
        "certificateRefs": [{"kind": "Secret", "name": certificate["secretName"]}],
    }
    network = release(plan, "kserve").values["kserve"]["controller"]["gateway"]
    assert network["urlScheme"] == "https"


def test_a_secret_of_the_users_own() -> None:
    plan = serving(tls={"secretName": "models-tls"})
    assert not manifests(plan, "Certificate")
    (listener,) = listeners(plan)
    assert listener["tls"]["certificateRefs"] == [{"kind": "Secret", "name": "models-tls"}]


def test_without_tls_the_gateway_speaks_http_and_the_plan_warns() -> None:
    spec = checked(cluster(TAINTED, target=EXISTING, components={"kserve": {"ingress": {"domain": DOMAIN}}}))
    plan = serving()
    assert [(entry["protocol"], entry["port"]) for entry in listeners(plan)] == [("HTTP", 80)]
    assert "SRV001" in {finding.id for finding in findings(build(spec), spec)}


@pytest.mark.parametrize(
    "components",
    [
        {"kserve": {"ingress": {"domain": DOMAIN, "tls": {"issuer": "letsencrypt"}}}},
        {"kserve": {"ingress": {"domain": DOMAIN}}, "gateway": {"service": {"type": "ClusterIP"}}},
        {"kserve": {}},
    ],
)
def test_tls_or_no_load_balancer_ends_the_warning(components: Data) -> None:
    spec = checked(cluster(TAINTED, target=EXISTING, components=components))
    assert "SRV001" not in {finding.id for finding in findings(build(spec), spec)}


def test_two_teams_cannot_have_one_host() -> None:
    """Model `chat-ml` of team `research` would take the host of model `chat` of team `ml-research`."""
    teams = [{"name": name, "borrow": "all"} for name in ("research", "ml-research", "mlresearch")]
    for ingress, expected in (({"ingress": {"domain": "models.example.com"}}, 1), ({}, 0)):
        spec = checked(cluster(TAINTED, target=EXISTING, components={"kserve": ingress}, teams=teams))
        told = [finding.message for finding in findings(build(spec), spec) if finding.id == "SRV002"]
        assert len(told) == expected
        assert all("x-ml-research.models.example.com" in message for message in told)


@pytest.mark.parametrize("tls", [{}, {"issuer": "a", "secretName": "b"}])
def test_a_certificate_comes_from_one_place(tls: Data) -> None:
    with pytest.raises(SpecInvalidError):
        planned(TAINTED, target=EXISTING, components={"kserve": {"ingress": {"domain": DOMAIN, "tls": tls}}})


# KServe


def test_serving_runtimes_come_after_the_webhook_that_checks_them() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"kserve": {}})
    runtimes = release(plan, "kserve-runtime-configs")
    assert "Release/kserve" in runtimes.needs
    assert runtimes.version == release(plan, "kserve").version
    assert runtimes.values["kserve"]["servingruntime"]["enabled"] is True


def test_no_runtime_takes_an_image_that_moves() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"kserve": {}})
    assert release(plan, "kserve-runtime-configs").values["kserve"]["servingruntime"]["vllmserver"]["tag"] != "latest"


def test_every_image_of_kserve_comes_from_the_mirror() -> None:
    values = release(
        planned(SYSTEM, target=EXISTING, components={"kserve": {}, "registry": "registry.example.com"}), "kserve"
    ).values["kserve"]
    assert values["controller"]["rbacProxyImage"].startswith("registry.example.com/brancz/kube-rbac-proxy:")
    assert all(is_value(path) for path in pin("kserve-runtime-configs").images)


@needs_archives
@pytest.mark.parametrize("tls", [None, {"issuer": "letsencrypt"}, {"secretName": "models-tls"}])
def test_objects_of_the_gateway_are_valid_against_its_crds(tls: Data | None) -> None:
    schemas = schemas_of(archive_of("gateway-helm", pin("envoy-gateway").version))
    service = {"loadBalancerClass": "example.com/lb", "annotations": {"a": "b"}, "sourceRanges": ["10.0.0.0/8"]}
    plan = serving(tls=tls, gateway={"service": service})
    made = [entry for entry in plan.objects if (entry.manifest["apiVersion"], entry.manifest["kind"]) in schemas]
    assert {entry.manifest["kind"] for entry in made} == {"EnvoyProxy", "Gateway", "GatewayClass"}
    for entry in made:
        assert errors_of(entry.manifest, schemas) == [], entry.id


@needs_archives
def test_the_example_of_a_model_on_two_nodes_is_valid_against_its_crd() -> None:
    path = ROOT / "examples" / "serving" / "leader-worker-set.yaml"
    groups, service = yaml.safe_load_all(path.read_text("utf-8"))
    assert errors_of(groups, schemas_of(archive_of("lws", pin("lws").version))) == []
    leader = groups["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert service["spec"]["selector"].items() <= leader["metadata"]["labels"].items()
    assert service["metadata"]["name"] != groups["metadata"]["name"]


def inference_services() -> list[tuple[str, Manifest]]:
    return [
        (path.name, document)
        for path in sorted((ROOT / "examples").rglob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text("utf-8"))
        if isinstance(document, dict) and document.get("kind") == "InferenceService"
    ]


@needs_archives
def test_examples_of_inference_services_can_work() -> None:
    """Each has the source of its weights and is valid against the CRD of KServe."""
    schemas = schemas_of(archive_of("kserve-crd", pin("kserve-crd").version))
    found = inference_services()
    assert found
    for name, service in found:
        assert errors_of(service, schemas) == [], name
        assert service["spec"]["predictor"]["model"]["storageUri"], name
