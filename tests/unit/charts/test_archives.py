"""The archive of a release."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from mlcluster.charts.archives import Archive, archives, exact, nearest, packed_chart

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


def test_names_and_versions_come_from_file_names(directory: Path) -> None:
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
        ("oci://mirror.example.com/karpenter/", "1.14.1", "karpenter-1.14.1.tgz"),
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


def test_only_files_are_archives(tmp_path: Path) -> None:
    """Helm would wait forever at a pipe."""
    os.mkfifo(tmp_path / "keda-2.20.2.tgz")
    (tmp_path / "kueue-0.18.3.tgz").mkdir()
    (tmp_path / "jobset-0.12.0.tgz").symlink_to(tmp_path / "nowhere")
    assert archives(tmp_path) == []


def packed(directory: Path, member: str, text: bytes) -> Archive:
    path = directory / "keda-2.20.2.tgz"
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo(member)
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    return Archive(path, "keda", "2.20.2")


def test_the_chart_comes_from_the_metadata_of_an_archive(tmp_path: Path) -> None:
    found = packed_chart(packed(tmp_path, "jobset/Chart.yaml", b"{apiVersion: v2, name: jobset, version: 0.12.0}"))
    assert found == ("jobset", "0.12.0")


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("keda/charts/other/Chart.yaml", b"{name: other, version: 1.0.0}"),
        ("keda/Chart.yaml", b"[]"),
        ("keda/Chart.yaml", b"name: keda"),
        ("keda/Chart.yaml", b"{"),
        ("keda/Chart.yaml", b"\xff\xfe\x00"),
    ],
)
def test_an_archive_without_readable_metadata(tmp_path: Path, member: str, text: bytes) -> None:
    assert packed_chart(packed(tmp_path, member, text)) is None


@pytest.mark.parametrize("size", [0, 20, 100])
def test_a_truncated_archive(tmp_path: Path, size: int) -> None:
    whole = packed(tmp_path, "keda/Chart.yaml", b"name: keda\nversion: 2.20.2\n" + os.urandom(500))
    whole.path.write_bytes(whole.path.read_bytes()[:size])
    assert packed_chart(whole) is None
