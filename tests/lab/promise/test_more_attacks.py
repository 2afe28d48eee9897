"""Attacks of members with the role `edit` from a second review: those that once succeeded, and those that never did."""

from functools import partial
from typing import Any

import pytest

from mlcluster.kube.errors import ApiError
from mlcluster.plan import names
from tests.lab.attacks import as_member, gpus_counted, gpus_on_nodes, refusal, refused, refused_change
from tests.lab.workloads import GPU, KUEUE, Tenant, assert_stays, container, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

NEVER = "example.test/never"
KEEPS = "keeps the object and its namespace forever"
TEMPLATED = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")


def _owner(kind: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a Deployment, StatefulSet, ReplicaSet or DaemonSet whose template has this metadata."""
    made = controller(kind, "tried", "products", spec, replicas=1)
    if kind == "DaemonSet":
        del made["spec"]["replicas"]
    made["spec"]["template"]["metadata"] |= metadata
    return made


def _scheduled(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a CronJob."""
    inside = job("x", "products", spec)["spec"]
    inside["template"]["metadata"] = metadata
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tried", "namespace": "products"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": inside}},
    }


# Attacks that went through.


def _apart(kind: str = "podAntiAffinity", **term: Any) -> dict[str, Any]:
    required = {"labelSelector": {}, "topologyKey": "kubernetes.io/os", **term}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}


@pytest.mark.parametrize(
    "affinity",
    [
        _apart(namespaces=["students"]),
        _apart(namespaces=["products", "students"]),
        _apart(namespaceSelector={}),
        _apart("podAffinity", namespaceSelector={}),
        {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {"namespaces": ["students"], "topologyKey": "kubernetes.io/hostname"},
                    }
                ]
            }
        },
    ],
)
def test_a_pod_keeps_no_other_team_from_nodes(products: Tenant, affinity: dict[str, Any]) -> None:
    """The scheduler honors the anti-affinity of running pods: one of 100 millicores closed every node to a team."""
    spec = pod_spec(cpu="100m", affinity=affinity)
    attempts = [pod("tried", "products", spec), job("tried", "products", spec), _scheduled(spec)]
    for manifest in (*attempts, *(_owner(kind, spec) for kind in TEMPLATED)):
        assert "keep pods of other teams from nodes" in refused(products, manifest), manifest["kind"]


def test_pods_of_a_team_keep_apart_from_each_other(products: Tenant) -> None:
    products.submit(pod("spread", "products", pod_spec(cpu="100m", affinity=_apart(namespaces=["products"]))))
    products.submit(pod("other", "products", pod_spec(cpu="100m", affinity=_apart("podAntiAffinity"))))
    assert {entry["metadata"]["name"] for entry in products.pods()} == {"spread", "other"}


def test_controllers_copy_no_finalizer_from_a_template(products: Tenant) -> None:
    """The Job controller and others copy them to pods, where no controller removes them."""
    spec, finalizers = pod_spec(cpu="100m"), [NEVER]
    tried = job("tried", "products", spec)
    tried["spec"]["template"]["metadata"] = {"finalizers": finalizers}
    attempts = [tried, _scheduled(spec, finalizers=finalizers)]
    for manifest in (*attempts, *(_owner(kind, spec, finalizers=finalizers) for kind in TEMPLATED)):
        assert KEEPS in refused(products, manifest), manifest["kind"]


def test_a_stateful_set_creates_no_volume_claim_with_a_finalizer(products: Tenant) -> None:
    made = _owner("StatefulSet", pod_spec(cpu="100m"))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data", "finalizers": [NEVER]}, "spec": claim}]
    assert KEEPS in refused(products, made)


def test_kueue_s_finalizer_is_refused_on_the_pod_of_a_job(products: Tenant) -> None:
    """Kueue manages the Job and ignores its pods, so it would never remove the finalizer."""
    products.submit(job("kept", "products", pod_spec(cpu="100m")))
    wait_for("it runs", lambda: products.running("kept") == 1)
    name = products.pods_of("kept")[0]["metadata"]["name"]
    change = {"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking", "kueue.x-k8s.io/managed"]}}
    assert KEEPS in refused_change(products, "v1", f"pods/{name}", change)


def _budget(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "tried", "namespace": "products"}
    body = {"selector": {"matchLabels": {"app": "tried"}}, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": body}


@pytest.mark.parametrize("nothing", ["00%", "000%"])
def test_every_spelling_of_zero_percent_is_rejected(products: Tenant, nothing: str) -> None:
    assert "nodes must stay drainable" in refused(products, _budget(maxUnavailable=nothing))


@pytest.fixture
def running_set(products: Tenant) -> Tenant:
    """Team products with a StatefulSet of one pod: 4 GPUs, first in an init container and then in the main one."""
    made = _owner("StatefulSet", pod_spec(gpus=4))
    made["spec"]["template"]["spec"]["initContainers"] = [{**container(gpus=4), "name": "first"}]
    products.submit(made)
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 4)
    return products


