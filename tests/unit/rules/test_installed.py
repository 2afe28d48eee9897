"""Adopt, leave or refuse: existing installations against the plan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mlcluster.catalog.components import pin
from mlcluster.catalog.signatures import all_signatures
from mlcluster.plan.model import ComponentPlan, Plan, PlanObject, PlanRelease, Realisation
from mlcluster.rules.cluster_facts import UNKNOWN, Maker, Named, Release, Seen, Workload
from mlcluster.rules.existing_installations import ManagedState
from mlcluster.rules.installed import Discovery, discover
from tests.specs import planned

pytestmark = pytest.mark.unit
FOREIGN = Maker("helm", "gpu", "ops")
POLICY = Maker("controller", "cluster-policy", group="nvidia.com", owner_kind="ClusterPolicy")
GPU_OPERATOR = Release("ops", "gpu", "gpu-operator", "v25.10.1", "v25.10.1", "deployed")
PLUGIN = Workload("DaemonSet", "ops", "nvidia-device-plugin-daemonset", ("nvidia/k8s-device-plugin:v0.18.0",), POLICY)
NFD = Workload("DaemonSet", "nfd", "nfd-worker", ("registry.k8s.io/nfd/node-feature-discovery:v0.18.3",), UNKNOWN)


def plan_of(base: Plan, *names: str, values: Mapping[str, Any] | None = None, present: tuple[str, ...] = ()) -> Plan:
    """Return a plan of exactly these components, by Helm or there already."""
    components, releases = [], []
    for name in (*names, *present):
        how: Realisation = "present" if name in present else "helm"
        found = pin(name)
        components.append(ComponentPlan(name, found.version, how, ("components", name)))
        releases.append(
            PlanRelease(f"Release/{name}", name, found.chart, found.version, found.repository, found.namespace,
                        dict(values or {}), (), how, ("components", name))
        )  # fmt: skip
    return replace(base, components=tuple(components), releases=tuple(releases), objects=())


def decide(plan: Plan, managed: ManagedState | None = None, **seen: Any) -> Discovery:
    return discover(plan, Seen(**seen), managed or ManagedState("atlas"), all_signatures())


def decisions(made: Discovery) -> dict[str, str]:
    return {row.name: row.decision for row in made.rows}


def ids(made: Discovery) -> list[str]:
    return [finding.id for finding in made.findings]


def test_nothing_there_is_installed(base: Plan) -> None:
    made = decide(plan_of(base, "gpu-operator", "kueue"))
    assert (decisions(made), made.findings) == ({"gpu-operator": "install", "kueue": "install"}, ())


class TestRefuse:
    def test_a_second_gpu_operator(self, base: Plan) -> None:
        made = decide(plan_of(base, "gpu-operator"), releases=(GPU_OPERATOR,))
        (finding,) = made.findings
        assert (finding.id, finding.blocks, finding.place) == ("EXI001", True, ("components", "gpu-operator"))
        assert finding.message == (
            "NVIDIA GPU Operator v25.10.1 is already installed: Helm release ops/gpu, created by Helm release ops/gpu"
        )
        assert finding.hint == (
            "Set `components.gpuOperator.install: false` to use it, or uninstall it (`helm uninstall gpu -n ops`)."
        )

    def test_an_installation_of_another_mlcluster_cluster_is_found(self, base: Plan) -> None:
        made = decide(plan_of(base, "gpu-operator"), releases=(replace(GPU_OPERATOR, cluster="other"),))
        assert "created by mlcluster, cluster other (Helm release ops/gpu)" in made.findings[0].message

    def test_a_second_node_feature_discovery(self, base: Plan) -> None:
        made = decide(plan_of(base, "gpu-operator"), workloads=(NFD,))
        (finding,) = made.findings
        assert finding.id == "EXI002"
        assert "gpu-operator would be a second node feature discovery" in finding.message
        assert "components.gpuOperator.without: [nodeFeatureDiscovery]" in finding.hint
        assert decisions(made) == {"node-feature-discovery": "refuse", "gpu-operator": "install"}

    @pytest.mark.parametrize(
        ("component", "workload"),
        [
            ("gpu-operator", replace(PLUGIN, maker=UNKNOWN)),
            ("gpu-operator", Workload("DaemonSet", "m", "dcgm-exporter", ("nvidia/k8s/dcgm-exporter:4",), UNKNOWN)),
            (
                "kube-prometheus-stack",
                Workload("DaemonSet", "m", "node-exporter", ("prometheus/node-exporter",), UNKNOWN),
            ),
            ("karpenter", Workload("Deployment", "kube-system", "cluster-autoscaler", ("x",), UNKNOWN)),
            ("mpi-operator", Workload("Deployment", "kubeflow", "training-operator", ("x",), UNKNOWN)),
        ],
    )
    def test_other_duties(self, base: Plan, component: str, workload: Workload) -> None:
        assert ids(decide(plan_of(base, component), workloads=(workload,))) == ["EXI002"]

    def test_a_duty_that_an_operator_takes_up_later(self, base: Plan) -> None:
        made = decide(plan_of(base, "nvidia-device-plugin"), releases=(GPU_OPERATOR,))
        assert ids(made) == ["EXI002"]
        assert "would be a second NVIDIA device plugin" in made.findings[0].message

    def test_an_existing_metrics_api_is_found(self, base: Plan) -> None:
        name = "v1beta1.external.metrics.k8s.io"
        service = Named("APIService", name, Maker("helm", "datadog", "datadog"), service="datadog/agent")
        assert ids(decide(plan_of(base, "keda"), api_services=(service,))) == ["EXI002"]
        assert ids(decide(plan_of(base, "prometheus-adapter"), api_services=(service,))) == []
        rules = {"rules": {"external": [{"seriesQuery": "x"}]}}
        assert ids(decide(plan_of(base, "prometheus-adapter", values=rules), api_services=(service,))) == ["EXI002"]

    def test_definitions_that_helm_will_not_take_over(self, base: Plan) -> None:
        left = Named("CustomResourceDefinition", "clusterqueues.kueue.x-k8s.io", Maker("manager", "kubectl"))
        made = decide(plan_of(base, "kueue"), crds=(left,))
        assert ids(made) == ["EXI006"]
        assert "kubectl delete crd clusterqueues.kueue.x-k8s.io" in made.findings[0].hint

    @pytest.mark.parametrize(
        ("maker", "fine"),
        [
            (Maker("manager", "kubectl"), False),
            (Maker("mlcluster", "other"), False),
            (Maker("mlcluster", "atlas"), True),
        ],
    )
    def test_a_namespace_that_down_would_delete(self, base: Plan, maker: Maker, fine: bool) -> None:
        manifest = {"kind": "Namespace", "metadata": {"name": "monitoring"}}
        plan = replace(
            plan_of(base), objects=(PlanObject("Namespace/monitoring", manifest, (), ("components", "monitoring")),)
        )
        seen = (Named("Namespace", "monitoring", maker), Named("Namespace", "web", UNKNOWN))
        assert ids(decide(plan, namespaces=seen)) == ([] if fine else ["EXI007"])
        local = replace(plan, cluster=replace(plan.cluster, target="local"))
        assert ids(decide(local, namespaces=seen)) == []


class TestLeave:
    def test_installations_that_the_spec_does_not_name_are_left_unchanged(self, base: Plan) -> None:
        made = decide(plan_of(base, "kueue"), releases=(GPU_OPERATOR,), workloads=(PLUGIN, NFD))
        assert made.findings == ()
        assert decisions(made) == {
            "gpu-operator": "leave",
            "nvidia-device-plugin": "leave",
            "node-feature-discovery": "leave",
            "kueue": "install",
        }

    def test_a_duty_that_the_managed_component_lacks(self, base: Plan) -> None:
        made = decide(plan_of(base, "gpu-operator", values={"nfd": {"enabled": False}}), workloads=(NFD,))
        assert (made.findings, decisions(made)["node-feature-discovery"]) == ((), "leave")

    def test_definitions_in_a_crds_folder(self, base: Plan) -> None:
        """CRDs left by an uninstalled chart with a crds/ directory do not block its installation."""
        left = Named("CustomResourceDefinition", "clusterpolicies.nvidia.com", UNKNOWN)
        made = decide(plan_of(base, "gpu-operator"), crds=(left,))
        assert made.findings == ()
        assert [row.decision for row in made.rows] == ["install", "leave"]

    def test_multus_of_a_managed_network_operator_is_a_second_installation(self, base: Plan) -> None:
        multus = Workload("DaemonSet", "kube-system", "kube-multus-ds", ("multus-cni:v4",), UNKNOWN)
        plan = plan_of(base, "network-operator")
        assert decisions(decide(plan, workloads=(multus,)))["multus"] == "leave"
        manifest = {"kind": "NicClusterPolicy", "spec": {"secondaryNetwork": {"multus": {"image": "multus-cni"}}}}
        with_policy = replace(plan, objects=(PlanObject("NicClusterPolicy/x", manifest, (), ("components",)),))
        assert ids(decide(with_policy, workloads=(multus,))) == ["EXI002"]


class TestAdopt:
    def test_an_operator_and_its_parts_are_adopted(self, base: Plan) -> None:
        made = decide(plan_of(base, "kueue", present=("gpu-operator",)), releases=(GPU_OPERATOR,), workloads=(PLUGIN,))
        assert made.findings == ()
        assert decisions(made) == {"gpu-operator": "adopt", "nvidia-device-plugin": "adopt", "kueue": "install"}

    @pytest.mark.parametrize(
        ("version", "fine"), [("0.15.3", False), ("0.16.0", True), ("v0.20.5", True), ("0.21.0-rc.0", False)]
    )
    def test_the_version_of_an_existing_installation_is_compared(self, base: Plan, version: str, fine: bool) -> None:
        release = Release("kueue-system", "kueue", "kueue", version, version, "deployed")
        made = decide(plan_of(base, present=("kueue",)), releases=(release,))
        assert ids(made) == ([] if fine else ["EXI003"])

    def test_an_unknown_version_is_reported(self, base: Plan) -> None:
        hook = Named("ValidatingWebhookConfiguration", "kueue-validating-webhook-configuration", UNKNOWN)
        made = decide(plan_of(base, present=("kueue",)), webhooks=(hook,))
        assert ids(made) == ["EXI005"]
        assert made.rows[0].note == "found none of its workloads"

    def test_nothing_to_adopt(self, base: Plan) -> None:
        made = decide(plan_of(base, present=("gpu-operator",)))
        assert (ids(made), decisions(made)) == (["EXI004"], {"gpu-operator": "missing"})

    def test_two_of_them(self, base: Plan) -> None:
        other = replace(GPU_OPERATOR, namespace="other")
        assert ids(decide(plan_of(base, present=("gpu-operator",)), releases=(GPU_OPERATOR, other))) == ["EXI002"]

    def test_an_installation_that_conflicts_with_a_managed_one(self, base: Plan) -> None:
        plan = plan_of(base, "karpenter", present=("cluster-autoscaler",))
        autoscaler = Workload("Deployment", "kube-system", "cluster-autoscaler", ("x:v1.34.0",), UNKNOWN)
        assert ids(decide(plan, workloads=(autoscaler,))) == ["EXI002"]

    def test_a_part_that_would_be_installed_twice_is_found(self, base: Plan) -> None:
        exporter = Workload("DaemonSet", "ops", "nvidia-dcgm-exporter", ("nvidia/k8s/dcgm-exporter:4",), POLICY)
        plan = plan_of(base, "dcgm-exporter", present=("gpu-operator",))
        assert ids(decide(plan, releases=(GPU_OPERATOR,), workloads=(exporter,))) == ["EXI001"]


class TestManaged:
    @pytest.mark.parametrize(
        ("managed", "label"),
        [(ManagedState("atlas", frozenset({("ops", "gpu")})), ""), (ManagedState("atlas"), "atlas")],
    )
    def test_by_the_state_or_by_the_label(self, base: Plan, managed: ManagedState, label: str) -> None:
        release = replace(GPU_OPERATOR, cluster=label)
        made = decide(plan_of(base, "gpu-operator"), managed, releases=(release,), workloads=(PLUGIN,))
        assert (made.findings, decisions(made)) == ((), {"gpu-operator": "managed", "nvidia-device-plugin": "managed"})

    def test_an_installation_that_would_be_uninstalled_is_not_adopted(self, base: Plan) -> None:
        """The spec installed it before and now has `install: false`: the engine would uninstall it."""
        held = ManagedState("atlas", frozenset({("ops", "gpu")}))
        made = decide(plan_of(base, present=("gpu-operator",)), held, releases=(GPU_OPERATOR,))
        assert (ids(made), decisions(made)) == (["EXI004"], {"gpu-operator": "missing"})
        assert "this stack manages" in made.findings[0].message

    def test_objects_with_the_managed_label_are_recognized_as_managed(self, base: Plan) -> None:
        mine = replace(PLUGIN, maker=Maker("mlcluster", "atlas"))
        assert decisions(decide(plan_of(base), workloads=(mine,))) == {"nvidia-device-plugin": "managed"}

    def test_webhooks_that_a_managed_controller_creates(self, base: Plan) -> None:
        maker = Maker("manager", "vc-webhook-manager")
        hook = Named("MutatingWebhookConfiguration", "volcano-admission-service-jobs-mutate", maker)
        plan, held = plan_of(base, "volcano"), ManagedState("atlas", frozenset({(pin("volcano").namespace, "volcano")}))
        assert decide(plan, held, webhooks=(hook,)).findings == ()
        assert ids(decide(plan, webhooks=(hook,))) == ["EXI001"]

    def test_a_second_release_is_not_managed(self, base: Plan) -> None:
        plan, held = plan_of(base, "gpu-operator"), ManagedState("atlas", frozenset({("gpu-operator", "gpu-operator")}))
        mine = replace(GPU_OPERATOR, namespace="gpu-operator", name="gpu-operator")
        made = decide(plan, held, releases=(mine, GPU_OPERATOR))
        assert ids(made) == ["EXI001"]
        assert [row.decision for row in made.rows] == ["managed", "refuse"]

    def test_a_second_installation_by_hand_is_not_managed(self, base: Plan) -> None:
        plan = plan_of(base, "nvidia-device-plugin")
        held = ManagedState("atlas", frozenset({(pin("nvidia-device-plugin").namespace, "nvidia-device-plugin")}))
        by_hand = replace(PLUGIN, maker=Maker("manager", "kubectl"))
        assert ids(decide(plan, held, workloads=(by_hand,))) == ["EXI001"]

    def test_crds_of_a_managed_release(self, base: Plan) -> None:
        maker = Maker("helm", "kueue", pin("kueue").namespace)
        left = Named("CustomResourceDefinition", "clusterqueues.kueue.x-k8s.io", maker)
        assert decide(plan_of(base, "kueue"), crds=(left,)).findings == ()

    def test_a_process_of_the_lab(self) -> None:
        hook = Named("ValidatingWebhookConfiguration", "kueue-validating-webhook-configuration", Maker("manager", "x"))
        made = decide(planned(), webhooks=(hook,))
        assert (made.findings, decisions(made)["kueue"]) == ((), "managed")

    def test_registrations_of_lab_programs_are_not_foreign(self, base: Plan) -> None:
        """With KEDA as a process, the API service has no owner; a Helm release of another owner is still foreign."""
        plan = plan_of(base, "keda")
        local = replace(plan, cluster=replace(plan.cluster, target="local"))
        service = Named("APIService", "v1beta1.external.metrics.k8s.io", Maker("manager", "the lab"), service="a/b")
        assert decide(local, api_services=(service,)).findings == ()
        theirs = replace(service, maker=Maker("helm", "datadog", "datadog"))
        assert ids(decide(local, api_services=(theirs,))) == ["EXI002"]


BLIND = {"Helm's release records": "User dev cannot list secrets"}


class TestBlind:
    def test_kinds_that_could_not_be_listed_are_reported(self, base: Plan) -> None:
        made = decide(plan_of(base, "gpu-operator"), blind=BLIND)
        (finding,) = made.findings
        assert (finding.id, finding.blocks) == ("EXI005", False)
        assert "could not read Helm's release records" in finding.message
        assert "User dev cannot list secrets" in finding.message

    def test_a_component_that_could_not_be_listed_does_not_count_as_absent(self, base: Plan) -> None:
        made = decide(plan_of(base, present=("gpu-operator",)), blind=BLIND)
        assert (ids(made), decisions(made)) == (["EXI005"], {"gpu-operator": "adopt"})
