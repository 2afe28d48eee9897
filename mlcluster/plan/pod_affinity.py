"""The admission policy that keeps the pods of a team from deciding where the pods of other teams may run."""

from collections.abc import Mapping

from mlcluster.plan import job_kinds
from mlcluster.plan.pod_templates import template_policy
from mlcluster.plan.policy import Policy

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_affinity(users: Mapping[str, str]) -> Policy:
    """Return the policy on pod affinity and anti-affinity.

    The scheduler honors the anti-affinity of running pods for each new pod. A single small pod whose anti-affinity
    names the namespace of another team, with a topology key that all nodes share, keeps that team from every node.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    own = "(!has({0}.namespaceSelector) && (!has({0}.namespaces) || {0}.namespaces.all(n, n == request.namespace)))"
    affinity = "t.spec.affinity"
    terms = " && ".join(
        f"(!has({affinity}.{part}) || ({_terms(f'{affinity}.{part}', own)}))"
        for part in ("podAffinity", "podAntiAffinity")
    )
    return template_policy(
        "mlcluster-pod-affinity",
        kinds,
        [
            (
                f"variables.fresh.all(t, !has({affinity}) || ({terms}))",
                (
                    "pod affinity and anti-affinity to other namespaces keep pods of other teams from nodes:"
                    " leave namespaces and namespaceSelector out"
                ),
            )
        ],
    )


def _terms(part: str, own: str) -> str:
    """CEL: all terms of `part`, required and preferred, stay in the pod's namespace."""
    required = f"(!has({part}.{_REQUIRED}) || {part}.{_REQUIRED}.all(a, {own.format('a')}))"
    preferred = f"(!has({part}.{_PREFERRED}) || {part}.{_PREFERRED}.all(a, {own.format('a.podAffinityTerm')}))"
    return f"{required} && {preferred}"
