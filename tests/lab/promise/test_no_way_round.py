"""Attempts to bypass the queue, the tiers and the GPU nodes: each is rejected or counted."""

from typing import Any

import pytest

from mlcluster.plan import names
from tests.lab.attacks import as_member, gpus_counted, refusal, refused, refused_change, request_as
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import (
    GPU,
    GPU_TOLERATION,
    Tenant,
    assert_stays,
    condition,
    container,
    controller,
    job,
    pod,
    pod_spec,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
EVERYTHING = {"operator": "Exists"}


@pytest.fixture
def full(products: Tenant) -> Tenant:
    """Return team products with its whole quota in use: a workload that runs now has bypassed the queue."""
    products.submit(job("full", "products", pod_spec(gpus=8), pods=5, tier="production-critical"))
    wait_for("five nodes run", lambda: products.running("full") == 5)
    return products


def _runs(found: dict[str, Any]) -> bool:
    return bool(found["status"]["phase"] == "Running")


def _assert_gated(team: Tenant, name: str) -> None:
    """Check that the pod stays behind the scheduling gate of Kueue although nodes are free."""
    found = wait_for("the pod", lambda: team.pod(name))
    assert {gate["name"] for gate in found["spec"]["schedulingGates"]} >= {names.ADMISSION_GATE}
    assert_stays("held back", lambda: (team.pod(name) or {})["status"]["phase"] == "Pending")


def test_bare_pod_is_counted(full: Tenant) -> None:
    full.submit(pod("bare", "products", pod_spec(gpus=1)))
    _assert_gated(full, "bare")
    full.assert_waits_because("bare", "insufficient unused quota")


def test_unlabelled_job_is_counted(full: Tenant) -> None:
    full.submit(job("unlabelled", "products", pod_spec(gpus=1), suspend=False))
    assert wait_for("a reason", lambda: full.waits_because("unlabelled"))
    assert (full.job("unlabelled") or {})["spec"]["suspend"] is True


def test_a_forged_label_of_another_queue_has_no_effect(full: Tenant) -> None:
    labels = {names.QUEUE_NAME: "somebody-elses"}
    full.submit(job("forged", "products", pod_spec(gpus=1), labels=labels, suspend=False))
    full.assert_waits_because("forged", "doesn't exist")
    assert_stays("suspended", lambda: (full.job("forged") or {})["spec"]["suspend"] is True)


def test_forged_owner_is_refused(full: Tenant) -> None:
    """Kueue ignores objects that belong to a job it manages."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "full", "controller": True}
    reference = {**owner, "uid": (full.job("full") or {})["metadata"]["uid"]}
    forged = pod("child", "products", pod_spec(gpus=1), ownerReferences=[reference])
    words = refused(full, forged)  # two policies refuse it, and either may be the first
    assert "must wait in the queue" in words or "only a controller may name" in words
    cpu_only = pod("cpu-child", "products", pod_spec(), ownerReferences=[reference])
    assert "only a controller may name a controlling owner" in refused(full, cpu_only)
    adopted = job("adopted", "products", pod_spec(gpus=1), suspend=False)
    adopted["metadata"]["ownerReferences"] = [reference]
    assert "only a controller may name a controlling owner" in refused(full, adopted)


def test_a_user_does_not_remove_the_scheduling_gate(full: Tenant) -> None:
    full.submit(pod("gated", "products", pod_spec(gpus=1)))
    _assert_gated(full, "gated")
    ungated = {"spec": {"schedulingGates": None}}
    words = refusal(lambda: full.kube.patch("v1", "Pod", "gated", ungated, "products"))  # an administrator
    assert "only Kueue removes its scheduling gate" in words


def test_job_resumed_by_a_user_is_refused(full: Tenant) -> None:
    full.submit(job("waiting", "products", pod_spec(gpus=1)))
    wait_for("a reason", lambda: full.waits_because("waiting"))
    resumed = {"spec": {"suspend": False}}
    words = refusal(lambda: full.kube.patch("batch/v1", "Job", "waiting", resumed, "products"))  # an administrator
    assert "only Kueue resumes a job" in words


def test_node_name_is_refused(full: Tenant) -> None:
    message = refused(full, pod("pinned", "products", pod_spec(gpus=1, nodeName="train-7")))
    assert "nodeName" in message or "may not name its node" in message
    template = job("pinned-job", "products", pod_spec(gpus=1, nodeName="train-7"))
    assert "may not name its node" in refused(full, template)
    cpu = refused(full, pod("pinned-cpu", "products", pod_spec(nodeName="train-7")))
    assert "nodeName" in cpu or "may not name its node" in cpu


def test_init_container_is_counted(full: Tenant) -> None:
    spec = pod_spec(tolerate=True)
    spec["initContainers"] = [{**container(gpus=1), "name": "first"}]
    full.submit(pod("init", "products", spec))
    _assert_gated(full, "init")
    full.assert_waits_because("init", GPU)


def test_resource_claim_is_refused(full: Tenant) -> None:
    claim = {"name": "gpu", "resourceClaimTemplateName": "any-gpu"}
    assert "resource claims (DRA) are not counted" in refused(
        full, pod("claim", "products", pod_spec(resourceClaims=[claim]))
    )
    template = job("claims", "products", pod_spec(resourceClaims=[claim]))
    assert "resource claims (DRA) are not counted" in refused(full, template)


def test_deployment_scaled_up_waits(full: Tenant) -> None:
    full.submit(controller("Deployment", "serve", "products", pod_spec(gpus=1), replicas=0))
    full.kube.patch("apps/v1", "Deployment", "serve", {"spec": {"replicas": 3}}, "products", subresource="scale")
    wait_for("three pods", lambda: len(full.pods(app="serve")) == 3)
    assert_stays("held back", lambda: all(entry["status"]["phase"] == "Pending" for entry in full.pods(app="serve")))


def test_foreign_tier_is_refused(students: Tenant) -> None:
    by_label = job("important", "students", pod_spec(), tier="production-critical")
    assert "is not a tier of this team; its tiers: best-effort-experiment" in refused(students, by_label)
    by_class = job("urgent", "students", pod_spec(priorityClassName="production-critical"))
    assert "is not a tier of this team; its tiers: best-effort-experiment" in refused(students, by_class)
    system = pod("system", "students", pod_spec(priorityClassName="system-node-critical"))
    assert "is not a tier of this team" in refused(students, system)
    students.submit(job("own-tier", "students", pod_spec(), tier="best-effort-experiment"))


def test_tolerating_everything_is_refused(students: Tenant) -> None:
    for index, toleration in enumerate((EVERYTHING, GPU_TOLERATION)):
        spec = pod_spec(tolerations=[toleration])
        message = refused(students, job(f"everything-{index}", "students", spec))
        assert "GPU nodes are for GPU pods" in message
        assert "GPU nodes are for GPU pods" in refused(students, pod(f"pod-{index}", "students", spec))


def test_asking_for_zero_gpus_opens_no_gpu_node(students: Tenant) -> None:
    spec = pod_spec(tolerate=True)
    spec["containers"][0]["resources"]["requests"][GPU] = "0"
    spec["containers"][0]["resources"]["limits"] = {GPU: "0"}
    assert "GPU nodes are for GPU pods" in refused(students, pod("none", "students", spec))


def test_group_of_pods_with_a_forged_role_is_refused(products: Tenant) -> None:
    """Kueue would count three pods like the first one: 3 GPUs for 17."""
    marks = {"kueue.x-k8s.io/pod-group-total-count": "3", "kueue.x-k8s.io/role-hash": "abcd1234"}
    for index, gpus in enumerate((1, 8, 8)):
        labels = {"kueue.x-k8s.io/pod-group-name": "group"}
        forged = pod(f"member-{index}", "products", pod_spec(gpus=gpus), labels=labels, annotations=marks)
        assert "does not count the pods of a pod group" in refused(products, forged)
    by_annotation = {**marks, "kueue.x-k8s.io/pod-group-name": "group"}
    forged = pod("annotated", "products", pod_spec(gpus=1), annotations=by_annotation)
    assert "does not count the pods of a pod group" in refused(products, forged)


def test_a_running_pod_keeps_its_kueue_label(products: Tenant) -> None:
    """Without its label Kueue would never evict the pod to reclaim quota."""
    products.submit(pod("hidden", "products", pod_spec(gpus=1)))
    wait_for("it runs", lambda: (products.pod("hidden") or {})["status"]["phase"] == "Running")
    for part, key in (("labels", "kueue.x-k8s.io/managed"), ("annotations", "kueue.x-k8s.io/role-hash")):
        for value in (None, "other"):
            message = refused_change(products, "v1", "pods/hidden", {"metadata": {part: {key: value}}})
            assert "only Kueue writes the labels and annotations" in message or "managed label value" in message
    changed = as_member(products, "PATCH", "v1", "pods/hidden", {"metadata": {"labels": {"mine": "yes"}}})
    assert changed["metadata"]["labels"]["mine"] == "yes"


def test_elastic_job_is_refused(products: Tenant) -> None:
    """The template can lose its gate, and Kueue compares only the number of pods: 64 GPUs for 1."""
    elastic = job("elastic", "products", pod_spec(gpus=1))
    elastic["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    assert "an elastic job grows without being counted" in refused(products, elastic)


def test_a_stateful_set_does_not_increase_the_limits_of_its_pods(products: Tenant) -> None:
    """Kueue compares requests only: limits that become requests would make 40 GPUs of 5."""
    spec = pod_spec(gpus=1)
    spec["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {GPU: "1"}}
    products.submit(controller("StatefulSet", "store", "products", spec, replicas=1))
    wait_for("it runs", lambda: [entry for entry in products.pods(app="store") if _runs(entry)])
    bigger = [{**spec["containers"][0], "resources": {**spec["containers"][0]["resources"], "limits": {GPU: "8"}}}]
    grown: dict[str, Any] = {"spec": {"template": {"spec": {"containers": bigger}}}}
    message = refused_change(products, "apps/v1", "statefulsets/store", grown)
    assert "a StatefulSet is counted as it was created" in message
    newer = [{**spec["containers"][0], "image": "example.test/newer"}]
    updated = {"spec": {"template": {"spec": {"containers": newer}}}}
    as_member(products, "PATCH", "apps/v1", "statefulsets/store", updated)


def test_a_limit_without_a_request_is_rejected_if_kueue_would_count_less(products: Tenant) -> None:
    """Kueue would count the LimitRange's 500m for a pod that gets 6 CPUs; a bare pod has its request by then."""
    spec = pod_spec()
    spec["containers"][0]["resources"] = {"limits": {"cpu": "6", "memory": "20Gi"}}
    assert "set a request for every limit" in refused(products, job("limited", "products", spec))
    whole = {**pod_spec(), "resources": {"limits": {"cpu": "6"}}}
    assert "set a request for every limit" in refused(products, job("whole", "products", whole))
    products.submit(pod("bare-limit", "products", spec))
    requests = (products.pod("bare-limit") or {})["spec"]["containers"][0]["resources"]["requests"]
    assert requests["cpu"] == "6"


def test_workloads_that_kueue_admits_run(products: Tenant) -> None:
    """A Deployment, a StatefulSet and a notebook pod with GPUs, submitted as a member of the team."""
    products.submit(controller("Deployment", "api", "products", pod_spec(gpus=1), replicas=2))
    products.submit(controller("StatefulSet", "store", "products", pod_spec(gpus=1), replicas=2))
    products.submit(pod("notebook", "products", pod_spec(gpus=1, restartPolicy="Always")))

    def running(app: str) -> int:
        return len([entry for entry in products.pods(app=app) if entry["status"]["phase"] == "Running"])

    wait_for("the Deployment runs", lambda: running("api") == 2)
    wait_for("the StatefulSet runs", lambda: running("store") == 2)
    wait_for("the notebook runs", lambda: (products.pod("notebook") or {})["status"]["phase"] == "Running")
    usage = wait_for("the queue counts them", lambda: gpus_counted(products.kube, "products") == 5 and 5)
    assert usage == 5
    assert condition(products.workload("notebook"), "Admitted")["status"] == "True"


def test_an_admin_of_a_team_does_not_change_its_boundaries(cluster: Cluster) -> None:
    """Even an admin of the namespace may not change its quota or managed roles, or open its network."""
    opened = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "open", "namespace": "research"},
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
    }
    lead = ("lead", ["ml-leads", "system:authenticated"])
    path = "/apis/networking.k8s.io/v1/namespaces/research/networkpolicies"
    assert "egress is set in one place" in refusal(lambda: request_as(cluster.kube, lead, "POST", path, opened))
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/research/rolebindings/mlcluster:edit"
    assert "change the spec and run" in refusal(lambda: request_as(cluster.kube, lead, "DELETE", path))
