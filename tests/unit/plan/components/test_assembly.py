"""Assembly of components: selection, order, values, and registry."""

from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from mlcluster.catalog.components import pins
from mlcluster.findings import Finding
from mlcluster.plan.components.index import COMPONENTS, selected
from mlcluster.plan.components.mirror import mirrored, mirrored_object, mirrored_release
from mlcluster.plan.components.overrides import with_overrides
from mlcluster.plan.components.simulated import SIMULATED, simulated_crds, simulated_pods
from mlcluster.plan.model import ItemRef, PlanObject, PlanPod, PlanRelease, Toleration
from mlcluster.plan.pools import plan_pools
from mlcluster.plan.taints import toleration_manifests
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components import Components
from mlcluster.spec.document import Loc
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, cluster, planned_unchecked

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2"}


def chosen(target: Data, *pools: Data, **components: Any) -> dict[str, Loc]:
    spec = ClusterSpec.model_validate(cluster(*(pools or (SYSTEM, TRAIN)), target=target, components=components))
    return selected(spec, plan_pools(spec))


def release(values: dict[str, Any], realisation: Any = "helm", **rest: Any) -> PlanRelease:
    made: dict[str, Any] = {
        "id": "Release/gpu-operator",
        "name": "gpu-operator",
        "chart": "gpu-operator",
        "version": "v26.7.0",
        "repository": "https://charts.example.com",
        "namespace": "gpu-operator",
        "needs": (),
        "spec_path": ("components", "gpuOperator"),
        **rest,
    }
    return PlanRelease(values=values, realisation=realisation, **made)


# Which components


def test_every_component_has_a_module_a_field_and_a_pin() -> None:
    folder = Path(__file__).parents[4] / "mlcluster" / "plan" / "components"
    for name, entry in COMPONENTS.items():
        assert (folder / f"{entry.module}.py").is_file(), name
        assert not entry.field or entry.field in Components.model_fields, name
        assert name in pins()
        assert set(entry.after) <= set(COMPONENTS), name
    fields = set(Components.model_fields) - {"registry"}
    assert fields == {entry.field for entry in COMPONENTS.values() if entry.field}


def test_every_pin_belongs_to_a_component() -> None:
    assert set(pins()) - set(COMPONENTS) == {"karpenter-crd", "kserve-crd", "kserve-runtime-configs"}
    assert {pin.chart_of for pin in pins().values() if pin.chart_of} == {"karpenter", "kserve"}


def test_the_catalog_names_components_that_exist() -> None:
    assert {name for pin in pins().values() for name in (*pin.requires, *pin.after)} <= set(COMPONENTS)


def test_kueue_comes_after_everything_else() -> None:
    components: Data = {"monitoring": {}, "keda": {}, "trainer": {}, "kserve": {}, "multus": {}, "volcano": {}}
    plan = planned_unchecked(SYSTEM, TRAIN, target=EXISTING, components=components)
    (kueue,) = (release for release in plan.releases if release.name == "kueue")
    others = {release.id for release in plan.releases if release.realisation == "helm"} - {kueue.id}
    assert len(others) > 6
    assert others | {"DaemonSet/kube-system/kube-multus-ds"} <= set(kueue.needs)


@pytest.mark.parametrize("target", [{"kind": "local"}, EXISTING], ids=["local", "existing"])
def test_existing_clusters_get_only_kueue_by_default(target: Data) -> None:
    assert chosen(target) == {"kueue": ("components", "kueue")}


def test_required_components_are_added() -> None:
    found = chosen(EXISTING, trainer={})
    assert found["jobset"] == found["kubeflow-trainer"] == ("components", "trainer")
    assert chosen(EXISTING, trainer={}, jobSet={})["jobset"] == ("components", "jobSet")


