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
"""How a component is installed on a target.

- `helm`: by Helm, or as objects of the plan.
- `process`: as a process of the lab.
- `simulated`: on the lab, without its controller; only its pods are simulated.
- `present`: not by mlcluster; the plan uses the existing installation.
"""


def kind_of(token: str) -> str:
    """Return the kind in a Pulumi type token: LaunchTemplate of aws:ec2/launchTemplate:LaunchTemplate."""
    return token.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class ItemRef:
    """A reference to an item of the plan."""

    kind: str
    name: str
    namespace: str = ""

    @property
    def id(self) -> str:
        """The id of the item, which does not depend on the order of any list. No code takes an id apart."""
        return "/".join(filter(None, (self.kind, self.namespace, self.name)))


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """A component, its version, and how it is installed on this target.

    Attributes:
        releases: ids of its releases in the plan.
        objects: ids of its objects in the plan, with those that simulate its pods on `local`.
    """

    name: str
    version: str
    realisation: Realisation
    spec_path: Loc
    releases: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanResource:
    """A cloud resource, or on `local` a simulated node.

    Attributes:
        type: Pulumi type token, e.g. aws:ec2/launchTemplate:LaunchTemplate.
        inputs: as the argument class of the type names them (camelCase), with values of `plan.values`.
        ignore: input paths that other controllers change while the cluster runs, e.g. scalingConfig.desiredSize.
        retained: `down` keeps it and lists it.
        component: the component that needs the resource; "" for none.
        team: the team that alone uses the resource; "" for none.
        pool: the pool that the resource is a part of; "" for none.
    """

    id: str
    type: str
    inputs: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    ignore: tuple[str, ...] = ()
    retained: bool = False
    component: str = ""
    team: str = ""
    pool: str = ""

    @property
    def kind(self) -> str:
        """The last part of the type token, e.g. LaunchTemplate."""
        return kind_of(self.type)


@dataclass(frozen=True, slots=True)
class PlanRelease:
    """A Helm release: exact version, all values.

    Attributes:
        crds: names of its CRDs; items that need the release wait until they are Established.
        webhook_probes: objects that its webhooks check; items that need the release wait until a dry run of each
            succeeds.
        overrides: paths in `values` of the values that the spec gives.
        component: the component that it installs.
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
    component: str = ""


@dataclass(frozen=True, slots=True)
class PlanObject:
    """A managed Kubernetes object, complete, with the ids of the items that must exist before it.

    Attributes:
        crds: names of the CRDs that a controller installs because of the object; items that need the object wait
            until they are Established.
        component: the component that the object is a part of; "" for none, e.g. a namespace that components share.
        team: the team that the object belongs to, which its label names too; "" for none.
        pool: the pool that the object is for; "" for none.
    """

    id: str
    manifest: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    crds: tuple[str, ...] = ()
    component: str = ""
    team: str = ""
    pool: str = ""

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the object; "" for a cluster-scoped one."""
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def ref(self) -> ItemRef:
        """The reference to the object."""
        return ItemRef(self.kind, self.name, self.namespace)


@dataclass(frozen=True, slots=True)
class DefiningObject:
    """An object with `crds`, in the form of a release that must be ready before the items that need it."""

    id: str
    name: str
    namespace: str
    crds: tuple[str, ...]
    webhook_probes: tuple[Manifest, ...] = ()
    realisation: Realisation = "helm"


@dataclass(frozen=True, slots=True)
class PlanPod:
    """The shape of pods that a component creates, and the evidence for it.

    Attributes:
        owner: the release, object or add-on that creates them.
        name: of the workload; "" for the name of the owner.
        replicas: pods of a Deployment or StatefulSet, or parallel pods of a Job (a Helm hook).
        not_on: names of pools whose nodes its required node affinity excludes.
        yields: its priority is below that of all other pods, which preempt it.
        apart: no two of its replicas share a node (required anti-affinity on kubernetes.io/hostname).
        component: the component that the pods are a part of; "" for add-ons of EKS and headroom.
        pool: the pool whose nodes these pods run on, if their shape is for one pool; "" else.
    """

    owner: ItemRef
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
    component: str = ""
    pool: str = ""

    @property
    def workload(self) -> str:
        """The name of the workload."""
        return self.name or self.owner.name
