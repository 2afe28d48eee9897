"""Kinds that a controller turns into Jobs: users of controllers, and policies on their objects."""

import pytest

from mlcluster.plan import job_kinds
from mlcluster.plan.model import Manifest
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, manifests, planned
from tests.unit.plan.test_admission import expressions, unbalanced

pytestmark = pytest.mark.unit
ALL: Data = {"trainer": {}, "mpiOperator": {}, "kubeRay": {}, "kserve": {}, "keda": {}, "leaderWorkerSet": {}}
NEW = {"mlcluster-held-work", "mlcluster-as-submitted", "mlcluster-stays-together", "mlcluster-job-templates"}


@pytest.fixture(scope="module")
def policies() -> dict[str, Manifest]:
    """Return the policies of a cluster with every kind of job."""
    return manifests(planned(SYSTEM, TRAIN, target=EXISTING, components=ALL), "ValidatingAdmissionPolicy")


def matched(policy: Manifest) -> set[str]:
    """Return the resources that a policy matches."""
    return {resource for rule in policy["spec"]["matchConstraints"]["resourceRules"] for resource in rule["resources"]}


def test_every_kind_is_queued_kept_whole_and_validated(policies: dict[str, Manifest]) -> None:
    kinds = {"jobsets", "trainjobs", "mpijobs", "rayjobs", "rayclusters"}
    for name in (*NEW, "mlcluster-gate-removal", "mlcluster-owner-references"):
        assert kinds <= matched(policies[name]), name


def test_a_set_of_gated_pods_is_admitted_with_the_label_of_kueue(policies: dict[str, Manifest]) -> None:
    """Kueue gates the pods of a LeaderWorkerSet, one Workload for each group, and the set has no field `suspend`."""
    of_sets = {name for name, policy in policies.items() if "leaderworkersets" in matched(policy)}
    assert of_sets >= NEW | {"mlcluster-pod-size", "mlcluster-kueue-marks"}
    (held,) = [cel for cel in expressions(policies["mlcluster-held-work"]) if "pod-suspending-parent" in cel]
    assert held.startswith("(object.kind in ['LeaderWorkerSet'] ? ")


def test_a_set_grows_by_whole_groups_and_by_nothing_else(policies: dict[str, Manifest]) -> None:
    kept = " ".join(expressions(policies["mlcluster-as-submitted"]))
    assert "object.kind == 'LeaderWorkerSet' && k == 'replicas'" in kept


def test_both_templates_of_a_set_are_validated(policies: dict[str, Manifest]) -> None:
    templates = " ".join(expressions(policies["mlcluster-job-templates"]))
    for part in ("leaderTemplate", "workerTemplate"):
        assert f"leaderWorkerTemplate.{part}" in templates


def test_the_controller_of_sets_makes_stateful_sets_for_the_set_and_for_its_leaders(
    policies: dict[str, Manifest],
) -> None:
    """The StatefulSet of a group's workers belongs to the leader's pod, whose API group has no name."""
    owners = " ".join(expressions(policies["mlcluster-owner-references"]))
    user = job_kinds.USERS["lws"]
    assert f"['{user}', 'leaderworkerset.x-k8s.io/', 'LeaderWorkerSet']" in owners
    assert f"['{user}', 'v1', 'Pod']" in owners


def test_no_pod_joins_a_group_by_a_label(policies: dict[str, Manifest]) -> None:
    """leaderworkerset_reconciler.go of Kueue 0.18.3, getPods: by the label of the set alone."""
    marks = list(expressions(policies["mlcluster-kueue-marks"]))
    assert sum("k.startsWith('leaderworkerset.sigs.k8s.io/')" in cel for cel in marks) == 2
    without = manifests(planned(SYSTEM, TRAIN, target=EXISTING), "ValidatingAdmissionPolicy")["mlcluster-kueue-marks"]
    assert not [cel for cel in expressions(without) if "leaderworkerset" in cel]


def test_marks_of_kueues_webhook_on_a_set_pass(policies: dict[str, Manifest]) -> None:
    """jobs/leaderworkerset/leaderworkerset_webhook.go of Kueue 0.18.3, podTemplateSpecDefault."""
    marks = " ".join(expressions(policies["mlcluster-kueue-marks"]))
    for key, value in (
        ("pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset"),
        ("pod-group-serving", "true"),
        ("pod-index-offset", "1"),
    ):
        assert f"(object.kind == 'LeaderWorkerSet' && k == 'kueue.x-k8s.io/{key}' && m[k] == '{value}')" in marks


@pytest.mark.parametrize("name", sorted(NEW))
def test_expressions_are_whole(name: str, policies: dict[str, Manifest]) -> None:
    for cel in expressions(policies[name]):
        assert not unbalanced(cel), cel


