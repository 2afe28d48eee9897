"""The admission policies of team namespaces: no way round the quota, no CPU pods on GPU nodes, no foreign tier.

Kueue's webhooks hold pods and jobs back; these policies (CEL, evaluated by the API server itself) refuse what would
pass by Kueue. Who may do what is told by user name: with service account credentials every built-in controller is
`system:serviceaccount:kube-system:NAME-controller`, without them all are `system:kube-controller-manager`.
"""

from dataclasses import dataclass

from mlcluster.plan import names
from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.plan.objects import make

ADMISSION_API = "admissionregistration.k8s.io/v1"
CONTROLLERS = (
    "(request.userInfo.username.startsWith('system:serviceaccount:kube-system:')"
    " || request.userInfo.username == 'system:kube-controller-manager'"
    f" || request.userInfo.username == '{names.KUEUE_USER}')"
)
KUEUE_ONLY = f"request.userInfo.username == '{names.KUEUE_USER}'"
JOB_CONTROLLER = (
    "request.userInfo.username in ['system:serviceaccount:kube-system:job-controller',"
    " 'system:kube-controller-manager']"
)
CLUSTER_ADMIN = "authorizer.group('').resource('namespaces').name(request.namespace).check('delete').allowed()"
SUBMIT = (
    "submit it through the team's queue: a Job, or a pod or Deployment that Kueue may hold back (see docs/submit.md)"
)

POD_SPEC = (
    "object.kind == 'Pod' ? object.spec : "
    "(object.kind == 'CronJob' ? object.spec.jobTemplate.spec.template.spec : object.spec.template.spec)"
)
POD_METADATA = (
    "object.kind == 'Pod' ? object.metadata : "
    "(object.kind == 'CronJob' ? (has(object.spec.jobTemplate.spec.template.metadata) ? "
    "object.spec.jobTemplate.spec.template.metadata : object.metadata) : "
    "(has(object.spec.template.metadata) ? object.spec.template.metadata : object.metadata))"
)
CONTAINERS = (
    "variables.podSpec.containers + (has(variables.podSpec.initContainers) ? variables.podSpec.initContainers : [])"
)
WORKLOAD_RULES: list[Manifest] = [
    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE", "UPDATE"]},
    {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "resources": ["jobs", "cronjobs"],
        "operations": ["CREATE", "UPDATE"],
    },
    {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments", "statefulsets", "daemonsets", "replicasets"],
        "operations": ["CREATE", "UPDATE"],
    },
]


@dataclass(frozen=True, slots=True)
class Policy:
    """One ValidatingAdmissionPolicy.

    Attributes:
        variables: name -> CEL, in order; later ones may use earlier ones.
        validations: (CEL that must hold, CEL or text of the message).
        match_conditions: name -> CEL; the policy looks only at requests for which all hold.
    """

    name: str
    rules: list[Manifest]
    variables: dict[str, str]
    validations: list[tuple[str, str]]
    match_conditions: dict[str, str]


def policy_objects(cluster: str, pools: tuple[Pool, ...]) -> list[PlanObject]:
    """Every policy with its binding to the team namespaces, which it needs to be refused at once (Deny)."""
    resources = sorted({pool.accelerator.resource for pool in pools if pool.accelerator is not None})
    made: list[PlanObject] = []
    for policy in _policies(resources):
        made += _objects(cluster, policy)
    return made


def _policies(resources: list[str]) -> list[Policy]:
    return [
        _queue_gate(resources),
        _gate_removal(),
        _owner_references(),
        _accelerator_toleration(resources),
        _tiers(),
        _team_boundaries(),
    ]


def _asks_accelerator(resources: list[str]) -> str:
    wanted = f"['nvidia.com/gpu', {', '.join(repr(name) for name in resources)}]" if resources else "['nvidia.com/gpu']"
    asks = (
        f"(has(c.resources) && has(c.resources.{{part}}) && c.resources.{{part}}.exists(r, r in {wanted}"
        " || r.startsWith('nvidia.com/mig-')))"
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
                "a team's pod may not name its node: the scheduler and the queue choose it; use a nodeSelector",
            ),
            (
                "!has(object.spec.resourceClaims)",
                "resource claims (DRA) are not counted by the queue: ask for the accelerator as a resource",
            ),
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
            )
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


def _objects(cluster: str, policy: Policy) -> list[PlanObject]:
    teams = {"matchExpressions": [{"key": names.TEAM, "operator": "Exists"}]}
    body: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": teams, "resourceRules": policy.rules},
        "validations": [_validation(expression, message) for expression, message in policy.validations],
    }
    if policy.variables:
        body["variables"] = [{"name": name, "expression": text} for name, text in policy.variables.items()]
    if policy.match_conditions:
        body["matchConditions"] = [{"name": name, "expression": text} for name, text in policy.match_conditions.items()]
    made = make(cluster, ADMISSION_API, "ValidatingAdmissionPolicy", policy.name, {"spec": body}, spec_path="teams")
    binding = {"spec": {"policyName": policy.name, "validationActions": ["Deny"]}}
    bound = make(
        cluster,
        ADMISSION_API,
        "ValidatingAdmissionPolicyBinding",
        policy.name,
        binding,
        needs=(made.id,),
        spec_path="teams",
    )
    return [made, bound]


def _validation(expression: str, message: str) -> Manifest:
    """A message that starts with a quote is CEL; it needs a plain one to fall back on."""
    if message.startswith("'"):
        return {"expression": expression, "messageExpression": message, "message": "not a tier of this team"}
    return {"expression": expression, "message": message}
