"""The admission policies on Services and Ingresses, and on Events, which no ResourceQuota counts."""

from collections.abc import Mapping

from mlcluster.plan import names
from mlcluster.plan.policy import Policy, may_everywhere, of_namespace

INSTEAD = "use type ClusterIP, and kubectl port-forward from outside the cluster"

_VARIABLES = {
    "spec": "dyn(object.spec)",
    "type": "object.kind == 'Service' && has(variables.spec.type) ? variables.spec.type : ''",
    "before": (
        "oldObject != null && object.kind == 'Service' && has(dyn(oldObject.spec).type) ? dyn(oldObject.spec).type : ''"
    ),
    "had": (
        "oldObject != null && object.kind == 'Service' && has(dyn(oldObject.spec).externalIPs)"
        " ? dyn(oldObject.spec).externalIPs : []"
    ),
    "closed": of_namespace(names.CLOSED, "[]"),
}
"""Name -> CEL: `before` and `had` are the type and the addresses of a Service that is changed."""


def service_policies(users: Mapping[str, str]) -> list[Policy]:
    """Return the policies for Services, Ingresses and Events.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    return [_services(users), _events()]


def _services(users: Mapping[str, str]) -> Policy:
    """Return the policy on Services and Ingresses, which holds for controllers too.

    KubeRay, for example, creates the Service of a RayCluster with the type that a member wrote in the RayCluster. A
    change that keeps the type and the addresses of a Service passes.
    """
    kserve = users.get("kserve")
    makes_names = f"request.userInfo.username == '{kserve}'" if kserve else "false"
    return Policy(
        name="mlcluster-services",
        scheduler="",
        rules=[
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"], "operations": ["CREATE", "UPDATE"]},
            {
                "apiGroups": ["networking.k8s.io"],
                "apiVersions": ["v1"],
                "resources": ["ingresses"],
                "operations": ["CREATE"],
            },
        ],
        variables=_VARIABLES,
        validations=_validations(makes_names),
        match_conditions={},
    )


def _validations(makes_names: str) -> list[tuple[str, str]]:
    """Return what holds for Services and Ingresses.

    Args:
        makes_names: CEL, the request comes from a controller that makes Services of type ExternalName.
    """
    return [
        (
            (
                "object.kind != 'Service' || !has(variables.spec.externalIPs)"
                " || variables.spec.externalIPs.all(i, i in variables.had)"
            ),
            f"externalIPs let a Service take over traffic to any address (CVE-2020-8554): {INSTEAD}",
        ),
        (
            "variables.type != 'NodePort' || variables.before == 'NodePort'",
            f"a NodePort opens a port on every node: {INSTEAD}",
        ),
        (
            (
                "variables.type != 'LoadBalancer' || variables.before == 'LoadBalancer'"
                " || !('loadBalancers' in variables.closed)"
            ),
            f"the team may have no load balancer: {INSTEAD}, or ask for teams[].limits.loadBalancers in the spec",
        ),
        (
            f"variables.type != 'ExternalName' || variables.before == 'ExternalName' || {makes_names}",
            (
                "a Service of type ExternalName lets proxies outside the namespace reach any host for the team:"
                " use the name of the host itself"
            ),
        ),
        (
            "object.kind != 'Ingress' || !('ingresses' in variables.closed)",
            f"the team may have no Ingress: {INSTEAD}, or ask for teams[].limits.ingresses in the spec",
        ),
    ]


def _events() -> Policy:
    """Return the policy on Events: it admits only users that may write Events in every namespace, as controllers may.

    An Event may hold more than 1 MiB, lives for an hour, and ResourceQuota does not count it: a member could fill etcd.
    """
    groups = ("", "events.k8s.io")
    everywhere = " || ".join(may_everywhere("create", f"'{group}'", "'events'") for group in groups)
    return Policy(
        name="mlcluster-events",
        scheduler="",
        rules=[
            {
                "apiGroups": list(groups),
                "apiVersions": ["v1"],
                "resources": ["events"],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
        variables={},
        validations=[
            (
                everywhere,
                "only controllers write Events: no quota counts them; write to the log of your pod instead",
            )
        ],
        match_conditions={},
    )
