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

    `plan.components.assembly` puts releases in order, so a release names only what is not a component. An object that
    needs the release names its id.

    Attributes:
        resources: of the cloud.
        pods: the shape of every pod that comes with it.
        node_labels: by pool, labels that its nodes carry because of the component.
        namespaces: by namespace, labels beyond those of mlcluster; the namespaces of releases are made in any case.
        findings: what a user should know of how it is used here.
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
"""For a namespace whose pods reach into the node."""
