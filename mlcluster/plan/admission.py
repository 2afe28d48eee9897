"""The admission policies of team namespaces: no way round the quota, no CPU pods on GPU nodes, no foreign tier.

Kueue's webhooks hold pods and jobs back; these policies (CEL, evaluated by the API server itself) refuse what would
pass by Kueue. Who may do what is told by user name: with service account credentials every built-in controller is
`system:serviceaccount:kube-system:NAME-controller`, without them all are `system:kube-controller-manager`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from mlcluster.plan import job_kinds, names
from mlcluster.plan.access_policy import access_policy
from mlcluster.plan.counting import counted_as_used, fixed_replicas
from mlcluster.plan.device_access import device_access
from mlcluster.plan.finished_work import finished_work
from mlcluster.plan.held_work import GPU_NODES, NODE_NAME, RESOURCE_CLAIMS, held_work_policies
from mlcluster.plan.kueue_marks import kueue_marks
from mlcluster.plan.model import PlanObject, Pool
from mlcluster.plan.pod_affinity import pod_affinity
from mlcluster.plan.pod_networks import pod_networks
from mlcluster.plan.pod_size import pod_size
from mlcluster.plan.policy import (
    CLUSTER_ADMIN,
    CONTROLLERS,
    KUEUE_ONLY,
    POD_METADATA,
    POD_SPEC,
    TEAM_TIERS,
    WORKLOAD_RULES,
    Policy,
    asks_accelerator,
    policy_and_binding,
    tolerates_accelerator,
)
from mlcluster.plan.service_policy import service_policies
from mlcluster.plan.termination import copied_finalizers, disruption_budgets, finalizers, grace_periods
from mlcluster.plan.volcano_policy import volcano_policy

VARIABLE = "variables.podSpec"
JOB_CONTROLLER = (
    "request.userInfo.username in ['system:serviceaccount:kube-system:job-controller',"
    " 'system:kube-controller-manager']"
)
SUBMIT = (
    "submit it through the team's queue: a Job, or a pod or Deployment that Kueue may hold back (see docs/submit.md)"
)


def policy_objects(
    cluster: str,
    pools: tuple[Pool, ...],
    users: Mapping[str, str] = MappingProxyType({}),
    *,
    volcano: bool = False,
) -> list[PlanObject]:
    """Every policy with its binding to the team namespaces, which it needs to be refused at once (Deny).

    Args:
        users: component of the plan that makes things in teams' namespaces -> the user that its controller is
            (`job_kinds.controllers`).
        volcano: there are teams that Volcano queues.
    """
    resources = sorted({name for pool in pools if pool.accelerator is not None for name in pool.accelerator.shares})
    everywhere = [
        grace_periods(users),
        finalizers(),
        copied_finalizers(users),
        disruption_budgets(),
        pod_affinity(users),
        pod_networks(users),
        device_access(resources, users),
        pod_size(pools, users),
    ]
    policies = [*_policies(resources, users), *everywhere, *([volcano_policy()] if volcano else [])]
    return [made for policy in policies for made in policy_and_binding(cluster, policy, others=volcano)]


def _policies(resources: list[str], users: Mapping[str, str]) -> list[Policy]:
    return [
        _queue_gate(resources, users),
        _gate_removal(users),
        _owner_references(users),
        _adoption(users),
        _accelerator_toleration(resources),
        _tiers(),
        _team_boundaries(),
        kueue_marks(users),
        counted_as_used(),
        fixed_replicas(),
        *held_work_policies(resources, users),
        *finished_work(users),
        *service_policies(users),
        access_policy(),
    ]


def _queue_gate(resources: list[str], users: Mapping[str, str]) -> Policy:
    """Pods of a Job are held with their Job; those of an MPIJob or a RayCluster with it, which its controller tells."""
    gated = (
        f"has(object.spec.schedulingGates) && object.spec.schedulingGates.exists(g, g.name == '{names.ADMISSION_GATE}')"
    )
    makes_pods = job_kinds.acts_for_owner(users, only=("mpi-operator", "kuberay-operator"))
    return Policy(
        name="mlcluster-queue-gate",
        rules=[{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        variables={"podSpec": "object.spec", "asksAccelerator": asks_accelerator(resources, VARIABLE)},
        validations=[
            (
                "!has(object.spec.nodeName) || object.spec.nodeName == ''",
                NODE_NAME,
            ),
            ("!has(object.spec.resourceClaims)", RESOURCE_CLAIMS),
            (
                f"!variables.asksAccelerator || {gated} || ({JOB_CONTROLLER}) || {makes_pods}",
                f"a pod that asks for an accelerator must wait in the queue: {SUBMIT}",
            ),
        ],
        match_conditions={},
    )


def _gate_removal(users: Mapping[str, str]) -> Policy:
    kinds = job_kinds.kinds_of(users)
    resumes = f"{job_kinds.acts_for_owner(users, 'oldObject')} && {job_kinds.acts_for_owner(users)}"
    held = "has({0}.spec.schedulingGates) && {0}.spec.schedulingGates.exists(g, g.name.startsWith('kueue.x-k8s.io/'))"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["UPDATE"]}
    jobs = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["UPDATE"]}
    return Policy(
        name="mlcluster-gate-removal",
        rules=[pods, jobs, *job_kinds.rules(kinds, "UPDATE")],
        variables={},
        validations=[
            (
                f"object.kind != 'Pod' || !({held.format('oldObject')}) || ({held.format('object')})",
                "only Kueue takes its scheduling gate off, when the quota is there: wait for admission",
            ),
            (
                (
                    f"object.kind == 'Pod' || !{job_kinds.suspended('oldObject')} || {job_kinds.suspended('object')}"
                    f" || ({resumes})"
                ),
                "only Kueue resumes a job, when the quota is there: wait for admission",
            ),
        ],
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )


def _owner_references(users: Mapping[str, str]) -> Policy:
    """Kueue leaves what an owner manages alone, and looks for that owner by kind and name only."""
    controlled = (
        "has({0}.metadata.ownerReferences) && {0}.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
    )
    unchanged = (
        "request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && "
        "has(object.metadata.ownerReferences) && "
        "object.metadata.ownerReferences == oldObject.metadata.ownerReferences"
    )
    # `kubectl create job --from=cronjob/NAME`: Kueue does not manage CronJobs, and so manages the Job.
    by_hand = (
        "(object.kind == 'Job' && object.metadata.ownerReferences.all(o, !has(o.controller) || !o.controller"
        " || (o.kind == 'CronJob' && o.apiVersion == 'batch/v1')))"
    )
    return Policy(
        name="mlcluster-owner-references",
        rules=[*WORKLOAD_RULES, *job_kinds.rules(job_kinds.kinds_of(users), "CREATE", "UPDATE")],
        variables={},
        validations=[
            (
                f"!({controlled.format('object')}) || ({unchanged}) || {by_hand} || {job_kinds.acts_for_owner(users)}",
                f"only a controller may name a controlling owner; without one, {SUBMIT}",
            ),
            (
                f"request.operation == 'CREATE' || !({controlled.format('oldObject')}) || ({unchanged})",
                "what a controller made stays its own: the queue counts it with its owner",
            ),
        ],
        match_conditions={"not-a-controller": f"!{CONTROLLERS}"},
    )


def _adoption(users: Mapping[str, str]) -> Policy:
    """Return the policy that refuses a controlling owner to an object that exists, from every user and controller.

    Kueue counts a bare pod, or one of a ReplicaSet, by itself, and those of a StatefulSet with the set. A controller
    adopts what its selector matches (controller_ref_manager.go), and the pod would be counted as a part of its owner.
    """
    owners = "(has({0}.metadata.ownerReferences) ? {0}.metadata.ownerReferences.filter(o, {1}) : [])"
    controls = "has(o.controller) && o.controller"
    old = owners.format("oldObject", controls)
    return Policy(
        name="mlcluster-adoption",
        rules=[
            {**rule, "operations": ["UPDATE"]}
            for rule in (*WORKLOAD_RULES, *job_kinds.rules(job_kinds.kinds_of(users), "UPDATE"))
        ],
        variables={},
        validations=[
            (
                f"{owners.format('object', controls)}.all(n, {old}.exists(o, o.uid == n.uid))",
                (
                    "the queue has counted this with the owner that it was made with, and no controller may adopt it:"
                    " choose a selector that matches none of the objects that are there, or delete them"
                ),
            ),
        ],
        match_conditions={},
    )


def _accelerator_toleration(resources: list[str]) -> Policy:
    return Policy(
        name="mlcluster-gpu-nodes",
        scheduler="",
        rules=WORKLOAD_RULES,
        variables={
            "podSpec": POD_SPEC,
            "asksAccelerator": asks_accelerator(resources, VARIABLE),
            "toleratesAccelerator": tolerates_accelerator(VARIABLE),
        },
        validations=[
            (
                "!variables.toleratesAccelerator || variables.asksAccelerator",
                GPU_NODES,
            ),
            (
                "object.kind == 'Pod' || !has(variables.podSpec.nodeName) || variables.podSpec.nodeName == ''",
                NODE_NAME,
            ),
            ("object.kind == 'Pod' || !has(variables.podSpec.resourceClaims)", RESOURCE_CLAIMS),
        ],
        match_conditions={
            "not-daemon-pods": "request.userInfo.username != 'system:serviceaccount:kube-system:daemon-set-controller'"
        },
    )


def _tiers() -> Policy:
    label = f"'{names.WORKLOAD_PRIORITY}'"
    tier_list = " + ' is not a tier of this team; its tiers: ' + variables.tiers.join(', ')"
    return Policy(
        name="mlcluster-tiers",
        scheduler="",
        rules=WORKLOAD_RULES,
        variables={
            "podSpec": POD_SPEC,
            "podMetadata": POD_METADATA,
            "tiers": TEAM_TIERS,
        },
        validations=[
            (
                (
                    "!has(variables.podSpec.priorityClassName) || variables.podSpec.priorityClassName == ''"
                    " || variables.podSpec.priorityClassName in variables.tiers"
                ),
                f"'priorityClassName ' + variables.podSpec.priorityClassName{tier_list}",
            ),
            *(
                (
                    (
                        f"!has({place}.labels) || !({label} in {place}.labels)"
                        f" || {place}.labels[{label}] in variables.tiers"
                    ),
                    f"'{names.WORKLOAD_PRIORITY} ' + {place}.labels[{label}]{tier_list}",
                )
                for place in ("object.metadata", "variables.podMetadata")
            ),
        ],
        match_conditions={},
    )


def _team_boundaries() -> Policy:
    """A team's admins may write most things in their namespace, but not what draws its boundaries."""
    boundaries = [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["resourcequotas", "limitranges"]},
        {"apiGroups": ["networking.k8s.io"], "apiVersions": ["v1"], "resources": ["networkpolicies"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"], "resources": ["rolebindings"]},
        {"apiGroups": ["kueue.x-k8s.io"], "apiVersions": ["v1beta2"], "resources": ["localqueues"]},
    ]
    ours = (
        f"has({{0}}.metadata.labels) && '{names.MANAGED_BY}' in {{0}}.metadata.labels"
        f" && {{0}}.metadata.labels['{names.MANAGED_BY}'] == '{names.MANAGER}'"
    )
    opens = "object.kind == 'NetworkPolicy' && has(object.spec.policyTypes) && 'Egress' in object.spec.policyTypes"
    return Policy(
        name="mlcluster-team-boundaries",
        scheduler="",
        rules=[{**rule, "operations": ["CREATE", "UPDATE", "DELETE"]} for rule in boundaries],
        variables={},
        validations=[
            (
                f"oldObject == null || !({ours.format('oldObject')})",
                "this object is mlcluster's: change the spec and run `mlcluster up`",
            ),
            (
                f"object == null || !({opens})",
                "policies are added up, so egress is set in one place: teams[].network.egress in the spec",
            ),
        ],
        match_conditions={
            "not-a-cluster-admin": f"!({CLUSTER_ADMIN})",
            "not-a-controller": f"!{CONTROLLERS}",
        },
    )
