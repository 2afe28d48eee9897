"""Attempts to bypass the quota with JobSet, TrainJob, MPIJob and RayCluster in the role `edit`: each is rejected.

The real controllers run; test_jobs.py has the jobs that are admitted.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.attacks import as_member, refusal, refused
from tests.lab.test_jobs import TEAM, Cluster, job_set, mpi_job, ray_cluster, ray_job, train_job
from tests.lab.workloads import KUEUE, Tenant, container, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

KINDS = {
    "jobset": (job_set, "jobset.x-k8s.io/v1alpha2", "jobsets"),
    "trainjob": (train_job, "trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "mpijob": (mpi_job, "kubeflow.org/v2beta1", "mpijobs"),
    "raycluster": (ray_cluster, "ray.io/v1", "rayclusters"),
}
HELD = {"mpijob": {"spec": {"runPolicy": {"suspend": False}}}}
BIGGER = {
    "mpijob": {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 9}}}},
    "raycluster": {"spec": {"enableInTreeAutoscaling": True}},
    "jobset": {"spec": {"ttlSecondsAfterFinished": 5}},
    "trainjob": {"spec": {"runtimePatches": []}},
}


@pytest.fixture(scope="module")
def team(job_kinds: Cluster) -> Iterator[Tenant]:
    """Yield a team whose guarantee the job set `full` uses up; waiting work of each kind is behind it."""
    made = job_kinds.team
    full, waiting = job_set("full"), [make(f"{name}-waits") for name, (make, _, _) in KINDS.items()]
    made.submit(full)
    wait_for("the job set runs", lambda: len(_running(made, "full")) == 2)
    for manifest in waiting:
        made.submit(manifest)
        made.assert_waits_because(manifest["metadata"]["name"], "couldn't assign flavors")
    yield made
    for manifest in (*waiting, full):
        job_kinds.delete(manifest)
    wait_for("their end", lambda: not made.pods() and not made.kube.list(KUEUE, "Workload", TEAM))


@pytest.mark.parametrize("name", KINDS)
def test_a_team_stores_no_more_of_a_kind_than_its_limit(team: Tenant, name: str) -> None:
    """The test lowers the limit to the present number of objects instead of creating 500."""
    make, api_version, resource = KINDS[name]
    key = f"count/{resource}.{api_version.partition('/')[0]}"
    quota = team.kube.get_object("v1", "ResourceQuota", "team", TEAM) or {}
    assert quota["spec"]["hard"][key] == "500"
    there = quota["status"]["used"][key]
    assert int(there) >= 1
    _limit(team, key, there)
    try:
        _assert_creation_rejected(team, f"exceeded quota: team, requested: {key}=1", make("one-more"))
    finally:
        _limit(team, key, "500")


def _limit(team: Tenant, key: str, most: str) -> None:
    team.kube.patch("v1", "ResourceQuota", "team", {"spec": {"hard": {key: most}}}, TEAM)

    def is_in_force() -> bool:
        found = team.kube.get_object("v1", "ResourceQuota", "team", TEAM) or {}
        return bool(found["status"]["hard"][key] == most)

    wait_for("the limit", is_in_force)


def _running(team: Tenant, name: str) -> list[str]:
    found = [entry for entry in team.pods() if entry["metadata"]["name"].startswith(f"{name}-")]
    return [entry["metadata"]["name"] for entry in found if (entry.get("status") or {}).get("phase") == "Running"]


def _assert_rejected(
    team: Tenant, words: str, method: str, api_version: str, place: str, body: Any, **params: str
) -> None:
    message = refusal(lambda: as_member(team, method, api_version, place, body, **params))
    assert any(each in message for each in words.split(" | ")), message


def _assert_creation_rejected(team: Tenant, words: str, manifest: dict[str, Any]) -> None:
    assert words in refused(team, manifest)


def _owner(team: Tenant, name: str) -> dict[str, Any]:
    make, api_version, _ = KINDS[name]
    kind = make("x")["kind"]
    live = team.kube.get_object(api_version, kind, f"{name}-waits", team.namespace) or {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": f"{name}-waits",
        "uid": live["metadata"]["uid"],
        "controller": True,
    }


@pytest.mark.parametrize("name", KINDS)
def test_only_kueue_resumes(team: Tenant, name: str) -> None:
    _, api_version, plural = KINDS[name]
    resumed = HELD.get(name, {"spec": {"suspend": False}})
    _assert_rejected(team, "only Kueue resumes", "PATCH", api_version, f"{plural}/{name}-waits", resumed)


@pytest.mark.parametrize("name", KINDS)
def test_counted_fields_do_not_change(team: Tenant, name: str) -> None:
    _, api_version, plural = KINDS[name]
    _assert_rejected(team, "does not change", "PATCH", api_version, f"{plural}/{name}-waits", BIGGER[name])


@pytest.mark.parametrize("name", KINDS)
def test_members_name_no_controlling_owner(team: Tenant, name: str) -> None:
    """Kueue ignores objects that belong to a kind it manages."""
    owner = _owner(team, name)
    for manifest in (job("child", TEAM, pod_spec(gpus=8), suspend=False), pod("child", TEAM, pod_spec()), job_set("c")):
        manifest["metadata"]["ownerReferences"] = [owner]
        _assert_creation_rejected(team, "only a controller may name", manifest)


@pytest.mark.parametrize("name", KINDS)
def test_members_do_not_orphan_dependents(team: Tenant, name: str) -> None:
    _, api_version, plural = KINDS[name]
    place = f"{plural}/{name}-waits"
    words = "deleted with it"
    _assert_rejected(team, words, "DELETE", api_version, place, {"propagationPolicy": "Orphan"})
    _assert_rejected(team, words, "DELETE", api_version, place, {"orphanDependents": True})
    _assert_rejected(team, words, "DELETE", api_version, place, None, propagationPolicy="Orphan")
    finalizer = {"metadata": {"finalizers": ["orphan"]}}
    _assert_rejected(team, "remove the finalizer", "PATCH", api_version, place, finalizer)


def test_parts_of_a_job_set_stay_as_they_are(team: Tenant) -> None:
    place = "jobs/full-workers-0"
    _assert_rejected(team, "part of a larger workload", "PATCH", "batch/v1", place, {"spec": {"parallelism": 4}})
    _assert_rejected(team, "keeps its owner", "PATCH", "batch/v1", place, {"metadata": {"ownerReferences": None}})
    _assert_rejected(
        team,
        "only Kueue resumes | part of a larger workload",  # two policies refuse it, and the server names one
        "PATCH",
        "batch/v1",
        "jobs/jobset-waits-workers-0",
        {"spec": {"suspend": False}},
    )
    _assert_rejected(team, "deleted with it", "DELETE", "batch/v1", place, None)


def test_a_running_pod_stays_with_its_job(team: Tenant) -> None:
    """With other labels the job controller would let it go, and make another one."""
    name = _running(team, "full")[0]
    label = {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "mine"}}}
    _assert_rejected(team, "identify its owner", "PATCH", "v1", f"pods/{name}", label)
    _assert_rejected(team, "keeps its owner", "PATCH", "v1", f"pods/{name}", {"metadata": {"ownerReferences": None}})
    added = as_member(team, "PATCH", "v1", f"pods/{name}", {"metadata": {"labels": {"mine": "yes"}}})
    assert added["metadata"]["labels"]["mine"] == "yes"


def test_a_running_job_does_not_grow(team: Tenant) -> None:
    team.submit(job("small", TEAM, pod_spec()))
    wait_for("it runs", lambda: team.running("small") == 1)
    _assert_rejected(team, "run more pods", "PATCH", "batch/v1", "jobs/small", {"spec": {"parallelism": 3}})
    team.kube.delete("batch/v1", "Job", "small", TEAM)


def test_every_template_of_a_job_is_validated(team: Tenant) -> None:
    def with_pod(**more: Any) -> dict[str, Any]:
        made = job_set("wrong")
        made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"] = pod_spec(**more)
        return made

    _assert_creation_rejected(team, "GPU nodes are for GPU pods", with_pod(tolerate=True))
    _assert_creation_rejected(team, "may not name its node", with_pod(nodeName="train-1"))
    _assert_creation_rejected(team, "is not a tier of this team", with_pod(priorityClassName="system-cluster-critical"))
    elastic = job_set("elastic")
    elastic["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    _assert_creation_rejected(team, "elastic job grows", elastic)
    urgent = mpi_job("urgent")
    urgent["spec"]["runPolicy"] |= {"schedulingPolicy": {"priorityClass": "system-cluster-critical"}}
    _assert_creation_rejected(team, "is not a tier of this team", urgent)
    limited = mpi_job("limited")
    worker = limited["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    worker["spec"] = pod_spec()
    worker["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "6"}}
    _assert_creation_rejected(team, "set a request for every limit", limited)


def test_templates_are_bounded(team: Tenant) -> None:
    """The rules for pods hold for the templates of every kind: so that no half of a job is admitted."""

    def with_pod(name: str, spec: dict[str, Any]) -> dict[str, Any]:
        made = KINDS[name][0]("wrong")
        _template(made, name)["spec"] |= spec
        return made

    visible = {**container(gpus=8), "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    for name in ("jobset", "mpijob", "raycluster"):
        _assert_creation_rejected(
            team, "may take at most 600 s", with_pod(name, {"terminationGracePeriodSeconds": 86_400})
        )
        _assert_creation_rejected(
            team, "no node can hold this pod", with_pod(name, {"containers": [container(gpus=16)]})
        )
        _assert_creation_rejected(team, "requests for GPUs decide", with_pod(name, {"containers": [visible]}))
    marked = {"labels": {"kueue.x-k8s.io/prebuilt-workload-name": "another"}}
    for make, _, _ in KINDS.values():
        made = make("wrong")
        made["metadata"] |= marked
        _assert_creation_rejected(team, "only Kueue sets labels and annotations", made)


@pytest.mark.parametrize("policy", ["None", "Never"])
def test_workers_end_with_their_launcher(team: Tenant, policy: str) -> None:
    """Kueue gives the quota back when the launcher has ended: 16 GPUs on nodes, 0 counted."""
    made = mpi_job("kept")
    made["spec"]["runPolicy"] = {"cleanPodPolicy": policy}
    _assert_creation_rejected(team, "set runPolicy.cleanPodPolicy to Running", made)


def test_a_ray_cluster_ends_with_its_job(team: Tenant) -> None:
    """Kueue gives the quota back when the job has ended: 16 GPUs on nodes for a day, 0 counted."""
    made = ray_job("kept")
    made["spec"] |= {"activeDeadlineSeconds": 8, "ttlSecondsAfterFinished": 86_400}
    _assert_creation_rejected(team, "keeps its cluster for at most 600 s after it has finished", made)
    made["spec"] |= {"ttlSecondsAfterFinished": 0, "deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}}}
    made["spec"]["deletionStrategy"]["onFailure"] = {"policy": "DeleteNone"}
    _assert_creation_rejected(team, "remove deletionStrategy", made)


@pytest.mark.parametrize("name", ["jobset", "mpijob", "raycluster"])
def test_finalizers_and_foreign_affinity_are_refused_in_templates(team: Tenant, name: str) -> None:
    """KubeRay and others copy the finalizers of a template to their pods, where no controller removes them."""
    made = KINDS[name][0]("wrong")
    template = _template(made, name)
    template["metadata"] = {"finalizers": ["example.test/never"]}
    _assert_creation_rejected(team, "keeps the object and its namespace forever", made)
    del template["metadata"]
    term = {"labelSelector": {}, "topologyKey": "kubernetes.io/os", "namespaceSelector": {}}
    template["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    _assert_creation_rejected(team, "keep pods of other teams from nodes", made)


def _template(made: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a pod template of an object."""
    spec = made["spec"]
    template: dict[str, Any] = {
        "jobset": lambda: spec["replicatedJobs"][0]["template"]["spec"]["template"],
        "mpijob": lambda: spec["mpiReplicaSpecs"]["Worker"]["template"],
        "raycluster": lambda: spec["workerGroupSpecs"][0]["template"],
    }[name]()
    return template


