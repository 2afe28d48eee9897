"""Bytes to text: encodings, sizes, files that are not there."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcluster.spec.load import load, parse
from mlcluster.spec.problems import LocatedProblem, SpecInvalidError
from mlcluster.spec.source import MAX_BYTES

pytestmark = pytest.mark.unit

VALID = """apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {name: atlas}
target: {kind: local}
nodePools:
  - {name: train, instanceType: p5.48xlarge, maxSize: 8}
"""


def problem_of(read: Callable[[], object]) -> LocatedProblem:
    with pytest.raises(SpecInvalidError) as caught:
        read()
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (VALID.encode("utf-16"), "x.yaml", "expected UTF-8, got UTF-16"),
        (VALID.encode("utf-32"), "x.yaml", "expected UTF-8, got UTF-32"),
        (b"\xfe\xff" + VALID.encode("utf-16-be"), "x.yaml", "expected UTF-8, got UTF-16"),
        ("a: b\nc: gr\xfcn\n".encode("latin-1"), "x.yaml", "expected UTF-8, got the byte 0xfc at offset 10, on line 2"),
        (b"a: b\nc: \x00\n", "x.yaml:2:4", "the text contains a NUL byte (U+0000)"),
        (b"a: b\r\nc: d\x1b[1m\r\n", "x.yaml:2:5", "the text contains an escape character (U+001B)"),
        (b"a\x07: b\n", "x.yaml:1:2", "the text contains a control character (U+0007)"),
        ("a: b\u2028c: d\n".encode(), "x.yaml:1:5", "the text contains a line separator (U+2028)"),
        ("a: b\n\ufeffc: d\n".encode(), "x.yaml:2:1", "the text contains a byte order mark (U+FEFF)"),
        (b"", "x.yaml", "the file is empty"),
        (b" \n\n", "x.yaml", "the file is empty"),
        (b"\xef\xbb\xbf", "x.yaml", "the file is empty"),
    ],
)
def test_bytes_that_are_no_yaml_text(content: bytes, place: str, message: str) -> None:
    problem = problem_of(lambda: parse(content, "x.yaml"))
    assert (problem.place, problem.message) == (place, message)


@pytest.mark.parametrize(
    "content",
    [
        VALID.encode(),
        b"\xef\xbb\xbf" + VALID.encode(),
        VALID.replace("\n", "\r\n").encode(),
        b"%YAML 1.2\n---\n" + VALID.encode() + b"...\n",
        (VALID + "# grün 🚀\nx-note: since 2026-11-21\n").encode(),
    ],
)
def test_text_in_other_encodings_is_read(content: bytes) -> None:
    assert parse(content, "x.yaml").spec.node_pools[0].max_size == 8


def test_places_count_the_same_with_windows_line_ends() -> None:
    broken = VALID.replace("maxSize: 8", "maxSize: -8")
    unix = problem_of(lambda: parse(broken.encode(), "x.yaml"))
    windows = problem_of(lambda: parse(broken.replace("\n", "\r\n").encode(), "x.yaml"))
    assert unix == windows
    assert unix.place == "x.yaml:6:55"


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(VALID)
    assert load(path).spec.metadata.name == "atlas"


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VALID.encode())))
    loaded = load("-")
    assert loaded.document.path == "<stdin>"
    assert loaded.spec.metadata.name == "atlas"


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(3 * MAX_BYTES)
    problem = problem_of(lambda: load(path))
    assert problem.message == "the file is 3.0 MiB; the limit is 1 MiB"
    assert problem.line is None


def test_an_endless_pipe_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"#" * (MAX_BYTES + 2))))
    assert problem_of(lambda: load("-")).message == "the file is more than 1 MiB; the limit is 1 MiB"


def test_the_largest_file_is_read() -> None:
    filling = "#" * (MAX_BYTES - len(VALID))
    assert parse((VALID + filling).encode(), "x.yaml").spec.metadata.name == "atlas"


def test_a_directory(tmp_path: Path) -> None:
    problem = problem_of(lambda: load(tmp_path))
    assert (problem.message, problem.hint) == ("expected a file, got a directory", "Give the path of the spec file")
    (tmp_path / "cluster.yaml").write_text(VALID)
    assert problem_of(lambda: load(tmp_path)).hint == f"Did you mean {tmp_path / 'cluster.yaml'}?"


@pytest.mark.parametrize(
    ("present", "hint"),
    [
        ([], "Run `mlcluster init` to create a spec"),
        (["clusters.yml", "other.yaml"], "Did you mean {}/clusters.yml?"),
        (["atlas.yaml"], "Did you mean {}/atlas.yaml?"),
        (["one.yaml", "two.yaml"], "Run `mlcluster init` to create a spec"),
    ],
)
def test_a_missing_file(tmp_path: Path, present: list[str], hint: str) -> None:
    for name in present:
        (tmp_path / name).write_text(VALID)
    problem = problem_of(lambda: load(tmp_path / "cluster.yaml"))
    assert (problem.message, problem.hint) == ("the file does not exist", hint.format(tmp_path))


def test_a_missing_directory(tmp_path: Path) -> None:
    problem = problem_of(lambda: load(tmp_path / "no" / "cluster.yaml"))
    assert problem.hint == f"The directory {tmp_path / 'no'} does not exist either"


def test_a_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert (
        problem_of(lambda: load(tmp_path / "file" / "cluster.yaml")).message == "cannot read the file: Not a directory"
    )


def test_a_name_that_no_file_can_have() -> None:
    assert problem_of(lambda: load("a\x00b")).message == "cannot read the file: invalid file name"


def test_a_file_without_read_permission_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, whom no mode bits stop."""

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, os.strerror(13), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert problem_of(lambda: load(tmp_path / "cluster.yaml")).message == "no permission to read the file"
