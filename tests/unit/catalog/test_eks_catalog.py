"""EKS regions, versions and their pins: complete, consistent, each with its evidence."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from mlcluster.catalog import eks

pytestmark = pytest.mark.unit

ADDONS = {
    "vpc-cni",
    "kube-proxy",
    "coredns",
    "eks-pod-identity-agent",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
}
AMI_TYPES = {
    eks.ami_type(family, arch, maker)
    for family in ("al2023", "bottlerocket")
    for arch in ("amd64", "arm64")
    for maker in ("", "nvidia")
}
WANTED = {
    *("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1"),
    *("eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1"),
    *("ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2"),
}


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version in order, e.g. v1.2.3-eksbuild.4 -> (1, 2, 3, 4)."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))


def version(minor: str) -> eks.EksVersion:
    """Return the pins of a minor version that the catalog has."""
    found = eks.eks_version(minor)
    assert found is not None
    return found


def test_the_usual_regions_are_known() -> None:
    assert eks.regions() >= WANTED


@pytest.mark.parametrize("region", sorted(eks.regions()))
def test_every_region_has_two_or_three_zones_of_its_own_to_begin_with(region: str) -> None:
    zones = eks.zones_of(region)
    assert 2 <= len(zones) <= 3
    assert zones == eks.known_zones(region)[:3]
    assert len(set(eks.known_zones(region))) == len(eks.known_zones(region))
    assert all(re.fullmatch(rf"{region}[a-f]", zone) for zone in eks.known_zones(region))


def test_an_unknown_region_has_no_zones() -> None:
    assert eks.zones_of("mars-north-1") == ()
    assert eks.known_zones("mars-north-1") == ()
    assert eks.excluded_zone_ids("mars-north-1") == frozenset()


@pytest.mark.parametrize(
    ("region", "letters", "excluded"),
    [
        ("us-east-1", "abcdf", {"use1-az3"}),
        ("us-west-1", "bc", {"usw1-az2"}),
        ("ca-central-1", "abd", {"cac1-az3"}),
        ("ap-northeast-1", "acd", set()),
    ],
)
def test_zones_that_take_no_control_plane_are_left_out(region: str, letters: str, excluded: set[str]) -> None:
    assert eks.known_zones(region) == tuple(f"{region}{letter}" for letter in letters)
    assert eks.excluded_zone_ids(region) == excluded


def test_versions_are_sorted_and_an_unknown_version_is_none() -> None:
    assert eks.eks_versions() == ("1.33", "1.34", "1.35", "1.36")
    assert eks.eks_version("1.12") is None
    assert eks.eks_pins("1.12") == ()


@pytest.mark.parametrize("minor", eks.eks_versions())
def test_every_version_has_every_addon_and_ami_type(minor: str) -> None:
    assert set(version(minor).addons) == ADDONS
    assert set(version(minor).ami_releases) == AMI_TYPES


@pytest.mark.parametrize("minor", eks.eks_versions())
def test_pins_are_of_their_own_minor(minor: str) -> None:
    pins = version(minor)
    assert re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}", pins.standard_support_ends)
    assert pins.cluster_autoscaler.startswith(f"v{minor}.")
    assert pins.addons["kube-proxy"].startswith(f"v{minor}.")
    assert all(re.fullmatch(r"v[0-9.]+-eksbuild\.[0-9]+", addon) for addon in pins.addons.values())
    for ami_type, release in pins.ami_releases.items():
        shape = (
            rf"{re.escape(minor)}\.[0-9]+-20[0-9]{{6}}" if "AL2023" in ami_type else r"1\.[0-9]+\.[0-9]+-[0-9a-f]{8}"
        )
        assert re.fullmatch(shape, release), ami_type


@pytest.mark.parametrize("minor", eks.eks_versions())
def test_the_vpc_cni_supports_efa_only_interfaces_and_bottlerocket_can_disable_its_device_plugin(minor: str) -> None:
    assert numbers(version(minor).addons["vpc-cni"]) >= (1, 18, 5)
    assert numbers(version(minor).ami_releases["BOTTLEROCKET_x86_64_NVIDIA"].partition("-")[0]) >= (1, 63, 0)


def test_a_newer_minor_never_has_an_older_addon() -> None:
    for older, newer in pairwise(map(version, eks.eks_versions())):
        assert older.standard_support_ends < newer.standard_support_ends
        for name, pinned in older.addons.items():
            assert numbers(pinned) <= numbers(newer.addons[name]), name


@pytest.mark.parametrize("minor", eks.eks_versions())
def test_every_pin_has_its_evidence(minor: str) -> None:
    pins = eks.eks_pins(minor)
    assert len(pins) == len({pin.name for pin in pins}) == 2 + len(ADDONS) + len(AMI_TYPES)
    assert all(pin.evidence for pin in pins)
    assert {pin.name: pin.value for pin in pins if pin.name.startswith("addons/")} == {
        f"addons/{name}": value for name, value in version(minor).addons.items()
    }


def test_the_page_on_pins_names_every_unconfirmed_one(project_root: Path) -> None:
    page = (project_root / "docs" / "eks-pins.md").read_text("utf-8")
    unconfirmed = [pin for minor in eks.eks_versions() for pin in eks.eks_pins(minor) if not pin.confirmed]
    assert unconfirmed
    rows = [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in page.splitlines() if row.startswith("| `")]
    listed = {(minor, name, value) for name, value, minors, *_ in rows for minor in minors.split(", ")}
    assert {(pin.minor, pin.name, pin.value) for pin in unconfirmed} == listed


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("al2023", "amd64", ""), "AL2023_x86_64_STANDARD"),
        (("al2023", "arm64", ""), "AL2023_ARM_64_STANDARD"),
        (("al2023", "amd64", "nvidia"), "AL2023_x86_64_NVIDIA"),
        (("al2023", "arm64", "nvidia"), "AL2023_ARM_64_NVIDIA"),
        (("bottlerocket", "amd64", ""), "BOTTLEROCKET_x86_64"),
        (("bottlerocket", "arm64", ""), "BOTTLEROCKET_ARM_64"),
        (("bottlerocket", "amd64", "nvidia"), "BOTTLEROCKET_x86_64_NVIDIA"),
        (("bottlerocket", "arm64", "nvidia"), "BOTTLEROCKET_ARM_64_NVIDIA"),
    ],
)
def test_ami_type_follows_family_architecture_and_accelerator(asked: tuple[str, str, str], expected: str) -> None:
    assert eks.ami_type(*asked) == expected


@pytest.mark.parametrize(
    "asked",
    [("al2", "amd64", ""), ("al2023", "riscv64", ""), ("al2023", "amd64", "aws"), ("al2023", "amd64", "amd")],
)
def test_an_accelerator_without_an_eks_ami_is_rejected(asked: tuple[str, str, str]) -> None:
    with pytest.raises(KeyError):
        eks.ami_type(*asked)
