"""What a ValidatingAdmissionPolicy is made of: the parts of CEL that several policies share, and its objects."""

from dataclasses import dataclass

from mlcluster.plan import names
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make
from mlcluster.spec.teams import GRACE_PERIOD_SECONDS

ADMISSION_API = "admissionregistration.k8s.io/v1"
CONTROLLERS = (
    "(request.userInfo.username.startsWith('system:serviceaccount:kube-system:')"
    " || request.userInfo.username == 'system:kube-controller-manager'"
    f" || request.userInfo.username == '{names.KUEUE_USER}')"
)
CLUSTER_ADMIN = "authorizer.group('').resource('namespaces').name(request.namespace).check('delete').allowed()"
KUEUE_ONLY = f"request.userInfo.username == '{names.KUEUE_USER}'"

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


def of_namespace(annotation: str, default: str, *, read: str = "{0}.split(',')") -> str:
    """CEL: what an annotation of the request's namespace holds.

    Args:
        default: CEL for a namespace without the annotation.
        read: CEL of the value, {0} is the text of the annotation. Default: a list of what commas separate.
    """
    annotations = "namespaceObject.metadata.annotations"
    value = read.format(f"{annotations}['{annotation}']")
    return f"has({annotations}) && '{annotation}' in {annotations} ? {value} : {default}"


def may_everywhere(verb: str, group: str, resource: str, *, subresource: str = "") -> str:
    """CEL: the user of the request has a right in every namespace, as controllers and cluster admins do.

    Args:
        group: CEL of the API group.
        resource: CEL of the resource.
    """
    part = f".subresource('{subresource}')" if subresource else ""
    return f"authorizer.group({group}).resource({resource}){part}.check('{verb}').allowed()"


TEAM_TIERS = of_namespace(names.TIERS, "[]")
"""CEL: the tiers of the team whose namespace it is; for a variable `tiers`."""

MOST_SECONDS = of_namespace(names.GRACE_PERIOD, str(GRACE_PERIOD_SECONDS), read="int({0})")
"""CEL: the longest grace period of the team whose namespace it is; for a variable `most`."""

NO_TIER = "'the priority is not a tier of this team; its tiers: ' + variables.tiers.join(', ')"


def containers_of(spec: str) -> str:
    """CEL: every container of a pod's spec."""
    return f"{spec}.containers + (has({spec}.initContainers) ? {spec}.initContainers : [])"


CONTAINERS = containers_of("variables.podSpec")
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
    {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["replicationcontrollers"],
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
        scheduler: in whose teams' namespaces it holds; "" in those of every team.
    """

    name: str
    rules: list[Manifest]
    variables: dict[str, str]
    validations: list[tuple[str, str]]
    match_conditions: dict[str, str]
    scheduler: str = "kueue"


def asks_accelerator(resources: list[str], spec: str) -> str:
    """CEL: a pod's spec asks for an accelerator, one way or another.

    Args:
        resources: accelerators by the names that pods ask for, beside nvidia.com/gpu and MIG instances.
        spec: CEL of the pod's spec.
    """
    wanted = ", ".join(repr(name) for name in dict.fromkeys(["nvidia.com/gpu", *resources]))
    asks = (
        f"(has(c.resources) && has(c.resources.{{part}}) && c.resources.{{part}}.exists(r, (r in [{wanted}]"
        " || r.startsWith('nvidia.com/mig-') || r.startsWith('deviceclass.resource.kubernetes.io/'))"
        " && quantity(string(c.resources.{part}[r])).isGreaterThan(quantity('0'))))"
    )
    return (
        f"(({containers_of(spec)}).exists(c, {asks.format(part='requests')} || {asks.format(part='limits')})"
        f" || has({spec}.resourceClaims))"
    )


def tolerates_accelerator(spec: str) -> str:
    """CEL: a pod's spec tolerates the accelerator taint, or everything."""
    return (
        f"has({spec}.tolerations) && {spec}.tolerations.exists(e, "
        f"(has(e.key) && e.key == '{names.ACCELERATOR_TAINT}') || "
        "((!has(e.key) || e.key == '') && has(e.operator) && e.operator == 'Exists'))"
    )


def policy_and_binding(cluster: str, policy: Policy, *, others: bool = False) -> list[PlanObject]:
    """The policy and its binding; it holds in team namespaces, and refuses too when it cannot be evaluated.

    Args:
        others: there are teams that another scheduler queues, by the label of their namespace.
    """
    expressions: list[Manifest] = [{"key": names.TEAM, "operator": "Exists"}]
    if policy.scheduler == "kueue" and others:
        expressions.append({"key": names.SCHEDULER, "operator": "DoesNotExist"})
    elif policy.scheduler not in {"", "kueue"}:
        expressions.append({"key": names.SCHEDULER, "operator": "In", "values": [policy.scheduler]})
    teams = {"matchExpressions": expressions}
    body: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": teams, "resourceRules": policy.rules},
        "validations": [_validation(policy.name, *entry) for entry in policy.validations],
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


def _validation(policy: str, expression: str, message: str) -> Manifest:
    """A message that starts with a quote is CEL; it needs a plain one to fall back on."""
    if message.startswith("'"):
        plain = f"refused by the policy {policy} of this namespace: see docs/submit.md"
        return {"expression": expression, "messageExpression": message, "message": plain}
    return {"expression": expression, "message": message}
