"""Which archive belongs to a release."""

from pathlib import Path

import pytest

from mlcluster.charts.archives import archives, exact, nearest

pytestmark = pytest.mark.unit

NAMES = (
    "gateway-helm-v1.6.0.tgz",
    "gateway-helm-v1.9.0.tgz",
    "karpenter-1.14.1.tgz",
    "karpenter-crd-1.14.1.tgz",
    "volcano-1.15.1.tgz",
    "aws-efa-k8s-device-plugin-v0.5.30.tgz",
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in (*NAMES, "SOURCE.txt", "no-version.tgz"):
        (tmp_path / name).touch()
    return tmp_path


def test_names_and_versions_are_read_from_file_names(directory: Path) -> None:
    assert {(one.name, one.version) for one in archives(directory)} == {
        ("aws-efa-k8s-device-plugin", "v0.5.30"),
        ("gateway-helm", "v1.6.0"),
        ("gateway-helm", "v1.9.0"),
        ("karpenter", "1.14.1"),
        ("karpenter-crd", "1.14.1"),
        ("volcano", "1.15.1"),
    }


@pytest.mark.parametrize(
    ("chart", "version", "file"),
    [
        ("oci://public.ecr.aws/karpenter/karpenter", "1.14.1", "karpenter-1.14.1.tgz"),
        ("gateway-helm", "1.9.0", "gateway-helm-v1.9.0.tgz"),
        ("volcano", "1.15.3", None),
        ("keda", "2.20.2", None),
    ],
)
def test_a_release_has_the_archive_of_its_version(directory: Path, chart: str, version: str, file: str | None) -> None:
    found = exact(archives(directory), chart, version)
    assert (found.path.name if found else None) == file


@pytest.mark.parametrize(
    ("chart", "version", "file"),
    [
        ("volcano", "1.15.3", "volcano-1.15.1.tgz"),
        ("gateway-helm", "v1.9.4", "gateway-helm-v1.9.0.tgz"),
        ("gateway-helm", "v1.6.1", "gateway-helm-v1.6.0.tgz"),
        ("keda", "2.20.2", None),
    ],
)
def test_tests_compare_with_the_nearest_version(directory: Path, chart: str, version: str, file: str | None) -> None:
    found = nearest(archives(directory), chart, version)
    assert (found.path.name if found else None) == file
