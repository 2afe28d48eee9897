"""LeaderWorkerSets in the queue: the real CRD and the real Kueue, with a simulated controller of the sets.

It creates the objects of LeaderWorkerSet v0.10.0: a StatefulSet of leaders that belongs to the set, and one of
workers that belongs to a leader's pod (pkg/controllers, pkg/webhooks/pod_webhook.go), as the controller's user.
"""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.kube.errors import ApiError
from mlcluster.plan import job_kinds
from tests.charts.contents import archive_of, files
from tests.charts.sources import needs_archives
from tests.lab.test_jobs import TEAM, Cluster, thing
from tests.lab.workloads import KUEUE, Tenant, create_as, pod, pod_spec
from tests.waiting import wait_for

pytestmark = [pytest.mark.lab, needs_archives]

API = "leaderworkerset.x-k8s.io/v1"
CRD = "leaderworkersets.leaderworkerset.x-k8s.io"
LABELS = "leaderworkerset.sigs.k8s.io"
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
OWNER = "only a controller may name a controlling owner | are set by the controller of LeaderWorkerSets"


def template(*, gpus: int = 8, **spec: Any) -> dict[str, Any]:
    return {"spec": {**pod_spec(gpus=gpus), "restartPolicy": "Always", **spec}}


def worker_set(name: str, *, replicas: int = 1, leader: Any = None, worker: Any = None) -> dict[str, Any]:
    """Return groups of a leader and one worker on nodes of eight GPUs, with the defaults of the webhook of the set."""
    templates = {"leaderTemplate": leader or template(), "workerTemplate": worker or template(), "size": 2}
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0}}
    spec = {"replicas": replicas, "leaderWorkerTemplate": templates, "rolloutStrategy": rollout}
    return thing(API, "LeaderWorkerSet", name, spec)


@pytest.fixture(scope="module")
def team(job_kinds: Cluster) -> Iterator[Tenant]:
    """Yield a team of a cluster whose Kueue knows the kind; the CRD comes from the chart."""
    kube = job_kinds.kube
    (text,) = [
        text for name, text in files(archive_of("lws", "0.10.0")) if name.endswith(f"_{CRD.partition('.')[0]}.yaml")
    ]
    kube.create(yaml.safe_load(text))
    try:
        limits = cycle(("499", "500"))
        wait_for("the limit of sets", lambda: _is_counted(job_kinds, limits), pause=1)
        wait_for("the kind", lambda: _is_served(job_kinds))
        yield job_kinds.team
    finally:
        for found in kube.list(API, "LeaderWorkerSet", TEAM):
            kube.delete(API, "LeaderWorkerSet", found["metadata"]["name"], TEAM)
        wait_for("their end", lambda: not kube.list(API, "LeaderWorkerSet", TEAM))
        wait_for("the end of pods", lambda: not job_kinds.team.pods() and not kube.list(KUEUE, "Workload", TEAM))
        kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", CRD)


def _is_counted(cluster: Cluster, limits: Iterator[str]) -> bool:
    """Return whether the quota counts sets: its controller looks when a limit changes, else every five minutes."""
    key = "count/leaderworkersets.leaderworkerset.x-k8s.io"
    quota = cluster.kube.get_object("v1", "ResourceQuota", "team", TEAM) or {}
    if key in (quota["status"].get("used") or {}) and quota["spec"]["hard"][key] == "500":
        return True
    cluster.kube.patch("v1", "ResourceQuota", "team", {"spec": {"hard": {key: next(limits)}}}, TEAM)
    return False


def _is_served(cluster: Cluster) -> bool:
    """Return whether Kueue's webhook marks a set: it waits for the CRD before it serves the kind."""
    try:
        made = cluster.kube.create(worker_set("probe"), dry_run=True)
    except ApiError:
        return False
    return PARENT in _annotations(made, "workerTemplate")


def _annotations(made: dict[str, Any], part: str) -> dict[str, str]:
    metadata = made["spec"]["leaderWorkerTemplate"][part].get("metadata") or {}
    return metadata.get("annotations") or {}


