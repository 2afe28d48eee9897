"""Identity of the resources in the state: kind, name, namespace and pool, from their recorded type and inputs. Pure.

Items of the plan carry these facts as fields. The state also contains resources that the plan no longer has, such as
those of a removed pool, so their identity is derived here.
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
        kind: the kind of a Kubernetes object, else the last part of the type, e.g. Release, NodeGroup.
        name: the name of the object or release; for a cloud resource, its name in the plan.
        namespace: the namespace of an object or release; "" if it has none.
        pool: the pool that the resource belongs to; "" if there is none.
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
