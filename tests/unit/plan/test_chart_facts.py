"""Pods of rendered objects, and the residue of an uninstall."""

from typing import Any

import pytest

from mlcluster.plan.chart_facts import FROM_CRDS, chart_facts, pod_requests

pytestmark = pytest.mark.unit

Data = dict[str, Any]


def container(cpu: str = "", memory: str = "", **rest: Any) -> Data:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    return {"name": "one", "image": "docker.io/a/b:1", "resources": {"requests": requests}, **rest}


def workload(kind: str = "Deployment", name: str = "one", pod: Data | None = None, **spec: Any) -> Data:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container()], **(pod or {})}}
    return {"kind": kind, "metadata": {"name": name}, "spec": {**spec, "template": template}}


def thing(kind: str, name: str, **annotations: str) -> Data:
    return {
        "kind": kind,
        "metadata": {"name": name, "annotations": {f"helm.sh/{k}": v for k, v in annotations.items()}},
    }


def test_containers_add_up_and_count_as_one_pod() -> None:
    spec = {"containers": [container("100m", "64Mi"), container("50m", "1Gi")]}
    assert pod_requests(spec) == {"cpu": 150, "memory": 1088, "pods": 1}


def test_an_init_container_counts_where_it_asks_for_more() -> None:
    spec = {"containers": [container("100m", "64Mi")], "initContainers": [container("80m", "1Gi"), container("1", "")]}
    assert pod_requests(spec) == {"cpu": 1000, "memory": 1024, "pods": 1}


def test_a_sidecar_runs_beside_the_containers_and_the_init_containers_after_it() -> None:
    sidecar = container("100m", "100Mi", restartPolicy="Always")
    init = [container("600m"), sidecar, container("450m")]
    assert pod_requests({"containers": [container("400m", "1Gi")], "initContainers": init}) == {
        "cpu": 600,
        "memory": 1124,
        "pods": 1,
    }
    init = [sidecar, container("600m")]
    assert pod_requests({"containers": [container("400m")], "initContainers": init})["cpu"] == 700


def test_a_limit_without_a_request_is_the_request() -> None:
    only_limits = {"name": "one", "image": "a", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": 1}}}
    assert pod_requests({"containers": [only_limits]}) == {"cpu": 2000, "nvidia.com/gpu": 1, "pods": 1}
    assert pod_requests({"containers": [container()], "overhead": {"cpu": "250m"}}) == {"cpu": 250, "pods": 1}


def affinity(key: str, labels: Data) -> Data:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("pod", "apart"),
    [
        ({}, False),
        (affinity("kubernetes.io/hostname", {"app": "one"}), True),
        (affinity("kubernetes.io/hostname", {"app": "other"}), False),
        (affinity("topology.kubernetes.io/zone", {"app": "one"}), False),
    ],
)
def test_replicas_are_apart_where_a_required_rule_matches_their_own_labels(pod: Data, apart: bool) -> None:
    (found,) = chart_facts([workload(pod=pod, replicas=2)], "home").workloads
    assert (found.apart, found.replicas, found.namespace) == (apart, 2, "home")


def test_hooks_are_jobs_and_tests_of_the_chart_are_left_out() -> None:
    hook = workload("Job", "certificates")
    hook["metadata"]["annotations"] = {"helm.sh/hook": "pre-install, pre-upgrade"}
    test = workload("Job", "try")
    test["metadata"]["annotations"] = {"helm.sh/hook": "test-success"}
    (found,) = chart_facts([hook, test], "home").workloads
    assert (found.kind, found.name, found.hooks) == ("Job", "certificates", ("pre-install", "pre-upgrade"))


def test_resources_that_helm_does_not_delete() -> None:
    from_folder = {"kind": "CustomResourceDefinition", "metadata": {"name": "a", "annotations": {FROM_CRDS: "true"}}}
    kept = thing("CustomResourceDefinition", "b", **{"resource-policy": "keep"})
    facts = chart_facts(
        [
            from_folder,
            kept,
            thing("CustomResourceDefinition", "c"),
            thing("ClusterRole", "stays", hook="pre-install"),
            thing("ClusterRole", "goes", hook="pre-install", **{"hook-delete-policy": "hook-succeeded"}),
            thing("ClusterRole", "of-the-release"),
            thing("Role", "goes-with-the-namespace", hook="pre-install"),
        ],
        "home",
    )
    assert facts.crds == ("a", "b", "c")
    assert facts.kept == ("a", "b")
    assert facts.hook_residue == ("ClusterRole/stays",)


def test_images_are_found_wherever_a_chart_writes_them() -> None:
    flags = workload(
        pod={"containers": [{**container(), "args": ["--base-image=quay.io/x/y:v1", "--url=http://a.b/c:1"]}]}
    )
    policy = {
        "kind": "ClusterPolicy",
        "metadata": {"name": "one"},
        "spec": {
            "driver": {"repository": "nvcr.io/nvidia", "image": "driver", "version": "595"},
            "off": {"enabled": False, "repository": "nvcr.io/nvidia", "image": "vgpu", "version": "1"},
        },
    }
    config = {"kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"agent": '{"image": "kserve/agent:v1"}'}}
    assert chart_facts([flags, policy, config], "home").images == (
        "docker.io/a/b:1",
        "kserve/agent:v1",
        "nvcr.io/nvidia/driver:595",
        "quay.io/x/y:v1",
    )