def test_the_service_of_a_ray_head_has_no_finalizer(team: Tenant) -> None:
    service = {"metadata": {"name": "head", "finalizers": ["example.test/never"]}, "spec": {}}
    made = ray_cluster("wrong")
    made["spec"]["headGroupSpec"]["headService"] = service
    _assert_creation_rejected(team, "also in the Service of a head", made)
    inside = ray_job("wrong")
    inside["spec"]["rayClusterSpec"]["headGroupSpec"]["headService"] = service
    _assert_creation_rejected(team, "also in the Service of a head", inside)


def test_no_other_version_of_a_kind_passes(team: Tenant) -> None:
    """The API server converts requests for ray.io/v1alpha1 before policies and webhooks look at them."""
    older = {**ray_cluster("older"), "apiVersion": "ray.io/v1alpha1"}
    older["spec"]["workerGroupSpecs"][0]["template"]["spec"]["nodeName"] = "train-0"
    _assert_creation_rejected(team, "may not name its node", older)
    resumed = {"spec": {"suspend": False}}
    _assert_rejected(team, "only Kueue resumes", "PATCH", "ray.io/v1alpha1", "rayclusters/raycluster-waits", resumed)


def test_autoscaling_is_refused_when_a_ray_cluster_is_made(team: Tenant) -> None:
    made = ray_cluster("wrong")
    made["spec"]["enableInTreeAutoscaling"] = True
    _assert_creation_rejected(team, "elastic job", made)


