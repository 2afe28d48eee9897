"""Plugin archives: found by name, and read to their end before the engine unpacks them."""

import io
import tarfile
from pathlib import Path

import pytest

from mlcluster.engine.plugin_archives import archive_name, archive_of, archives_at, check_archive, this_platform
from mlcluster.engine.plugin_pins import PluginPin
from mlcluster.errors import MlclusterError
from tests.fakes.plugin_archives import make_archive

pytestmark = pytest.mark.unit
AWS = PluginPin("aws", "7.51.1", ("x",))
OTHER = "windows-mips"


def _plenty() -> int:
    return 10**12


def _refused(path: Path) -> MlclusterError:
    (archive,) = archives_at(path)
    with pytest.raises(MlclusterError) as caught:
        check_archive(archive, _plenty)
    return caught.value


def test_a_directory_of_archives(tmp_path: Path) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1")
    make_archive(tmp_path, "aws", "7.50.0")
    make_archive(tmp_path, "aws", "7.51.1", where=OTHER)
    (tmp_path / "SHA256SUMS").touch()
    archives = archives_at(tmp_path)
    assert len(archives) == 3
    found = archive_of(AWS, archives)
    assert found is not None
    assert found.path == made
    assert made.name == archive_name(AWS)
    check_archive(found, _plenty)
    assert archive_of(PluginPin("eks", "4.4.0", ("x",)), archives) is None


def test_one_archive(tmp_path: Path) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1", members={"./pulumi-resource-aws": b"x"})
    (archive,) = archives_at(made)
    assert archive.holds(AWS)
    check_archive(archive, _plenty)


def test_only_archives_for_another_platform(tmp_path: Path) -> None:
    make_archive(tmp_path, "aws", "7.51.1", where=OTHER)
    with pytest.raises(MlclusterError, match=f"{OTHER}, and this machine is {this_platform()}"):
        archive_of(AWS, archives_at(tmp_path))


def test_a_missing_source_and_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match="does not exist"):
        archives_at(tmp_path / "gone")
    renamed = make_archive(tmp_path, "aws", "7.51.1").rename(tmp_path / "aws.tgz")
    with pytest.raises(MlclusterError, match="does not identify the plugin"):
        archives_at(renamed)
    assert archives_at(tmp_path) == []


@pytest.mark.parametrize("keep", [0, 5, 60, -9, -3])
def test_a_truncated_archive(tmp_path: Path, keep: int) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1", members={"pulumi-resource-aws": bytes(range(256)) * 40})
    made.write_bytes(made.read_bytes()[:keep])
    assert "cannot be read as a gzipped archive" in _refused(made).happened


def test_an_archive_with_a_flipped_byte(tmp_path: Path) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1")
    damaged = bytearray(made.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    made.write_bytes(bytes(damaged))
    assert "cannot be read as a gzipped archive" in _refused(made).happened


def test_a_file_that_is_not_an_archive(tmp_path: Path) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1")
    made.write_text("<html>403 Forbidden</html>", encoding="utf-8")
    assert "cannot be read as a gzipped archive" in _refused(made).happened


@pytest.mark.parametrize(
    "inside", [{}, {"README": b"x"}, {"bin/pulumi-resource-aws": b"x"}, {"pulumi-resource-eks": b"x"}]
)
def test_an_archive_with_other_contents(tmp_path: Path, inside: dict[str, bytes]) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1", members=inside)
    assert "has no executable file pulumi-resource-aws in its top directory" in _refused(made).happened


def test_a_program_that_is_not_executable(tmp_path: Path) -> None:
    assert "no executable file" in _refused(make_archive(tmp_path, "aws", "7.51.1", mode=0o644)).happened


@pytest.mark.parametrize("member", ["/etc/passwd", "../../evil", "a/../../evil"])
def test_names_outside_the_archive(tmp_path: Path, member: str) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1", members={"pulumi-resource-aws": b"x", member: b"x"})
    assert "points outside the archive" in _refused(made).happened


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices(tmp_path: Path, kind: bytes) -> None:
    """A member `s/t/evil` after the link `s/t` to `../..` would be written beside the plugin's directory."""
    made = make_archive(tmp_path, "aws", "7.51.1")
    program, other, through = (tarfile.TarInfo(name) for name in ("pulumi-resource-aws", "s/t", "s/t/evil"))
    program.mode, other.type, other.linkname = 0o755, kind, "../.."
    with tarfile.open(made, "w:gz") as tar:
        for member in (program, other, through):
            tar.addfile(member, io.BytesIO())
    refused = _refused(made)
    assert refused.happened == f"{made} contains s/t, which is neither a file nor a directory"
    assert "has no links" in refused.hint


def test_an_archive_larger_than_the_free_space(tmp_path: Path) -> None:
    made = make_archive(tmp_path, "aws", "7.51.1", members={"pulumi-resource-aws": b"x" * 3_000_000})
    (archive,) = archives_at(made)
    with pytest.raises(MlclusterError, match=r"unpacks to 3 MB, and 1 MB are free") as caught:
        check_archive(archive, lambda: 1_000_000)
    assert "PULUMI_HOME" in caught.value.hint
