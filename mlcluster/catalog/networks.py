"""Network cards of EC2 instance types: where EFA interfaces go, and how many pods a node takes (networks.json)."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlcluster.catalog.instances import instance_type as facts_of

_DEVICE = 1
"""Device index of an EFA-only interface on every card.

Amazon's guide to EC2 takes 0 on cards after the first; eksctl 0.230, Karpenter 1.14 and terraform-aws-modules/eks
take 1, on EKS nodes, next to the VPC CNI. Either keeps (card, device) unique; EKS nodes use 1.
"""

EFA_RESOURCE = "vpc.amazonaws.com/efa"
"""The resource by which pods request EFA interfaces."""

PRIMARY = (0, 0)
"""Card and device index of the interface with the node's addresses; EC2 takes no EFA-only interface there."""


@dataclass(frozen=True, slots=True)
class NetworkLayout:
    """How the interfaces of a node with EFA sit on its network cards.

    Attributes:
        cards: network cards of the type.
        interfaces_per_card: the most that each card takes; None when unknown, or not the same on each card.
        efa_only: (network card index, device index) of every EFA-only interface; () for a type without EFA.
    """

    cards: int
    interfaces_per_card: int | None
    efa_only: tuple[tuple[int, int], ...]

    @property
    def first_efa_card(self) -> int | None:
        """Index of the first card with EFA: 1 on p6-b300 and p6e-gb200, whose card 0 has none."""
        return self.efa_only[0][0] if self.efa_only else None


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("networks.json").read_text("utf-8"))
    return found


@cache
def network_layout(instance_type: str) -> NetworkLayout | None:
    """Return the interfaces that a node of this type starts with when it uses all its EFA; None when that is not known.

    p6e-gb200 gets the four that AWS recommends (400 Gbit/s each); it could have eight at half the speed.

    Raises:
        KeyError: the catalog does not have the type.
    """
    known = _data()["cards"].get(instance_type, {"cards": 1})
    per_card = _per_card(instance_type, known)
    # Not every type that has a layout has a price and allocatable resources: p6e-gb200 is only here.
    efa = len(known["efaCards"]) if "efaCards" in known else facts_of(instance_type).efa
    cards: list[int] = known.get("efaCards", list(range(efa)))
    if _impossible(known["cards"], per_card, cards):
        return None
    return NetworkLayout(known["cards"], per_card, tuple((card, _DEVICE) for card in cards))


def _per_card(instance_type: str, known: dict[str, Any]) -> int | None:
    if "interfaces" not in known:
        found: int | None = _data()["oneCardInterfaces"].get(instance_type)
        return found
    return None if known.get("uneven") else known["interfaces"] // known["cards"]


def _impossible(cards: int, per_card: int | None, efa_cards: list[int]) -> str | None:
    if efa_cards and max(efa_cards) >= cards:
        return "on which network cards it has EFA is not known"
    if 0 in efa_cards and per_card is not None and per_card <= _DEVICE:
        return "its first network card has no room for an EFA-only interface beside the one with addresses"
    return None


def why_no_layout(instance_type: str) -> str | None:
    """Why `network_layout` has none for this type, for a person; None when there is one.

    Raises:
        KeyError: the catalog does not have the type.
    """
    if network_layout(instance_type) is not None:
        return None
    known = _data()["cards"].get(instance_type, {"cards": 1})
    cards = list(range(facts_of(instance_type).efa))
    return _impossible(known["cards"], _per_card(instance_type, known), cards)


def enis_for(instance_type: str) -> int | None:
    """Return how many network interfaces an instance takes, all cards together, EFA included; None when unknown.

    Known for every accelerator type, and for every type with several network cards.
    """
    several = _data()["cards"].get(instance_type)
    if several is not None:
        found: int = several["interfaces"]
        return found
    alone: int | None = _data()["oneCardInterfaces"].get(instance_type)
    return alone


def max_pods(vcpu: int, addresses: int | None = None) -> int:
    """Return the kubelet's limit of pods with prefix delegation: 110 below 30 vCPU, 250 from there on.

    Source: Amazon EKS best practices, "Prefix mode for Linux"; amazon-eks-ami, max-pods-calculator.sh.

    Args:
        vcpu: of the instance type.
        addresses: pods that the VPC CNI has addresses for without prefixes (`InstanceType.allocatable_pods`);
            the smallest types have not enough prefixes for 110.
    """
    recommended = 110 if vcpu < 30 else 250
    if addresses is None:
        return recommended
    # Two of them use the node's own network; each of the other addresses becomes a prefix of 16.
    return min(recommended, (addresses - 2) * 16 + 2)