@pytest.mark.parametrize(
    ("api_version", "place"),
    [
        ("ray.io/v1", "rayservices"),
        ("ray.io/v1", "raycronjobs"),
        ("ray.io/v1", "rayclusters/x/status"),
        ("ray.io/v1", "rayjobs/x/status"),
        ("kubeflow.org/v2beta1", "mpijobs/x/status"),
        ("jobset.x-k8s.io/v1alpha2", "jobsets/x/status"),
        ("trainer.kubeflow.org/v1alpha1", "trainjobs/x/status"),
    ],
)
def test_no_right_to_status_or_to_kinds_without_a_queue(team: Tenant, api_version: str, place: str) -> None:
    """A forged status would tell Kueue that work has ended, while its pods run on."""
    method = "PATCH" if "/" in place else "POST"
    _assert_rejected(team, "forbidden", method, api_version, place, {"status": {}})


def test_resource_amounts_may_be_numbers(team: Tenant) -> None:
    """YAML's `nvidia.com/gpu: 8` stays a number in objects of a CRD."""
    made = job_set("numbers")
    resources = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources["requests"]["nvidia.com/gpu"] = resources["limits"]["nvidia.com/gpu"] = 8
    stored = team.submit(made)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    assert int(stored["resources"]["requests"]["nvidia.com/gpu"]) == 8
    team.kube.delete(made["apiVersion"], "JobSet", "numbers", TEAM)


def test_a_runtime_of_the_namespace_is_refused(team: Tenant) -> None:
    """A TrainJob is counted by its runtime: one that a member can exchange would be counted small and run large."""
    own = train_job("own")
    own["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    words = refused(team, own)
    assert "must not change afterwards" in words or "not found" in words
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime"}
    made = {**runtime, "metadata": {"name": "own", "namespace": TEAM}, "spec": {"template": {"spec": {}}}}
    assert "forbidden" in refused(team, made)


def test_only_the_first_job_runs_after_all_attacks(team: Tenant) -> None:
    """After all of that: two nodes, sixteen GPUs, as guaranteed."""
    gpu = [entry for entry in team.pods() if "nvidia.com/gpu" in str(entry["spec"]["containers"][0]["resources"])]
    assert {entry["metadata"]["name"] for entry in gpu} == set(_running(team, "full"))
