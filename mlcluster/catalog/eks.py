"""EKS: regions, versions, and what is pinned for each (source and date: eks.json, docs/eks-pins.md)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


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


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("eks.json").read_text("utf-8"))
    return found


def regions() -> frozenset[str]:
    """Every region that the catalogue knows."""
    return frozenset(_data()["regions"])


def zones_of(region: str) -> tuple[str, ...]:
    """The first zones of a region that take an EKS control plane, by name, at most three; () for an unknown region."""
    return tuple(f"{region}{letter}" for letter in _data()["regions"].get(region, "")[:3])


def eks_versions() -> tuple[str, ...]:
    """Every minor version that the catalogue pins, oldest first."""
    return tuple(sorted(_data()["versions"], key=lambda minor: int(minor.partition(".")[2])))


def eks_version(minor: str) -> EksVersion | None:
    """The pins of a minor version, or None when the catalogue has none."""
    found = _data()["versions"].get(minor)
    if found is None:
        return None
    return EksVersion(
        minor=minor,
        standard_support_ends=found["standardSupportEnds"],
        cluster_autoscaler=found["clusterAutoscaler"],
        addons=found["addons"],
        ami_releases=found["amiReleases"],
    )
