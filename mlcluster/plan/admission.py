"""The admission policies of team namespaces: no way round the quota, no CPU pods on GPU nodes, no foreign tier.

Kueue's webhooks keep pods and jobs pending; these policies (CEL, which the API server evaluates itself) reject requests
that would bypass Kueue. They recognize controllers by user name: with service account credentials every built-in
controller is `system:serviceaccount:kube-system:NAME-controller`, without them all are
`system:kube-controller-manager`.
"""

from collections.abc import Mapping
from types import MappingProxyType

from mlcluster.plan import names
from mlcluster.plan.access_policy import access_policy
from mlcluster.plan.counting import counted_as_used, fixed_replicas
from mlcluster.plan.device_access import device_access
from mlcluster.plan.finished_work import finished_work
from mlcluster.plan.held_work import GPU_NODES, NODE_NAME, RESOURCE_CLAIMS, held_work_policies
from mlcluster.plan.kueue_marks import kueue_marks
from mlcluster.plan.model import PlanObject, Pool
from mlcluster.plan.objects import RBAC_GROUP
from mlcluster.plan.owner_references import adoption, owner_references
from mlcluster.plan.pod_affinity import pod_affinity
from mlcluster.plan.pod_networks import pod_networks
from mlcluster.plan.pod_size import pod_size
from mlcluster.plan.policy import (
    CLUSTER_ADMIN,
    CONTROLLERS,
    POD_METADATA,
    POD_SPEC,
    TEAM_TIERS,
    WORKLOAD_RULES,
    Policy,
    asks_accelerator,
    policy_and_binding,
    tolerates_accelerator,
)
from mlcluster.plan.queue_gates import gate_removal, queue_gate
from mlcluster.plan.service_policy import service_policies
from mlcluster.plan.termination import copied_finalizers, disruption_budgets, finalizers, grace_periods
from mlcluster.plan.volcano_policy import volcano_policy

VARIABLE = "variables.podSpec"


def policy_objects(
    cluster: str,
    pools: tuple[Pool, ...],
    users: Mapping[str, str] = MappingProxyType({}),
    *,
    volcano: bool = False,
) -> list[PlanObject]:
    """Return every policy and its binding to the team namespaces, which denies the request.

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
        queue_gate(resources, users),
        gate_removal(users),
        owner_references(users),
        adoption(users),
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
        {"apiGroups": [RBAC_GROUP], "apiVersions": ["v1"], "resources": ["rolebindings"]},
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
