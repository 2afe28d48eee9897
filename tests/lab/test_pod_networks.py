"""Secondary networks of other namespaces: the policy of the plan on a real API server, in every kind with pods."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from mlcluster.plan import names
from mlcluster.plan.model import Manifest
from tests.lab.test_fabric_objects import crd
from tests.lab.workloads import controller, job, pod, pod_spec
from tests.specs import EXISTING, SYSTEM, TRAIN, manifests, planned
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

OWN, OTHER = "netown", "netother"
POLICY = "mlcluster-pod-networks"
POLICIES = "ValidatingAdmissionPolicy"
API, CRD = "admissionregistration.k8s.io/v1", "CustomResourceDefinition"
KEY, DEFAULT = "k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network"
STATUS = "k8s.v1.cni.cncf.io/network-status"
WORDS = "its own namespace only"
SPEC = pod_spec(cpu="1")

ALLOWED = (
    "rdma",
    "rdma@net1, rdma@net2",
    f"{OWN}/rdma",
    f"rdma, {OWN}/rdma@net1",
    '[{"name": "rdma"}]',
    f'[{{"name": "rdma", "namespace": "{OWN}", "interface": "net1", "mac": "02:00:00:00:00:01"}}]',
    f'[{{"namespace" :\n "{OWN}", "name": "a"}}, {{"name": "b"}}]',
    "",
)
REFUSED = (
    f"{OTHER}/rdma",
    f"rdma,{OTHER}/rdma",
    f"{OWN}/rdma, {OTHER}/rdma@net1",
    f" {OTHER} / rdma",
    f"{OWN}x/rdma",
    "kube-system/host",
    "default/host",
    f'[{{"name": "rdma", "namespace": "{OTHER}"}}]',
    f'[{{"name": "rdma", "Namespace": "{OTHER}"}}]',
    f'[{{"name": "rdma", "NAMESPACE":"{OTHER}"}}]',
    f'[{{"name": "rdma", "name\\u0073pace": "{OTHER}"}}]',
    f'[{{"name": "rdma", "name\u017fpace": "{OTHER}"}}]',
    '[{"name": "rdma", "namespace": "\\u006eetother"}]',
    f'[{{"name": "a", "namespace": "{OWN}"}}, {{"name": "b", "namespace": "{OTHER}"}}]',
    f'[{{"name": "rdma", "namespace": "{OWN}", "namespace": "{OTHER}"}}]',
    f'[{{"name": "rdma", "namespace":\n\t"{OTHER}"}}]',
    f'[{{"name": "rdma", "namespace": "{OWN}x"}}]',
)


def wire(kind: str, group: str, version: str) -> Manifest:
    """Return a CRD that accepts every field; components install the real CRDs."""
    return crd(group, kind, version, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})


KINDS = (
    wire("JobSet", "jobset.x-k8s.io", "v1alpha2"),
    wire("MPIJob", "kubeflow.org", "v2beta1"),
    wire("RayJob", "ray.io", "v1"),
    wire("RayCluster", "ray.io", "v1"),
)


@pytest.fixture(scope="module")
def kube(lab: Lab) -> Iterator[Kube]:
    """Yield the shared control plane with the policy, a namespace of a team, and the kinds; all go in the end."""
    components: Manifest = {"jobSet": {}, "mpiOperator": {}, "kubeRay": {}}
    plan = planned(SYSTEM, TRAIN, target=EXISTING, components=components, teams=[{"name": "research"}])
    with Kube.from_kubeconfig(lab.kubeconfig) as client:
        namespace = {"name": OWN, "labels": {names.TEAM: OWN}}
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})
        for manifest in KINDS:
            namespaced = {**manifest, "spec": {**manifest["spec"], "scope": "Namespaced"}}
            client.apply(namespaced)
        for kind in (POLICIES, f"{POLICIES}Binding"):
            client.apply(manifests(plan, kind)[POLICY])
        wait_for("the policy is in force", lambda: _refuses(client))
        yield client
        for kind in (f"{POLICIES}Binding", POLICIES):
            client.delete(API, kind, POLICY)
        for manifest in KINDS:
            client.delete("apiextensions.k8s.io/v1", CRD, manifest["metadata"]["name"])
        client.delete("v1", "Namespace", OWN)


def _refuses(kube: Kube) -> bool:
    try:
        kube.create(made_pod(f"{OTHER}/rdma"), dry_run=True)
    except ApiError as error:
        return WORDS in error.message
    return False


def made_pod(value: str, key: str = KEY) -> Manifest:
    return pod("networked", OWN, SPEC, annotations={key: value})


def template(value: str, key: str = KEY) -> Manifest:
    return {"metadata": {"annotations": {key: value}, "labels": {"app": "x"}}, "spec": SPEC}


def _job(value: str) -> Manifest:
    made = job("networked", OWN, SPEC)
    made["spec"]["template"] = template(value)
    return made


def _cron_job(value: str) -> Manifest:
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": _job(value)["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x", "namespace": OWN}, "spec": spec}


def _controller(kind: str) -> Callable[[str], Manifest]:
    def made(value: str) -> Manifest:
        found = controller(kind, "x", OWN, SPEC, 1)
        found["spec"]["template"]["metadata"]["annotations"] = {KEY: value}
        if kind == "DaemonSet":
            del found["spec"]["replicas"]
        if kind == "ReplicationController":
            found |= {"apiVersion": "v1"}
            found["spec"]["selector"] = {"app": "x"}
        return found

    return made


def _custom(api_version: str, kind: str, spec: Callable[[Manifest], Manifest]) -> Callable[[str], Manifest]:
    def made(value: str) -> Manifest:
        metadata = {"name": "x", "namespace": OWN}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec(template(value))}

    return made


MAKERS: dict[str, Callable[[str], Manifest]] = {
    "pod": made_pod,
    "job": _job,
    "cronjob": _cron_job,
    **{
        kind.lower(): _controller(kind)
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
    },
    "jobset": _custom(
        "jobset.x-k8s.io/v1alpha2", "JobSet", lambda t: {"replicatedJobs": [{"template": {"spec": {"template": t}}}]}
    ),
    "mpijob": _custom("kubeflow.org/v2beta1", "MPIJob", lambda t: {"mpiReplicaSpecs": {"Worker": {"template": t}}}),
    "rayjob": _custom("ray.io/v1", "RayJob", lambda t: {"rayClusterSpec": {"headGroupSpec": {"template": t}}}),
    "raycluster": _custom(
        "ray.io/v1",
        "RayCluster",
        lambda t: {"headGroupSpec": {"template": {"spec": SPEC}}, "workerGroupSpecs": [{"template": t}]},
    ),
}


def refusal(attempt: Callable[[], Any]) -> str:
    with pytest.raises(ApiError) as caught:
        attempt()
    return caught.value.message


@pytest.mark.parametrize("value", ALLOWED)
def test_a_pod_joins_networks_of_its_own_namespace(kube: Kube, value: str) -> None:
    admitted = kube.create(made_pod(value), dry_run=True)
    assert admitted["metadata"]["annotations"][KEY] == value


@pytest.mark.parametrize("value", REFUSED)
def test_a_pod_joins_no_network_of_another_namespace(kube: Kube, value: str) -> None:
    assert WORDS in refusal(lambda: kube.create(made_pod(value), dry_run=True))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("value", [f"{OTHER}/rdma", json.dumps([{"name": "rdma", "namespace": OTHER}])])
def test_templates_of_every_kind(kube: Kube, name: str, value: str) -> None:
    assert WORDS in refusal(lambda: kube.create(MAKERS[name](value), dry_run=True))
    kube.create(MAKERS[name]("rdma"), dry_run=True)


@pytest.mark.parametrize("value", ["rdma", f"{OWN}/rdma", "kube-system/host", '[{"name": "host"}]'])
def test_a_pod_does_not_replace_the_default_network(kube: Kube, value: str) -> None:
    assert "is the cluster's" in refusal(lambda: kube.create(made_pod(value, DEFAULT), dry_run=True))


def test_a_pod_does_not_change_its_networks_later(kube: Kube) -> None:
    """Multus reads the annotation when the pod starts."""
    kube.create(made_pod("rdma"))
    try:
        change = {"metadata": {"annotations": {KEY: f"{OTHER}/rdma"}}}
        assert WORDS in refusal(lambda: kube.patch("v1", "Pod", "networked", change, OWN))
        kube.patch("v1", "Pod", "networked", {"metadata": {"annotations": {"example.com/x": "y"}}}, OWN)
    finally:
        kube.delete("v1", "Pod", "networked", OWN)


@pytest.mark.parametrize("forged", ["[]", '[{"name": "rdma", "ips": ["10.60.0.9"]}]', None])
def test_a_member_does_not_change_the_addresses_that_multus_wrote(kube: Kube, forged: str | None) -> None:
    """The reconciler of Whereabouts v0.9.4 frees an address that this annotation of its pod does not have."""
    kube.create(made_pod("rdma"))
    try:
        path = f"/api/v1/namespaces/{OWN}/pods/networked"
        written = {"metadata": {"annotations": {STATUS: '[{"name": "rdma", "ips": ["10.60.0.5"]}]'}}}
        # Multus v4.3.0 writes it with UpdateStatus (setPodNetworkStatus of network-attachment-definition-client).
        kube.request("PATCH", f"{path}/status", written, content_type="application/merge-patch+json")
        change = {"metadata": {"annotations": {STATUS: forged}}}
        assert "Multus writes" in refusal(lambda: kube.patch("v1", "Pod", "networked", change, OWN))
        kube.patch("v1", "Pod", "networked", {"metadata": {"annotations": {"example.com/x": "y"}}}, OWN)
    finally:
        kube.delete("v1", "Pod", "networked", OWN)


def test_namespaces_without_a_team_are_not_restricted(kube: Kube) -> None:
    foreign = f"{OTHER}/rdma"
    admitted = kube.create(pod("networked", "default", SPEC, annotations={KEY: foreign}), dry_run=True)
    assert admitted["metadata"]["annotations"][KEY] == foreign


def test_a_deployment_admitted_before_the_policy_can_be_scaled(kube: Kube) -> None:
    kube.delete(API, f"{POLICIES}Binding", POLICY)
    old = MAKERS["deployment"](f"{OTHER}/rdma")
    binding = {"apiVersion": API, "kind": f"{POLICIES}Binding", "metadata": {"name": POLICY}}
    try:
        wait_for("the policy is not in force", lambda: not _refuses(kube))
        kube.create(old)
    finally:
        kube.apply({**binding, "spec": {"policyName": POLICY, "validationActions": ["Deny"]}})
        wait_for("the policy is in force", lambda: _refuses(kube))
    scaled = kube.patch("apps/v1", "Deployment", "x", {"spec": {"replicas": 2}}, OWN)
    assert scaled["spec"]["replicas"] == 2
    kube.delete("apps/v1", "Deployment", "x", OWN)
