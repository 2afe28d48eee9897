"""Evaluate NetworkPolicies as Kubernetes defines them, for the ingress of pods.

Source: the Kubernetes API reference, NetworkPolicy (networking.k8s.io/v1): a pod that no policy selects accepts every
connection; a pod that policies select accepts a connection that at least one rule of them allows. A rule allows a
connection if one of its peers and one of its ports match; a rule without peers or without ports allows all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlcluster.plan.model import Manifest

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The API server sets this label on every namespace."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One end of a connection.

    Attributes:
        ports: names of the container ports -> their numbers.
        namespace_labels: labels of the namespace besides its name.
    """

    namespace: str
    labels: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)


def accepts(policies: Iterable[Manifest], callee: Pod, caller: Pod, port: int, protocol: str = "TCP") -> bool:
    """Return whether `callee` accepts a connection of `caller` to one of its ports."""
    selecting = [policy["spec"] for policy in policies if _selects_for_ingress(policy, callee)]
    if not selecting:
        return True
    rules = [rule for spec in selecting for rule in spec.get("ingress", [])]
    return any(_from(rule, callee, caller) and _port(rule, callee, port, protocol) for rule in rules)


def matches(selector: Manifest, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector matches; an empty one matches everything.

    Raises:
        ValueError: for an operator that this function does not implement.
    """
    exact = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in exact.items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions", [])
    )


def _selects_for_ingress(policy: Manifest, pod: Pod) -> bool:
    spec = policy["spec"]
    return (
        policy["metadata"]["namespace"] == pod.namespace
        and "Ingress" in spec.get("policyTypes", ["Ingress"])
        and matches(spec["podSelector"], pod.labels)
    )


def _from(rule: Manifest, callee: Pod, caller: Pod) -> bool:
    peers = rule.get("from")
    return not peers or any(_peer(peer, callee, caller) for peer in peers)


def _peer(peer: Manifest, callee: Pod, caller: Pod) -> bool:
    if "ipBlock" in peer:
        raise ValueError("addresses of pods are not known here")
    namespace = {NAMESPACE_NAME: caller.namespace, **caller.namespace_labels}
    if "namespaceSelector" not in peer:
        return caller.namespace == callee.namespace and matches(peer["podSelector"], caller.labels)
    return matches(peer["namespaceSelector"], namespace) and matches(peer.get("podSelector", {}), caller.labels)


def _port(rule: Manifest, callee: Pod, port: int, protocol: str) -> bool:
    ports = rule.get("ports")
    return not ports or any(
        entry.get("protocol", "TCP") == protocol and _number(entry, callee) in {None, port} for entry in ports
    )


def _number(entry: Manifest, callee: Pod) -> int | None:
    """Return the number of a port; -1 if the pod has no port of that name, None for every port."""
    wanted: int | str | None = entry.get("port")
    return callee.ports.get(wanted, -1) if isinstance(wanted, str) else wanted


def _holds(expression: Manifest, labels: Mapping[str, str]) -> bool:
    key, operator = expression["key"], expression["operator"]
    if operator == "Exists":
        return key in labels
    if operator == "In":
        return labels.get(key) in expression["values"]
    raise ValueError(f"the operator {operator} is not implemented")
