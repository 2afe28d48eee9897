"""The contribution of a component to a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlcluster.findings import Finding
from mlcluster.plan.model import PlanObject, PlanPod, PlanRelease, PlanResource
from mlcluster.plan.network import Caller

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Contribution:
    """Everything that one component adds to a plan.

    `plan.components.assembly` orders the releases, so `needs` of a release has only ids outside components. An object
    that needs the release has its id in `needs`.

    Attributes:
        resources: resources of the cloud.
        pods: the shape of every pod of the component.
        node_labels: by pool, labels that its nodes have because of the component.
        namespaces: by namespace, labels beyond those of mlcluster; mlcluster makes the namespaces of releases anyway.
        findings: notes for users on the use of the component in this plan.
        callers: its pods that connect to pods of teams.
    """

    releases: tuple[PlanRelease, ...] = ()
    objects: tuple[PlanObject, ...] = ()
    resources: tuple[PlanResource, ...] = ()
    pods: tuple[PlanPod, ...] = ()
    node_labels: Mapping[str, Labels] = field(default_factory=dict)
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    callers: tuple[Caller, ...] = ()


PRIVILEGED: Labels = {"pod-security.kubernetes.io/enforce": "privileged"}
"""The labels of a namespace whose pods access the node."""