def assert_rejected(team: Tenant, words: str, manifest: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        team.submit(manifest)
    assert any(each in caught.value.message for each in words.split(" | ")), caught.value.message


def submitted(team: Tenant, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield team.submit(manifest)
    team.kube.delete(API, "LeaderWorkerSet", manifest["metadata"]["name"], TEAM)


@pytest.mark.parametrize("part", ["leader", "worker"])
def test_both_templates_are_checked(team: Tenant, part: str) -> None:
    wrong: dict[str, tuple[dict[str, Any], str]] = {
        "node": (template(nodeName="train-0"), "may not name its node"),
        "taint": (template(gpus=0, tolerations=[{"operator": "Exists"}]), "GPU nodes are for GPU pods"),
        "claims": (template(resourceClaims=[{"name": "gpu"}]), "resource claims (DRA) are not counted"),
        "tier": (template(priorityClassName="system-node-critical"), "is not a tier of this team"),
        "size": (template(gpus=9), "a node holds"),
    }
    for name, (bad, words) in wrong.items():
        leader, worker = (bad, None) if part == "leader" else (None, bad)
        assert_rejected(team, words, worker_set(f"{part}-{name}", leader=leader, worker=worker))


def test_the_example_is_admitted(team: Tenant) -> None:
    """Against the CRD, the policies and the quota; nothing is stored."""
    path = Path(__file__).parents[2] / "examples" / "serving" / "leader-worker-set.yaml"
    manifest, *_ = yaml.safe_load_all(path.read_text("utf-8"))
    manifest["metadata"]["namespace"] = TEAM
    groups = [team.group, "system:authenticated"]
    made = team.kube.create(manifest, as_user="member", as_groups=groups, dry_run=True)
    assert _annotations(made, "workerTemplate")[PARENT] == "leaderworkerset.x-k8s.io/leaderworkerset"


def test_a_member_does_not_annotate_a_template_for_another_parent(team: Tenant) -> None:
    bad = {**template(), "metadata": {"annotations": {PARENT: "deployment"}}}
    made = team.submit(worker_set("marked", worker=bad))
    team.kube.delete(API, "LeaderWorkerSet", "marked", TEAM)
    assert _annotations(made, "workerTemplate")[PARENT] == "leaderworkerset.x-k8s.io/leaderworkerset"


def test_no_pod_joins_a_group_by_a_label(team: Tenant) -> None:
    labels = {f"{LABELS}/name": "other", f"{LABELS}/group-index": "0"}
    assert_rejected(
        team, "are set by the controller of LeaderWorkerSets", pod("joins", TEAM, pod_spec(), labels=labels)
    )
    made = stateful_set("joins", labels, {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}, template())
    del made["metadata"]["ownerReferences"]
    assert_rejected(team, "are set by the controller of LeaderWorkerSets", made)


@pytest.fixture(scope="module")
def running(team: Tenant) -> Iterator[dict[str, Any]]:
    """Yield a set of one group, which uses up the guarantee."""
    yield from submitted(team, worker_set("llm"))


def workloads(team: Tenant, name: str) -> list[dict[str, Any]]:
    return [
        entry
        for entry in team.kube.list(KUEUE, "Workload", TEAM)
        if any(owner["name"] == name for owner in entry["metadata"].get("ownerReferences") or [])
    ]


def test_only_the_number_of_groups_of_a_counted_set_changes(team: Tenant, running: dict[str, Any]) -> None:
    def change(spec: dict[str, Any]) -> None:
        path = f"/apis/{API}/namespaces/{TEAM}/leaderworkersets/llm"
        headers = [("Impersonate-User", "member"), ("Impersonate-Group", team.group)]
        team.kube.request("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json", headers=headers)

    for spec in (
        {"leaderWorkerTemplate": {"size": 3}},
        {"leaderWorkerTemplate": {"restartPolicy": "None"}},
        {"startupPolicy": "LeaderReady"},
    ):
        with pytest.raises(ApiError, match="does not change"):
            change(spec)
    change({"replicas": 2})
    wait_for("a workload for each group", lambda: len(workloads(team, "llm")) == 2)
    counts = {tuple(podset["count"] for podset in entry["spec"]["podSets"]) for entry in workloads(team, "llm")}
    assert counts == {(1, 1)}
    change({"replicas": 1})
    wait_for("one workload", lambda: len(workloads(team, "llm")) == 1)


def test_members_do_not_orphan_dependents(team: Tenant, running: dict[str, Any]) -> None:
    path = f"/apis/{API}/namespaces/{TEAM}/leaderworkersets/llm"
    headers = [("Impersonate-User", "member"), ("Impersonate-Group", team.group)]
    with pytest.raises(ApiError, match="deleted with it"):
        team.kube.request("DELETE", path, {"propagationPolicy": "Orphan"}, headers=headers)


def stateful_set(
    name: str, labels: dict[str, str], owner: dict[str, Any], made_of: dict[str, Any], first: int = 0
) -> dict[str, Any]:
    marks = {**(made_of.get("metadata") or {}).get("annotations", {})}
    if labels.get(f"{LABELS}/worker-index") != "0":
        marks[f"{LABELS}/leader-name"] = owner["name"]
    spec = {
        "replicas": 1,
        "serviceName": "llm",
        "podManagementPolicy": "Parallel",
        "ordinals": {"start": first},
        "selector": {"matchLabels": labels},
        "template": {**made_of, "metadata": {"labels": labels, "annotations": marks}},
    }
    made = thing("apps/v1", "StatefulSet", name, spec)
    made["metadata"] |= {"labels": labels, "ownerReferences": [{**owner, "controller": True}]}
    return made


def owner_of(found: dict[str, Any], kind: str, api_version: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, **{key: found["metadata"][key] for key in ("name", "uid")}}


def test_a_group_runs_when_all_of_it_has_quota(team: Tenant, running: dict[str, Any]) -> None:
    user, groups = job_kinds.USERS["lws"], ["system:masters"]
    templates = running["spec"]["leaderWorkerTemplate"]
    labels = {f"{LABELS}/name": "llm", f"{LABELS}/group-index": "0"}
    owner = owner_of(running, "LeaderWorkerSet", API)
    leaders = stateful_set("llm", {**labels, f"{LABELS}/worker-index": "0"}, owner, templates["leaderTemplate"])
    assert_rejected(team, OWNER, leaders)
    create_as(team.kube, leaders, user, groups)
    wait_for("the leader", lambda: team.pod("llm-0"))
    leader = owner_of(team.pod("llm-0") or {}, "Pod", "v1")
    rest = {**labels, f"{LABELS}/worker-index": "1"}
    workers = stateful_set("llm-0", rest, leader, templates["workerTemplate"], first=1)
    assert_rejected(team, OWNER, workers)
    create_as(team.kube, workers, user, groups)
    wait_for("both pods", lambda: _running(team) == {"llm-0", "llm-0-1"})
    (workload,) = workloads(team, "llm")
    assert [podset["name"] for podset in workload["spec"]["podSets"]] == ["leader", "worker"]


def _running(team: Tenant) -> set[str]:
    return {entry["metadata"]["name"] for entry in team.pods() if (entry.get("status") or {}).get("phase") == "Running"}
