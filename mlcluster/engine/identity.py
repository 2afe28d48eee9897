"""Identity of the resources in the state: kind, name, namespace and pool, from the facts that the state records. Pure.

The plan names what its items belong to. The state also has resources that the plan no longer has, e.g. of a removed
pool; their type and their inputs are facts, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.plan import names
from mlcluster.plan.model import kind_of
from mlcluster.plan.topology import pool_of_flavor

NAMESPACE = "kubernetes:core/v1:Namespace"
RELEASE = "kubernetes:helm.sh/v3:Release"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a resource.

    Attributes:
        kind: of a Kubernetes object its kind, else the last part of the type, e.g. Release, NodeGroup.
        name: of the object or release; of a cloud resource its name in the plan.
        namespace: of an object or release; "" for none.
        pool: the pool that the resource is a part of; "" for none.
    """

    kind: str = ""
    name: str = ""
    namespace: str = ""
    pool: str = ""


def identity_of(type_: str, plan_id: str, inputs: Mapping[str, Any]) -> Identity:
    """Return the identity of a resource.

    Args:
        type_: the Pulumi type token.
        plan_id: the Pulumi name of the resource.
        inputs: as the state records them.
    """
    kind = kind_of(type_)
    facts = inputs if type_ == RELEASE else inputs.get("metadata")
    if isinstance(facts, Mapping) and facts.get("name"):
        name, namespace = str(facts["name"]), str(facts.get("namespace") or "")
    else:
        # Not all inputs of cloud resources have the name that the plan gives them; their Pulumi name has it.
        name, namespace = plan_id.removeprefix(f"{kind}/"), ""
    return Identity(kind, name, namespace, _pool(kind, name, inputs))


def _pool(kind: str, name: str, inputs: Mapping[str, Any]) -> str:
    match kind:
        case "Node":
            return str(((inputs.get("metadata") or {}).get("labels") or {}).get(names.POOL, ""))
        case "NodeGroup":
            return str((inputs.get("tags") or {}).get(names.POOL, ""))
        case "NodePool":
            return name  # Karpenter's NodePool has the name of the pool
        case "ResourceFlavor":
            return pool_of_flavor(name)
        case _:
            return ""
