"""EKS: regions, versions, and the pins of each with their evidence (eks.json, docs/eks-pins.md)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FAMILIES = {"al2023": "AL2023", "bottlerocket": "BOTTLEROCKET"}
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "ARM_64"}


@dataclass(frozen=True, slots=True)
class EksVersion:
    """A minor version of EKS and the pins that go with it.

    Attributes:
        minor: e.g. "1.34".
        standard_support_ends: YYYY-MM-DD.
        cluster_autoscaler: image tag of the Cluster Autoscaler of this minor.
        addons: add-on name -> version, e.g. vpc-cni.
        ami_releases: EKS AMI type -> release version.
    """

    minor: str
    standard_support_ends: str
    cluster_autoscaler: str
    addons: Mapping[str, str]
    ami_releases: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EksPin:
    """A pinned value and its evidence.

    Attributes:
        minor: e.g. "1.34".
        name: its path in eks.json, e.g. "addons/vpc-cni", "amiReleases/AL2023_x86_64_NVIDIA", "clusterAutoscaler".
        confirmed: whether a source names this value for this minor.
        evidence: the source; without one, why the value is believed.
    """

    minor: str
    name: str
    value: str
    confirmed: bool
    evidence: str


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("eks.json").read_text("utf-8"))
    return found


def regions() -> frozenset[str]:
    """Return every region of the catalog."""
    return frozenset(_data()["regions"])


def zones_of(region: str) -> tuple[str, ...]:
    """Return the first zones, at most three, that accept an EKS control plane; () for an unknown region."""
    return known_zones(region)[:3]


def known_zones(region: str) -> tuple[str, ...]:
    """Return every zone of a region that takes an EKS control plane, by name; () for an unknown region.

    EKS refuses zones by ID, and which name stands for which ID is up to the account: these are the names that
    most accounts see (us-east-1e is use1-az3 there, and left out).
    """
    known = _data()["regions"].get(region)
    return tuple(f"{region}{letter}" for letter in known["zones"]) if known else ()


def excluded_zone_ids(region: str) -> frozenset[str]:
    """IDs of the zones whose subnets EKS rejects for a control plane, e.g. use1-az3 (EKS user guide)."""
    return frozenset(_data()["regions"].get(region, {}).get("excludedZoneIds", ()))


def eks_versions() -> tuple[str, ...]:
    """Return every minor version that the catalog pins, oldest first."""
    return tuple(sorted(_data()["versions"], key=lambda minor: int(minor.partition(".")[2])))


@cache
def eks_version(minor: str) -> EksVersion | None:
    """Return the pins of a minor version, or None when the catalog has none."""
    found = _data()["versions"].get(minor)
    if found is None:
        return None
    return EksVersion(
        minor=minor,
        standard_support_ends=found["standardSupportEnds"]["value"],
        cluster_autoscaler=found["clusterAutoscaler"]["value"],
        addons={name: pin["value"] for name, pin in found["addons"].items()},
        ami_releases={name: pin["value"] for name, pin in found["amiReleases"].items()},
    )


def eks_pins(minor: str) -> tuple[EksPin, ...]:
    """Return every pin of a minor version with its evidence; () when the catalog has none."""
    return tuple(_pins(minor))


def _pins(minor: str) -> Iterator[EksPin]:
    data = _data()
    for name, pin in _named(data["versions"].get(minor, {})):
        confirmed = pin.get("confirmed", True)
        evidence = data["sources"][pin["source"]] if confirmed else data["unconfirmed"][pin["why"]]
        yield EksPin(minor, name, pin["value"], confirmed, evidence)


def _named(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, entry in found.items():
        if "value" in entry:
            yield name, entry
        else:
            yield from ((f"{name}/{inner}", pin) for inner, pin in entry.items())


def ami_type(family: str, arch: str, accelerator_manufacturer: str) -> str:
    """Return the EKS AMI type of a node, e.g. AL2023_x86_64_NVIDIA (EKS API, AMITypes).

    Args:
        family: al2023 or bottlerocket.
        arch: amd64 or arm64.
        accelerator_manufacturer: nvidia, or "" for none.

    Raises:
        KeyError: EKS has no such AMI type among those that the catalog pins (AWS Neuron, AMD and Qualcomm devices).
    """
    if accelerator_manufacturer not in {"", "nvidia"}:
        raise KeyError(accelerator_manufacturer)
    base = f"{_FAMILIES[family]}_{_ARCHITECTURES[arch]}"
    if accelerator_manufacturer:
        return f"{base}_NVIDIA"
    return f"{base}_STANDARD" if family == "al2023" else base
