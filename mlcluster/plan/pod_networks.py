"""The admission policy that keeps pods of a team out of the secondary networks and the addresses of other namespaces.

Multus reads annotations of the pod (multus-cni v4.3.0, pkg/k8sclient/k8sclient.go): `parsePodNetworkAnnotation` takes
JSON if the text has one of the characters `[{"`, else names with commas between them, as `namespace/name@interface`.
The thick plugin of mlcluster sets `namespaceIsolation`; the thin one of the Network Operator does not, and neither
checks the namespace of a default network, which is Multus's own unless the annotation names one.

Multus writes the addresses of a pod into another annotation, through `pods/status`, which members cannot write. The
reconciler of Whereabouts (v0.9.4, pkg/reconciler/iploop.go) frees each allocated address that its pod does not have
there: a member who edits it would keep an address that the next pod, of any team, gets too.
"""

from collections.abc import Mapping

from mlcluster.plan import job_kinds
from mlcluster.plan.pod_templates import template_variables
from mlcluster.plan.policy import WORKLOAD_RULES, Policy

NETWORKS = "k8s.v1.cni.cncf.io/networks"
DEFAULT_NETWORK = "v1.multus-cni.io/default-network"
STATUS = "k8s.v1.cni.cncf.io/network-status"

_OWN = "request.namespace"
_PLAIN = r"r'^[\t\n\r -\[\]-~]*$'"
"""Printable ASCII without the backslash: JSON could write a key with escapes, and Go ignores the case of keys."""

_KEY = '(?i)"namespace"'
_IS_JSON = "n.matches(r'[\\[{\"]')"
_OWN_IN_JSON = (
    f"n.matches({_PLAIN}) && n.findAll(r'{_KEY}').size() == n.findAll(r'{_KEY}\\s*:\\s*\"' + {_OWN} + r'\"').size()"
)
_OWN_IN_LIST = f"n.split(',').all(i, !i.contains('/') || i.trim().startsWith({_OWN} + '/'))"


def pod_networks(users: Mapping[str, str]) -> Policy:
    """Return the policy on the networks that pods and pod templates name; each team has its own copies of networks.

    It checks every update of a pod too, because Multus reads the annotation when the pod starts, not when it is made.

    Args:
        users: component of the plan that makes things for teams -> the user that its controller is.
    """
    kinds = job_kinds.kinds_of(users)
    found = template_variables(kinds)
    del found["fresh"]  # compares specs, and annotations are metadata
    return Policy(
        name="mlcluster-pod-networks",
        scheduler="",
        rules=[*WORKLOAD_RULES, *job_kinds.rules(kinds, "CREATE", "UPDATE")],
        variables={
            **found,
            "networks": _annotations("templates", NETWORKS),
            "networksBefore": _annotations("before", NETWORKS),
            "defaults": _annotations("templates", DEFAULT_NETWORK),
            "defaultsBefore": _annotations("before", DEFAULT_NETWORK),
            "statuses": _annotations("templates", STATUS),
            "statusesBefore": _annotations("before", STATUS),
        },
        validations=[
            (
                (
                    "variables.networks.all(n, n in variables.networksBefore"
                    f" || ({_IS_JSON} ? ({_OWN_IN_JSON}) : {_OWN_IN_LIST}))"
                ),
                f"a pod joins networks of its own namespace only: name no other namespace in {NETWORKS}",
            ),
            (
                "variables.defaults.all(n, n in variables.defaultsBefore)",
                f"the default network of a pod is the cluster's: leave {DEFAULT_NETWORK} out",
            ),
            (
                "oldObject == null || object.kind != 'Pod' || variables.statuses == variables.statusesBefore",
                f"Multus writes the addresses of a pod: leave {STATUS} as it is",
            ),
        ],
        match_conditions={},
    )


def _annotations(templates: str, key: str) -> str:
    """CEL: the list of the values that an annotation has in templates."""
    has = f"has(t.metadata) && has(t.metadata.annotations) && '{key}' in t.metadata.annotations"
    return f"variables.{templates}.filter(t, {has}).map(t, string(t.metadata.annotations['{key}']))"
