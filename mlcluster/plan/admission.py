"""The admission policies of team namespaces: no way round the quota, no CPU pods on GPU nodes, no foreign tier.

Kueue's webhooks hold pods and jobs back; these policies (CEL, evaluated by the API server itself) refuse what would
pass by Kueue. Who may do what is told by user name: with service account credentials every built-in controller is
`system:serviceaccount:kube-system:NAME-controller`, without them all are `system:kube-controller-manager`.
"""

from mlcluster.plan import names
from mlcluster.plan.counting import counted_as_used, kueue_marks
from mlcluster.plan.model import PlanObject, Pool
from mlcluster.plan.policy import (
    CONTAINERS,
    CONTROLLERS,
    KUEUE_ONLY,
    POD_METADATA,
    POD_SPEC,
    WORKLOAD_RULES,
    Policy,
    policy_and_binding,
)

JOB_CONTROLLER = (
    "request.userInfo.username in ['system:serviceaccount:kube-system:job-controller',"
    " 'system:kube-controller-manager']"
)
CLUSTER_ADMIN = "authorizer.group('').resource('namespaces').name(request.namespace).check('delete').allowed()"
SUBMIT = (
    "submit it through the team's queue: a Job, or a pod or Deployment that Kueue may hold back (see docs/submit.md)"
)


NODE_NAME = "a team's pod may not name its node: the scheduler and the queue choose it; use a nodeSelector"
RESOURCE_CLAIMS = "resource claims (DRA) are not counted by the queue: ask for the accelerator as a resource"


def policy_objects(cluster: str, pools: tuple[Pool, ...]) -> list[PlanObject]:
    """Every policy with its binding to the team namespaces, which it needs to be refused at once (Deny)."""
    resources = sorted({pool.accelerator.resource for pool in pools if pool.accelerator is not None})
    return [made for policy in _policies(resources) for made in policy_and_binding(cluster, policy)]


def _policies(resources: list[str]) -> list[Policy]:
    return [
        _queue_gate(resources),
        _gate_removal(),
        _owner_references(),
        _accelerator_toleration(resources),
        _tiers(),
        _team_boundaries(),
        kueue_marks(),
        counted_as_used(),
    ]


def _asks_accelerator(resources: list[str]) -> str:
    wanted = f"['nvidia.com/gpu', {', '.join(repr(name) for name in resources)}]" if resources else "['nvidia.com/gpu']"
    asks = (
        f"(has(c.resources) && has(c.resources.{{part}}) && c.resources.{{part}}.exists(r, (r in {wanted}"
        " || r.startsWith('nvidia.com/mig-')) && quantity(c.resources.{part}[r]).isGreaterThan(quantity('0'))))"
    )
    return (
        f"({CONTAINERS}).exists(c, {asks.format(part='requests')} || {asks.format(part='limits')})"
        " || has(variables.podSpec.resourceClaims)"
    )


def _queue_gate(resources: list[str]) -> Policy:
    gated = (
        f"has(object.spec.schedulingGates) && object.spec.schedulingGates.exists(g, g.name == '{names.ADMISSION_GATE}')"
    )
    return Policy(
        name="mlcluster-queue-gate",
        rules=[{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        variables={"podSpec": "object.spec", "asksAccelerator": _asks_accelerator(resources)},
        validations=[
            (
                "!has(object.spec.nodeName) || object.spec.nodeName == ''",
                NODE_NAME,
            ),
            ("!has(object.spec.resourceClaims)", RESOURCE_CLAIMS),
            (
                f"!variables.asksAccelerator || {gated} || ({JOB_CONTROLLER})",
                f"a pod that asks for an accelerator must wait in the queue: {SUBMIT}",
            ),
        ],
        match_conditions={},
    )


def _gate_removal() -> Policy:
    held = "has({0}.spec.schedulingGates) && {0}.spec.schedulingGates.exists(g, g.name.startsWith('kueue.x-k8s.io/'))"
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["UPDATE"]}
    jobs = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["UPDATE"]}
    return Policy(
        name="mlcluster-gate-removal",
        rules=[pods, jobs],
        variables={},
        validations=[
            (
                f"object.kind != 'Pod' || !({held.format('oldObject')}) || ({held.format('object')})",
                "only Kueue takes its scheduling gate off, when the quota is there: wait for admission",
            ),
            (
                (
                    "object.kind != 'Job' || !has(oldObject.spec.suspend) || !oldObject.spec.suspend"
                    " || (has(object.spec.suspend) && object.spec.suspend)"
                ),
                "only Kueue resumes a job, when the quota is there: wait for admission",
            ),
        ],
        match_conditions={"not-kueue": f"!({KUEUE_ONLY})"},
    )


def _owner_references() -> Policy:
    """Kueue leaves what an owner manages alone, and looks for that owner by kind and name only."""
    controlled = (
        "has(object.metadata.ownerReferences) && "
        "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
    )
    unchanged = (
        "request.operation == 'UPDATE' && has(oldObject.metadata.ownerReferences) && "
        "object.metadata.ownerReferences == oldObject.metadata.ownerReferences"
    )
    return Policy(
        name="mlcluster-owner-references",
        rules=WORKLOAD_RULES,
        variables={},
        validations=[
            (
                f"!({controlled}) || ({unchanged})",
                f"only a controller may name a controlling owner; without one, {SUBMIT}",
            )
        ],
        match_conditions={"not-a-controller": f"!{CONTROLLERS}"},
    )


def _accelerator_toleration(resources: list[str]) -> Policy:
    tolerates = (
        "has(variables.podSpec.tolerations) && variables.podSpec.tolerations.exists(t, "
        f"(has(t.key) && t.key == '{names.ACCELERATOR_TAINT}') || "
        "((!has(t.key) || t.key == '') && has(t.operator) && t.operator == 'Exists'))"
    )
    return Policy(
        name="mlcluster-gpu-nodes",
        rules=WORKLOAD_RULES,
        variables={
            "podSpec": POD_SPEC,
            "asksAccelerator": _asks_accelerator(resources),
            "toleratesAccelerator": tolerates,
        },
        validations=[
            (
                "!variables.toleratesAccelerator || variables.asksAccelerator",
                (
                    f"GPU nodes are for GPU pods: tolerating {names.ACCELERATOR_TAINT}, or everything, "
                    "needs a request for an accelerator; drop the toleration"
                ),
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
    annotation = f"namespaceObject.metadata.annotations['{names.TIERS}']"
    label = f"'{names.WORKLOAD_PRIORITY}'"
    tier_list = " + ' is not a tier of this team; its tiers: ' + variables.tiers.join(', ')"
    return Policy(
        name="mlcluster-tiers",
        rules=WORKLOAD_RULES,
        variables={
            "podSpec": POD_SPEC,
            "podMetadata": POD_METADATA,
            "tiers": (
                f"has(namespaceObject.metadata.annotations) && '{names.TIERS}' in namespaceObject.metadata.annotations"
                f" ? {annotation}.split(',') : []"
            ),
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