def test_the_order_has_no_cycle() -> None:
    graph = {name: {*entry.after} for name, entry in COMPONENTS.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(COMPONENTS)


# Values of the spec


def overridden(ours: dict[str, Any], given: dict[str, Any]) -> tuple[PlanRelease, list[Finding]]:
    return with_overrides(release(ours), given, ("components", "gpuOperator", "values"))


def test_configured_values_are_merged_and_reported() -> None:
    made, findings = overridden({"driver": {"enabled": False}}, {"driver": {"version": "1"}, "logs": ["a"]})
    assert made.values == {"driver": {"enabled": False, "version": "1"}, "logs": ["a"]}
    assert made.overrides == (("driver", "version"), ("logs",))
    assert not findings


@pytest.mark.parametrize(
    ("given", "owner"),
    [
        ({"driver": {"enabled": True}}, "driver.enabled"),
        ({"driver": {"enabled": False}}, "driver.enabled"),
        ({"driver": None}, "driver.enabled"),
        ({"driver": {"enabled": {"deep": 1}}}, "driver.enabled"),
        ({"tolerations": []}, "tolerations"),
    ],
)
def test_managed_values_are_not_overridden(given: dict[str, Any], owner: str) -> None:
    ours = {"driver": {"enabled": False}, "tolerations": [{"operator": "Exists"}]}
    made, (finding,) = overridden(ours, given)
    assert made.values == ours
    assert made.overrides == ()
    assert (finding.id, finding.blocks) == ("CMP001", True)
    assert finding.place[:3] == ("components", "gpuOperator", "values")
    assert finding.message.endswith(("mlcluster sets it", f"mlcluster sets {owner}"))


def test_managed_values_are_not_changed_in_place() -> None:
    ours: dict[str, Any] = {"driver": {"enabled": False}}
    overridden(ours, {"driver": {"version": "1"}})
    assert ours == {"driver": {"enabled": False}}


def test_managed_values_that_a_plan_leaves_unset_are_not_overridden() -> None:
    """Otherwise values could enable features that fields of the spec reject or that the plan does not count."""
    given = {"gds": {"enabled": True, "version": "2.20.5"}, "driver": {"upgradePolicy": {"drain": {"enable": True}}}}
    sets = ("gds", "driver.upgradePolicy", "controllerManager.replicas")
    laid, findings = with_overrides(release({}), given, ("components", "gpuOperator", "values"), sets)
    assert [one.place[-2:] for one in findings] == [("gds", "enabled")]
    assert laid.overrides == (("driver", "upgradePolicy", "drain", "enable"), ("gds", "version"))
    replicas = {"kueue": {"values": {"controllerManager": {"replicas": 9}}}}
    plan = planned_unchecked(SYSTEM, target=EXISTING, components=replicas)
    assert [one.id for one in plan.findings] == ["CMP001"]


# The mirror


@pytest.mark.parametrize(
    ("image", "there"),
    [
        ("nvcr.io/nvidia/driver:1", "registry.example.com/m/nvidia/driver:1"),
        ("registry.k8s.io/pause:3", "registry.example.com/m/pause:3"),
        ("localhost/x", "registry.example.com/m/x"),
        ("host:5000/x", "registry.example.com/m/x"),
        ("library/nginx", "registry.example.com/m/library/nginx"),
        ("nginx", "registry.example.com/m/nginx"),
        ("registry.example.com/m/train:1", "registry.example.com/m/train:1"),
        ("registry.example.com/mine/train:1", "registry.example.com/m/mine/train:1"),
    ],
)
def test_an_image_keeps_its_path(image: str, there: str) -> None:
    assert mirrored(image, "registry.example.com/m") == there


def test_a_chart_comes_from_the_mirror() -> None:
    there = mirrored_release(release({}), "registry.example.com")
    assert (there.chart, there.repository) == ("oci://registry.example.com/charts/gpu-operator", "")
    oci = release({}, chart="oci://ghcr.io/org/charts/thing", repository="", name="thing")
    assert mirrored_release(oci, "r.example.com:5000/m").chart == "oci://r.example.com:5000/m/charts/thing"


def test_an_image_that_the_spec_names_in_values_stays() -> None:
    given = {"driver": {"repository": "mine.example.com/nvidia"}, "gfd": {"image": "k8s-device-plugin"}}
    with_ours, findings = with_overrides(
        release({"driver": {"enabled": True}}), given, ("components", "gpuOperator", "values")
    )
    there = mirrored_release(with_ours, "m.example.com").values
    assert findings == []
    assert there["driver"]["repository"] == "mine.example.com/nvidia"
    assert there["driver"]["manager"] == {"repository": "m.example.com/nvidia/cloud-native"}
    assert there["gfd"] == {"image": "k8s-device-plugin", "repository": "m.example.com/nvidia"}


def test_values_above_an_image_are_the_specs() -> None:
    there = mirrored_release(with_overrides(release({}), {"driver": "off"}, ())[0], "m.example.com").values
    assert there["driver"] == "off"


def test_a_mirror_changes_no_values_that_the_spec_gives() -> None:
    keda = {"values": {"image": {"keda": {"registry": "mine.example.com"}}, "tolerations": []}}
    plan = planned_unchecked(SYSTEM, target=EXISTING, components={"registry": "m.example.com", "keda": keda})
    (found,) = (one for one in plan.releases if one.name == "keda")
    assert found.values["image"]["keda"] == {"registry": "mine.example.com"}
    assert found.values["image"]["webhooks"] == {"registry": "m.example.com"}
    assert [(one.id, one.place[-1]) for one in plan.findings] == [("CMP001", "tolerations")]


def test_proxies_of_gateways_come_from_the_mirror() -> None:
    """The GatewayClass sets the image of the proxies and their other options."""
    components = {"kserve": {"ingress": {"domain": "models.example.com"}}}
    there = planned_unchecked(SYSTEM, target=EXISTING, components={"registry": "m.example.com", **components})
    of_gateways = next(one for one in there.objects if one.id == "GatewayClass/mlcluster")
    proxy = next(one for one in there.objects if one.id in of_gateways.needs and one.id.startswith("EnvoyProxy/"))
    reference = of_gateways.manifest["spec"]["parametersRef"]
    named = proxy.manifest["metadata"]
    assert (named["name"], named["namespace"]) == (reference["name"], reference["namespace"])
    provider = proxy.manifest["spec"]["provider"]
    image = provider["kubernetes"]["envoyDeployment"]["container"]["image"]
    assert image.startswith("m.example.com/envoyproxy/envoy:distroless-v")
    (chart,) = (one for one in there.releases if one.name == "envoy-gateway")
    assert not [key for key in chart.values if " " in key]
    assert "envoyproxies.gateway.envoyproxy.io" in chart.crds


def test_image_tags_follow_the_version_of_the_spec() -> None:
    components = {
        "registry": "m.example.com",
        "volcano": {"version": "1.16.0"},
        "gateway": {"version": "v1.7.0"},
        "kserve": {"version": "v0.21.0"},
    }
    releases = {one.name: one for one in planned_unchecked(SYSTEM, target=EXISTING, components=components).releases}
    assert releases["volcano"].values["basic"]["image_tag_version"] == "v1.16.0"
    images = releases["envoy-gateway"].values["global"]["images"]
    assert images["envoyGateway"]["image"] == "m.example.com/envoyproxy/gateway:v1.7.0"
    assert [releases[name].version for name in ("kserve-crd", "kserve")] == ["v0.21.0", "v0.21.0"]


def test_containers_of_objects_come_from_the_mirror() -> None:
    pod = {"containers": [{"name": "a", "image": "ghcr.io/x/a:1"}], "initContainers": [{"name": "b", "image": "b:1"}]}
    manifest = {"kind": "DaemonSet", "spec": {"template": {"spec": pod}}, "data": {"image": "ghcr.io/not/one"}}
    there = mirrored_object(PlanObject("DaemonSet/a", manifest, (), ()), "m.example.com").manifest
    spec = there["spec"]["template"]["spec"]
    assert [spec["containers"][0]["image"], spec["initContainers"][0]["image"]] == [
        "m.example.com/x/a:1",
        "m.example.com/b:1",
    ]
    assert there["data"] == {"image": "ghcr.io/not/one"}


# Stand-ins


def pod(**rest: Any) -> PlanPod:
    made: dict[str, Any] = {
        "owner": ItemRef("Release", "gpu-operator"),
        "kind": "DaemonSet",
        "namespace": "gpu-operator",
        "node_selector": {"mlcluster.dev/pool": "train"},
        "tolerations": (Toleration("nvidia.com/gpu", "Exists", effect="NoSchedule"),),
        "requests": {"cpu": 100, "memory": 128, "pods": 1},
        "priority_class": "system-node-critical",
        "evidence": "declared",
        "source": "somewhere",
        "spec_path": ("components", "gpuOperator"),
        "name": "exporter",
        "pool": "train",
        **rest,
    }
    return PlanPod(**made)


def test_a_pod_of_a_simulated_release_gets_a_workload_of_its_shape() -> None:
    ((made,),) = simulated_pods("atlas", [pod()], [release({}, "simulated")]).values()
    template = made.manifest["spec"]["template"]
    assert made.id == "DaemonSet/gpu-operator/exporter-train"
    assert "Namespace/gpu-operator" in made.needs
    assert made.manifest["metadata"]["annotations"] == {SIMULATED: "true"}
    assert template["spec"]["nodeSelector"] == {"mlcluster.dev/pool": "train"}
    assert template["spec"]["tolerations"] == toleration_manifests(pod().tolerations)
    assert template["spec"]["priorityClassName"] == "system-node-critical"
    assert template["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m", "memory": "128Mi"}}


