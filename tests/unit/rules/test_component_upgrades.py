"""Safe, manual or blocked: records of the catalog about upgrades between versions."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.catalog.components import pin, pins
from mlcluster.catalog.eks import eks_versions
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.rules.upgrades import (
    Deployed,
    Record,
    assess,
    kubernetes_range,
    other_versions,
    records_of,
    upgrade_findings,
    upgrades,
)
from mlcluster.rules.versions import holds

pytestmark = pytest.mark.unit


def verdict(component: str, running: str, wanted: str) -> str:
    return assess(records_of(pin(component)), running, wanted).verdict


def release(component: str, **changed: Any) -> PlanRelease:
    found = pin(component)
    made = PlanRelease(
        f"Release/{component}", component, found.chart, found.version, found.repository, found.namespace, {}, (),
        "helm", ("components", component),
    )  # fmt: skip
    return replace(made, **changed)


def plan_of(base: Plan, *releases: PlanRelease, kubernetes: str = "") -> Plan:
    return replace(base, releases=releases, cluster=replace(base.cluster, kubernetes_version=kubernetes))


@pytest.mark.parametrize(
    ("running", "wanted", "expected"),
    [
        ("1.2.3", "1.2.4", "safe"),
        ("1.2.3", "1.9.0", "safe"),
        ("v1.2.3", "2.0.0", "manual"),
        ("1.2.3", "1.2.2", "manual"),
        ("1.2.3", "latest", "manual"),
        ("1.2.3", "v1.2.3", "safe"),
    ],
)
def test_without_a_record(running: str, wanted: str, expected: str) -> None:
    assert assess((), running, wanted).verdict == expected


@pytest.mark.parametrize(
    ("component", "running", "wanted", "expected"),
    [
        ("kueue", "0.18.2", "0.18.3", "safe"),
        ("kueue", "0.17.4", "0.18.3", "safe"),
        ("kueue", "0.18.3", "0.19.2", "manual"),
        ("kueue", "0.18.3", "0.20.5", "manual"),
        ("kueue", "0.15.4", "0.18.3", "manual"),
        ("kueue", "0.15.4", "0.20.0", "blocked"),
        ("kueue", "0.15.4", "0.20.0-rc.0", "blocked"),
        ("kueue", "0.18.3", "0.18.2", "manual"),
        ("kueue", "0.18.3", "0.14.0", "blocked"),
        ("envoy-gateway", "v1.6.0", "v1.9.0", "manual"),
        ("envoy-gateway", "v1.9.0", "v1.9.2", "safe"),
        ("cert-manager", "v1.21.0", "v1.21.1", "safe"),
        ("gpu-operator", "v26.3.3", "v26.7.0", "manual"),
        ("gpu-operator", "v26.7.0", "v26.7.1", "safe"),
        ("gpu-operator", "v26.3.0", "v26.3.2", "manual"),
        ("gpu-operator", "v25.10.1", "v26.7.0", "manual"),
        ("nvidia-device-plugin", "0.18.0", "0.19.1", "manual"),
        ("nvidia-device-plugin", "0.18.0", "0.20.0", "safe"),
        ("dra-driver-nvidia-gpu", "25.12.0", "0.5.0", "blocked"),
        ("network-operator", "26.1.0", "26.4.1", "manual"),
        ("network-operator", "26.4.0", "26.4.1", "safe"),
        ("jobset", "0.11.0", "0.12.0", "manual"),
        ("jobset", "0.12.0", "0.12.1", "safe"),
        ("kubeflow-trainer", "2.1.0", "2.3.0", "manual"),
        ("kubeflow-trainer", "2.1.0", "2.4.0", "blocked"),
        ("kubeflow-trainer", "2.3.0", "2.4.0", "manual"),
        ("kserve", "v0.16.0", "v0.20.0", "blocked"),
        ("kserve", "v0.18.0", "v0.20.0", "safe"),
        ("karpenter", "0.37.0", "1.14.1", "blocked"),
        ("karpenter", "1.8.0", "1.14.1", "safe"),
        ("cert-manager", "v1.19.0", "v1.21.0", "manual"),
        ("cert-manager", "v1.20.0", "v1.21.0", "safe"),
        ("kube-prometheus-stack", "88.5.0", "88.5.3", "safe"),
        ("kube-prometheus-stack", "80.0.0", "88.5.3", "manual"),
        ("cluster-autoscaler", "9.50.0", "9.59.0", "safe"),
        ("keda", "2.19.0", "2.20.2", "safe"),
    ],
)
def test_records(component: str, running: str, wanted: str, expected: str) -> None:
    assert verdict(component, running, wanted) == expected


def test_the_worst_record_decides_and_all_are_listed() -> None:
    found = assess(records_of(pin("kubeflow-trainer")), "2.1.0", "2.4.0")
    assert found.why[0] == "upstream asks to go to 2.3 before any later version"
    assert len(found.why) == 3
    assert found.steps[0] == "go to 2.3 first"
    assert found.sources


@pytest.mark.parametrize("name", sorted(name for name, entry in pins().items() if entry.records))
def test_every_record_can_be_read(name: str) -> None:
    for record in records_of(pin(name)):
        assert record.verdict in {"safe", "manual", "blocked"}
        assert record.only in {"", "minor", "major", "skip", "back"}
        assert record.why
        assert record.source
        assert record.verdict == "safe" or record.kubernetes or record.steps, "what to do?"
        for wanted in (record.start, record.end, record.kubernetes):
            assert holds(wanted, "1.2.3") in {True, False}


def test_a_record_of_skipped_versions_is_not_about_neighbours() -> None:
    record = Record("*", "*", "blocked", "why", (), "source", only="skip")
    assert [record.fits("1.1.0", f"1.{minor}.0") for minor in (1, 2, 3)] == [False, False, True]


class TestUpgrades:
    def test_a_release_deployed_in_another_version_has_a_finding(self, base: Plan) -> None:
        plan = plan_of(base, release("kueue"), release("gpu-operator"))
        here = [
            Deployed("kueue-system", "kueue", pin("kueue").chart, "0.18.1"),
            Deployed("gpu-operator", "gpu-operator", "gpu-operator", pin("gpu-operator").version),
            Deployed("other", "kueue", "kueue", "0.1.0"),
        ]
        (found,) = upgrades(plan, here)
        assert (found.release, found.running, found.wanted) == ("Release/kueue", "0.18.1", pin("kueue").version)
        assert list(upgrade_findings([found])) == []

    def test_a_blocked_one_stops(self, base: Plan) -> None:
        plan = plan_of(base, release("kueue", version="0.20.5"))
        (finding,) = upgrade_findings(upgrades(plan, [Deployed("kueue-system", "kueue", "kueue", "0.15.4")]))
        assert (finding.id, finding.blocks, finding.place) == ("UPG001", True, ("components", "kueue"))
        assert finding.message.startswith("Kueue 0.15.4 -> 0.20.5 is blocked: 0.20 serves v1beta2 only")
        assert finding.hint.startswith("1. go to the last 0.19 first; 2. run hack/migrate-to-v1beta2.sh")

    def test_a_manual_one_warns(self, base: Plan) -> None:
        plan = plan_of(base, release("jobset"))
        (finding,) = upgrade_findings(upgrades(plan, [Deployed("jobset-system", "jobset", "jobset", "0.11.0")]))
        assert (finding.id, finding.blocks) == ("UPG002", False)

    def test_a_renamed_chart_is_compared(self, base: Plan) -> None:
        plan = plan_of(base, release("kserve"))
        (found,) = upgrades(plan, [Deployed(pin("kserve").namespace, "kserve", "oci://x/kserve-old", "v0.20.0")])
        assert found.assessment.verdict == "manual"
        assert "kserve-old becomes" in found.assessment.why[0]

    def test_a_mirror_is_no_other_chart(self, base: Plan) -> None:
        mirrored = release("kueue", chart="oci://mirror.example.com/x/kueue")
        here = [Deployed("kueue-system", "kueue", pin("kueue").chart, pin("kueue").version)]
        assert upgrades(plan_of(base, mirrored), here) == ()

    def test_components_that_helm_does_not_install_are_skipped(self, base: Plan) -> None:
        plan = plan_of(base, release("kueue", realisation="present"))
        assert upgrades(plan, [Deployed("kueue-system", "kueue", "kueue", "0.1.0")]) == ()


class TestKubernetes:
    @pytest.mark.parametrize(
        ("kubernetes", "fine"), [("1.32", False), ("1.33", True), ("1.37", True), ("1.38", False), ("", True)]
    )
    def test_the_range_of_the_pin(self, base: Plan, kubernetes: str, fine: bool) -> None:
        found = list(kubernetes_range(plan_of(base, release("gpu-operator"), kubernetes=kubernetes)))
        assert [finding.id for finding in found] == ([] if fine else ["UPG003"])

    def test_the_version_of_the_api_server_is_used(self, base: Plan) -> None:
        plan = plan_of(base, release("gpu-operator"))
        (finding,) = kubernetes_range(plan, "v1.29.4-gke.1043000")
        assert "does not support Kubernetes 1.29: it requires 1.33 or newer" in finding.message

    @pytest.mark.parametrize(("version", "fine"), [("1.12.9", False), ("1.13.0", True)])
    def test_a_version_of_karpenter(self, base: Plan, version: str, fine: bool) -> None:
        plan = plan_of(base, release("karpenter", version=version), kubernetes="1.36")
        assert [finding.id for finding in kubernetes_range(plan)] == ([] if fine else ["UPG003"])

    def test_installations_without_helm_are_skipped(self, base: Plan) -> None:
        plan = plan_of(base, release("gpu-operator", realisation="simulated"), kubernetes="1.20")
        assert list(kubernetes_range(plan)) == []

    def test_every_pin_supports_every_supported_eks_version(self, base: Plan) -> None:
        """Else every plan for that version would be an error."""
        for version in eks_versions():
            plan = plan_of(base, release("karpenter"), release("kueue"), release("cluster-autoscaler"))
            assert (
                list(kubernetes_range(replace(plan, cluster=replace(plan.cluster, kubernetes_version=version)))) == []
            )


class TestOtherVersions:
    def test_a_version_of_the_spec(self, base: Plan) -> None:
        (finding,) = other_versions(plan_of(base, release("kueue", version="0.19.2"), release("jobset")))
        assert (finding.id, finding.place) == ("UPG004", ("components", "kueue", "version"))
        assert "Kueue 0.19.2 differs from 0.18.3 of the catalog" in finding.message
