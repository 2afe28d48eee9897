"""Items of a plan: components, cloud resources, Helm releases, Kubernetes objects, and the pods of components.

An item carries what it belongs to (`component`, `team`, `pool`), so that no reader takes an id or a name apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mlcluster.plan.model.nodes import Amounts, Toleration
from mlcluster.spec.document import Loc

Manifest = dict[str, Any]
ValuePath = tuple[str, ...]
"""The keys that lead to a value; a key may have dots, e.g. of an annotation."""

Realisation = Literal["helm", "process", "simulated", "present"]
"""How a component comes to be.

By Helm (or as objects of ours), as a host process of the lab, on the lab without its controller (only its pods are
simulated), or it is there already.
"""


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """A component, its version, and how it comes to be on this target.

    Attributes:
        releases: ids of its releases in the plan.
        objects: ids of its objects in the plan, with those that stand in for it on `local`.
    """

    name: str
    version: str
    realisation: Realisation
    spec_path: Loc
    releases: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanResource:
    """What makes the cluster itself: a cloud resource, or on `local` a simulated node.

    Attributes:
        type: Pulumi type token, e.g. aws:ec2/launchTemplate:LaunchTemplate.
        inputs: as the type's argument class names them (camelCase); values of `plan.values` stand in it.
        ignore: input paths that something else changes while the cluster runs, e.g. scalingConfig.desiredSize.
        retained: `down` keeps it, and says so.
    """

    id: str
    type: str
    inputs: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    ignore: tuple[str, ...] = ()
    retained: bool = False


@dataclass(frozen=True, slots=True)
class PlanRelease:
    """A Helm release: exact version, whole values.

    Attributes:
        crds: names of its CRDs; what needs the release waits until they are Established.
        webhook_probes: objects that its webhooks look at; what needs the release waits until a dry run of each is
            answered.
        overrides: paths in `values` of the values that the spec gives.
    """

    id: str
    name: str
    chart: str
    version: str
    repository: str
    namespace: str
    values: Manifest
    needs: tuple[str, ...]
    realisation: Realisation
    spec_path: Loc
    crds: tuple[str, ...] = ()
    webhook_probes: tuple[Manifest, ...] = ()
    overrides: tuple[ValuePath, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanObject:
    """A Kubernetes object that we own, whole, with what must exist before it.

    Attributes:
        crds: names of the CRDs that a controller installs because of the object; what needs the object waits until
            they are Established.
    """

    id: str
    manifest: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    crds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefiningObject:
    """An object with `crds`, in the form of a release that has to be ready before what needs it."""

    id: str
    name: str
    namespace: str
    crds: tuple[str, ...]
    webhook_probes: tuple[Manifest, ...] = ()
    realisation: Realisation = "helm"


@dataclass(frozen=True, slots=True)
class PlanPod:
    """The shape of pods that a component will create, and how we know it.

    Attributes:
        owner: id of the release or object that creates them.
        name: of the workload; "" for the release's own name.
        replicas: pods of a Deployment or StatefulSet, or parallel ones of a Job (a Helm hook).
        not_on: names of pools whose nodes its required node affinity refuses.
        yields: its priority is below that of all other pods, which displace it.
        apart: no two of its replicas share a node (required anti-affinity on kubernetes.io/hostname).
    """

    owner: str
    kind: Literal["Deployment", "DaemonSet", "StatefulSet", "Job"]
    namespace: str
    node_selector: Mapping[str, str]
    tolerations: tuple[Toleration, ...]
    requests: Amounts
    priority_class: str
    evidence: Literal["rendered", "declared"]
    source: str
    spec_path: Loc
    name: str = ""
    replicas: int = 1
    apart: bool = False
    yields: bool = False
    not_on: tuple[str, ...] = ()