def test_replicas_and_empty_parts() -> None:
    shape = pod(kind="StatefulSet", node_selector={}, tolerations=(), priority_class="", replicas=2, name="prometheus")
    ((made,),) = simulated_pods("atlas", [shape], [release({}, "simulated")]).values()
    assert made.id == "Deployment/gpu-operator/prometheus"
    assert made.manifest["spec"]["replicas"] == 2
    assert set(made.manifest["spec"]["template"]["spec"]) == {"containers"}


@pytest.mark.parametrize("how", ["helm", "process", "present"])
def test_installed_components_are_not_simulated(how: str) -> None:
    assert simulated_pods("atlas", [pod()], [release({}, how)]) == {}


def test_a_crd_is_planned_for_each_kind_of_a_simulated_release() -> None:
    needs = ("Release/gpu-operator",)
    rule = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"namespace": "m"}}
    policy = {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": {}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"namespace": "m"}}
    objects = [PlanObject(str(n), manifest, needs, ()) for n, manifest in enumerate((rule, policy, role))]
    objects.append(PlanObject("other", {"apiVersion": "a.example.com/v1", "kind": "B", "metadata": {}}, (), ()))
    made = simulated_crds("atlas", objects, [release({}, "simulated")])
    assert [entry.id.partition("/")[2] for entry in made] == [
        "prometheusrules.monitoring.coreos.com",
        "nicclusterpolicies.mellanox.com",
    ]
    assert [entry.manifest["spec"]["scope"] for entry in made] == ["Namespaced", "Cluster"]
    assert not simulated_crds("atlas", objects, [release({}, "helm")])


def test_crds_of_kubernetes_api_groups_have_the_approval_annotation() -> None:
    """The API server refuses a definition in such a group without the annotation."""

    def approval(api: str) -> str | None:
        manifest = {"apiVersion": api, "kind": "Thing", "metadata": {"name": "a"}}
        entry = PlanObject("Thing/a", manifest, ("Release/gpu-operator",), ())
        (made,) = simulated_crds("atlas", [entry], [release({}, "simulated")])
        found: str | None = made.manifest["metadata"]["annotations"].get("api-approved.kubernetes.io")
        return found

    assert str(approval("gateway.networking.k8s.io/v1")).startswith("unapproved")
    assert approval("readiness.node.x-k8s.io/v1alpha1") is None
    assert approval("monitoring.coreos.com/v1") is None


# The whole


def test_namespaces_of_releases_are_made_and_come_first() -> None:
    plan = planned_unchecked(SYSTEM, target=EXISTING)
    (kueue,) = plan.releases
    assert "Namespace/kueue-system" in kueue.needs
    assert "Namespace/kueue-system" in {entry.id for entry in plan.objects}


def test_existing_components_are_not_installed() -> None:
    plan = planned_unchecked(SYSTEM, target=EXISTING, components={"kueue": {"install": False}})
    (kueue,) = plan.releases
    assert (kueue.realisation, kueue.needs) == ("present", ())
    assert "Namespace/kueue-system" not in {entry.id for entry in plan.objects}


def test_another_configured_version_is_used() -> None:
    plan = planned_unchecked(SYSTEM, target=EXISTING, components={"kueue": {"version": "0.18.4"}})
    assert plan.releases[0].version == plan.components[0].version == "0.18.4"