def test_an_init_container_becomes_no_sidecar(running_set: Tenant) -> None:
    """Kueue compares the requests of a changed template: 8 GPUs on nodes, 4 counted."""
    first = {**container(gpus=4), "name": "first", "restartPolicy": "Always"}
    change = {"spec": {"template": {"spec": {"initContainers": [first]}}}}
    words = refused_change(running_set, "apps/v1", "statefulsets/tried", change)
    assert "a StatefulSet is counted as it was created" in words


def test_the_ordinals_of_a_stateful_set_stay(running_set: Tenant) -> None:
    """Changed ordinals start new pods while the old pods end: 24 GPUs on nodes, 8 counted."""
    change = {"spec": {"ordinals": {"start": 10}}}
    words = refused_change(running_set, "apps/v1", "statefulsets/tried", change)
    assert "a StatefulSet is counted as it was created" in words


def test_a_member_does_not_suspend_a_running_job(products: Tenant) -> None:
    """Kueue resumes it at once beside the pods that are still ending: 48 GPUs on nodes, 8 counted."""
    products.submit(job("paused", "products", pod_spec(gpus=1)))
    wait_for("it runs", lambda: products.running("paused") == 1)
    change = {"spec": {"suspend": True}}
    words = refused_change(products, "batch/v1", "jobs/paused", change)
    assert "to stop it, delete it and submit it again" in words


# Attacks that were refused, or counted after all.


def test_pods_of_a_deleted_stateful_set_are_counted_on(products: Tenant) -> None:
    products.submit(controller("StatefulSet", "left", "products", pod_spec(gpus=1), replicas=2))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 2)
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 2)
    as_member(products, "DELETE", "apps/v1", "statefulsets/left", {"propagationPolicy": "Orphan"})
    assert_stays("counted", lambda: gpus_counted(products.kube, "products") == 2)


def test_kueue_suspends_a_job_with_thousands_of_finalizers(products: Tenant) -> None:
    """A policy that costs too much to evaluate refuses, and Kueue could not preempt the job."""
    products.submit(job("heavy", "products", pod_spec(cpu="100m")))
    wait_for("it runs", lambda: products.running("heavy") == 1)
    many = {"metadata": {"finalizers": ["foregroundDeletion"] * 3000}}
    as_member(products, "PATCH", "batch/v1", "jobs/heavy", many)
    headers = [("Impersonate-User", names.KUEUE_USER), ("Impersonate-Group", "system:masters")]
    path = "/apis/batch/v1/namespaces/products/jobs/heavy"
    change, merge = {"spec": {"suspend": True}}, "application/merge-patch+json"
    tried = products.kube.request("PATCH", path, change, content_type=merge, headers=headers, params={"dryRun": "All"})
    assert tried["spec"]["suspend"] is True
    products.kube.request("DELETE", path, {"propagationPolicy": "Background"})


def test_a_pod_with_thousands_of_labels_ends(products: Tenant) -> None:
    """The Job controller takes its finalizer off pods, past all policies on pods."""
    made = job("labelled", "products", pod_spec(cpu="100m"))
    made["spec"]["template"]["metadata"] = {"labels": {f"l{number}": "" for number in range(9000)}}
    products.submit(made)
    wait_for("it runs", lambda: products.running("labelled") == 1)
    products.kube.delete("batch/v1", "Job", "labelled", "products")
    wait_for("its end", lambda: not products.kube.list("v1", "Pod", "products"))


def test_a_forged_scheduled_job_waits_in_the_queue(products: Tenant) -> None:
    """A member may name a CronJob as the owner of a Job, even one that is not there: Kueue counts the Job."""
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "none", "uid": "00000000-0000-0000-0000-000000000000"}
    made = job("by-hand", "products", pod_spec(gpus=8), pods=8, suspend=False)
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    assert products.submit(made)["spec"]["suspend"] is True
    newer = {**made, "metadata": {**made["metadata"], "name": "newer"}}
    newer["metadata"]["ownerReferences"] = [{**owner, "apiVersion": "batch/v2", "controller": True}]
    assert "only a controller may name a controlling owner" in refused(products, newer)


def test_a_job_for_another_controller_is_counted(products: Tenant) -> None:
    made = job("foreign", "products", pod_spec(gpus=8), pods=8)
    made["spec"]["managedBy"] = "example.test/nobody"
    assert products.submit(made)["spec"]["suspend"] is True


def test_a_partially_admitted_job_does_not_grow(products: Tenant) -> None:
    """Kueue admits fewer pods than asked for; the member may not raise the number afterwards."""
    products.submit(job("full", "products", pod_spec(gpus=8), pods=4))
    wait_for("it runs", lambda: products.running("full") == 4)
    made = job("partial", "products", pod_spec(gpus=8), pods=3)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    products.submit(made)
    wait_for("one pod runs", lambda: products.running("partial") == 1)
    words = refusal(lambda: as_member(products, "PATCH", "batch/v1", "jobs/partial", {"spec": {"parallelism": 3}}))
    assert "a running Job has been counted" in words