def test_only_components_of_the_plan_are_trusted() -> None:
    plan = planned(SYSTEM, target=EXISTING, components={"jobSet": {}})
    text = " ".join(
        cel for policy in manifests(plan, "ValidatingAdmissionPolicy").values() for cel in expressions(policy)
    )
    assert job_kinds.USERS["jobset"] in text
    for other in set(job_kinds.USERS) - {"jobset"}:
        assert job_kinds.USERS[other] not in text


def test_a_controller_acts_only_for_its_own_kind() -> None:
    components = {"jobSet": {"install": False, "serviceAccount": "batch/the-one"}}
    plan = planned(SYSTEM, target=EXISTING, components=components)
    (cel,) = [
        cel
        for cel in expressions(manifests(plan, "ValidatingAdmissionPolicy")["mlcluster-owner-references"])
        if "the-one" in cel
    ]
    assert "['system:serviceaccount:batch:the-one', 'jobset.x-k8s.io/', 'JobSet']" in cel
    assert cel.count("the-one") == 1


def test_without_job_kinds_no_component_acts_for_an_owner() -> None:
    bare = manifests(planned(SYSTEM, target=EXISTING), "ValidatingAdmissionPolicy")
    text = [cel for name in ("mlcluster-owner-references", "mlcluster-held-work") for cel in expressions(bare[name])]
    assert sum(cel.count("|| false") for cel in text) == 3


def test_pods_without_a_gate_come_from_two_controllers_only(policies: dict[str, Manifest]) -> None:
    """JobSet's and Trainer's pods are made by Kubernetes' own job controller, of Jobs that were held back."""
    gate = " ".join(expressions(policies["mlcluster-queue-gate"]))
    assert job_kinds.USERS["mpi-operator"] in gate
    assert job_kinds.USERS["kuberay-operator"] in gate
    assert job_kinds.USERS["jobset"] not in gate
    assert job_kinds.USERS["kserve"] not in gate


def test_an_existing_controller_may_have_another_service_account() -> None:
    components = {"jobSet": {"install": False, "serviceAccount": "batch/jobset-controller-manager"}}
    plan = planned(SYSTEM, target=EXISTING, components=components)
    owners = " ".join(expressions(manifests(plan, "ValidatingAdmissionPolicy")["mlcluster-owner-references"]))
    assert "system:serviceaccount:batch:jobset-controller-manager" in owners


def test_user_names_fit_into_a_certificate() -> None:
    """The lab's controllers are known by client certificates, whose common name has 64 characters."""
    assert all(len(user) <= 64 for user in job_kinds.USERS.values())


def test_teams_of_volcano_are_bounded_by_their_quota_and_their_queue() -> None:
    teams = [{"name": "research", "guarantee": {"train": {"nodes": 2}}, "scheduler": "volcano"}, {"name": "products"}]
    plan = planned(SYSTEM, TRAIN, target=EXISTING, components={"volcano": {}}, teams=teams)
    (volcano,) = manifests(plan, "Queue").values()
    assert volcano["spec"]["capability"]["nvidia.com/gpu"] == "16"
    assert manifests(plan, "ResourceQuota")["research/team"]["spec"]["hard"]["requests.nvidia.com/gpu"] == "16"
    assert set(manifests(plan, "ClusterQueue")) == set(manifests(plan, "LocalQueue")) ^ {"products/default", "products"}
    selectors = {
        name: policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"][-1]
        for name, policy in manifests(plan, "ValidatingAdmissionPolicy").items()
    }
    assert selectors["mlcluster-queue-gate"]["operator"] == "DoesNotExist"
    assert selectors["mlcluster-volcano"] == {
        "key": "mlcluster.dev/scheduler", "operator": "In", "values": ["volcano"],
    }  # fmt: skip
    assert selectors["mlcluster-tiers"] == {"key": "mlcluster.dev/team", "operator": "Exists"}


def test_pods_of_volcanos_own_jobs_pass_and_no_mark_leads_to_another_queue() -> None:
    """Volcano's controller marks the pods of a job with its own label and annotation, and it reads these first."""
    teams = [{"name": "research", "guarantee": {"train": {"nodes": 2}}, "scheduler": "volcano"}]
    plan = planned(SYSTEM, TRAIN, target=EXISTING, components={"volcano": {}}, teams=teams)
    policy = manifests(plan, "ValidatingAdmissionPolicy")["mlcluster-volcano"]
    found = list(expressions(policy))
    (own,) = [cel for cel in found if "scheduling.volcano.sh/queue-name'" in cel]
    for part, key in (
        ("labels", "volcano.sh/queue-name"),
        ("annotations", "volcano.sh/queue-name"),
        ("annotations", "scheduling.volcano.sh/queue-name"),
    ):
        there = f"(has(object.metadata.{part}) && '{key}' in object.metadata.{part})"
        assert own.count(there) == 2
        assert f"(!{there} || object.metadata.{part}['{key}'] == namespaceObject" in own
    assert any("priorityClassName in variables.tiers" in cel for cel in found)
    assert not any(unbalanced(cel) for cel in found)