def test_requests_of_a_whole_pod_are_counted(products: Tenant) -> None:
    """Kueue counts `spec.resources` where they are larger than those of the containers."""
    whole = {**pod_spec(cpu="100m"), "resources": {"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}}
    products.submit(job("whole", "products", whole))
    found = wait_for("it is admitted", lambda: products.admitted("whole") and products.workload("whole"))
    assert found["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] == "5"


def test_sidecars_are_counted(products: Tenant) -> None:
    spec = pod_spec(gpus=4)
    spec["initContainers"] = [{**container(gpus=4), "name": "beside", "restartPolicy": "Always"}]
    products.submit(pod("two", "products", spec))
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 8)


@pytest.mark.parametrize(
    ("place", "body"),
    [
        ("pods/x/status", {"status": {"phase": "Succeeded"}}),
        ("pods/x/resize", {"spec": {}}),
        ("pods/x/ephemeralcontainers", {"spec": {}}),
        ("replicationcontrollers/x/status", {"status": {}}),
        ("resourcequotas/team", {"spec": {"hard": {"pods": "9k"}}}),
        ("limitranges/defaults", {"spec": {"limits": []}}),
        ("endpoints/x", {"subsets": []}),
    ],
)
def test_members_have_no_right_to_objects_that_controllers_write(
    products: Tenant, place: str, body: dict[str, Any]
) -> None:
    assert "forbidden" in refused_change(products, "v1", place, body)


@pytest.mark.parametrize(
    ("api_version", "place"),
    [
        ("batch/v1", "jobs/x/status"),
        ("apps/v1", "statefulsets/x/status"),
        ("apps/v1", "controllerrevisions/x"),
        ("policy/v1", "poddisruptionbudgets/x/status"),
        ("discovery.k8s.io/v1", "endpointslices/x"),
        (KUEUE, "workloads/x"),
        (KUEUE, "localqueues/default"),
    ],
)
def test_no_right_to_status_or_to_the_queue(products: Tenant, api_version: str, place: str) -> None:
    """A forged status would tell Kueue that work has ended."""
    assert "forbidden" in refusal(lambda: as_member(products, "PATCH", api_version, place, {"status": {}}))


def test_server_side_apply_meets_the_same_policies(products: Tenant) -> None:
    made = job("applied", "products", pod_spec(cpu="100m", nodeName="train-0"))
    headers = [("Impersonate-User", "member"), ("Impersonate-Group", products.group)]
    path = "/apis/batch/v1/namespaces/products/jobs/applied"
    with pytest.raises(ApiError, match="may not name its node"):
        products.kube.request(
            "PATCH", path, made, content_type="application/apply-patch+yaml", headers=headers,
            params={"fieldManager": "member", "force": "true"},
        )  # fmt: skip


def test_a_service_account_of_the_team_is_a_member_to_the_policies(products: Tenant) -> None:
    """Forged groups change nothing."""
    account = "system:serviceaccount:products:default"
    groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", products.group]
    made = pod("tried", "products", pod_spec(cpu="100m"), finalizers=[NEVER])
    with pytest.raises(ApiError, match=KEEPS):
        products.kube.create(made, as_user=account, as_groups=groups)


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "", "operator": "Exists", "effect": "NoSchedule"},
        {"key": GPU, "operator": "Equal", "value": "present"},
        {"key": GPU},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1},
    ],
)
def test_no_spelling_of_a_toleration_opens_gpu_nodes(products: Tenant, toleration: dict[str, Any]) -> None:
    """A running pod may get tolerations too."""
    spec = pod_spec(cpu="100m", tolerations=[toleration])
    assert "GPU nodes are for GPU pods" in refused(products, pod("tried", "products", spec))
    made = products.submit(pod("plain", "products", pod_spec(cpu="100m")))
    change = {"spec": {"tolerations": [*made["spec"]["tolerations"], toleration]}}
    assert "GPU nodes are for GPU pods" in refused_change(products, "v1", "pods/plain", change)


def test_jobs_are_not_deleted_as_a_collection_without_their_pods(products: Tenant) -> None:
    products.submit(job("one", "products", pod_spec(cpu="100m")))
    for options in (None, {"propagationPolicy": "Orphan"}, {"orphanDependents": True}):
        words = refusal(partial(as_member, products, "DELETE", "batch/v1", "jobs", options))
        assert "deleted with it" in words


def test_another_scheduler_gives_no_access_to_other_priorities(products: Tenant) -> None:
    spec = pod_spec(cpu="100m", schedulerName="example-scheduler", priorityClassName="system-cluster-critical")
    assert "is not a tier of this team" in refused(products, pod("tried", "products", spec))


def test_a_pod_for_an_unknown_scheduler_waits_in_the_queue(products: Tenant) -> None:
    made = products.submit(pod("elsewhere", "products", pod_spec(gpus=1, schedulerName="example-scheduler")))
    assert {"name": names.ADMISSION_GATE} in made["spec"]["schedulingGates"]
