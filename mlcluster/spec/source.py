"""Reading of a spec as text from a file or standard input."""

import difflib
import os
import re
import stat
import sys
from pathlib import Path

from mlcluster.spec.document import Position, Problem
from mlcluster.spec.yaml_reader import UnreadableError

MAX_BYTES = 1024 * 1024
STDIN = "-"
STDIN_NAME = "<stdin>"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WIDE = {b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BOM = b"\xef\xbb\xbf"
_SAVE_AS_UTF8 = "Save the file as UTF-8"


def read(path: Path | str) -> bytes:
    """Return the content of a spec file, or of standard input for "-".

    Raises:
        UnreadableError: the file is missing, a directory, not readable, or larger than 1 MiB.
    """
    if str(path) == STDIN:
        return _within_limit(sys.stdin.buffer.read(MAX_BYTES + 1), None)
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno())
            return _within_limit(file.read(MAX_BYTES + 1), size.st_size if stat.S_ISREG(size.st_mode) else None)
    except FileNotFoundError:
        raise _unreadable("the file does not exist", _nearest(Path(path))) from None
    except IsADirectoryError:
        raise _unreadable("expected a file, got a directory", _inside(Path(path))) from None
    except PermissionError:
        raise _unreadable("no permission to read the file", "Check its permissions") from None
    except (OSError, ValueError) as error:
        raise _unreadable(f"cannot read the file: {getattr(error, 'strerror', None) or 'invalid file name'}") from error


def decode(content: bytes) -> str:
    """Return the text of a spec.

    Raises:
        UnreadableError: the encoding is not UTF-8, or YAML does not allow a character.
    """
    wide = next((name for bom, name in _WIDE.items() if content.startswith(bom)), "")
    if wide:
        raise _unreadable(f"expected UTF-8, got {wide}", _SAVE_AS_UTF8)
    content = content.removeprefix(_BOM)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"expected UTF-8, got the byte 0x{content[error.start]:02x} at offset {error.start}, on line {line}"
        raise _unreadable(message, _SAVE_AS_UTF8) from None
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        raise _forbidden(text, forbidden.start())
    return text


def _within_limit(content: bytes, size: int | None) -> bytes:
    if len(content) <= MAX_BYTES:
        return content
    known = f"{size / MAX_BYTES:.1f} MiB" if size and size > MAX_BYTES * 1.1 else "more than 1 MiB"
    raise _unreadable(f"the file is {known}; the limit is 1 MiB", "Check that it is the right file")


def _forbidden(text: str, index: int) -> UnreadableError:
    before = text[:index].replace("\r\n", "\n").replace("\r", "\n")
    place = Position(before.count("\n") + 1, index - max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)))
    code = ord(text[index])
    names = {0: "a NUL byte", 0x1B: "an escape character", 0x85: "a next-line character", 0xFEFF: "a byte order mark"}
    what = names.get(code, "a line separator" if code in {0x2028, 0x2029} else "a control character")
    return UnreadableError(Problem((), f"the text contains {what} (U+{code:04X})", "Remove it", at=place))


def _nearest(path: Path) -> str:
    """Return the hint for a file that does not exist."""
    directory = path.parent
    if not directory.is_dir():
        return f"The directory {directory} does not exist either"
    try:
        names = sorted(entry.name for entry in directory.iterdir() if entry.suffix in {".yaml", ".yml"})
    except OSError:
        return ""
    stems = {name.rpartition(".")[0]: name for name in names}
    close = difflib.get_close_matches(path.stem, stems, n=1, cutoff=0.5)
    if close or len(names) == 1:
        return f"Did you mean {directory / (stems[close[0]] if close else names[0])}?"
    return "Run `mlcluster init` to create a spec"


def _inside(path: Path) -> str:
    return (
        f"Did you mean {path / 'cluster.yaml'}?"
        if (path / "cluster.yaml").is_file()
        else "Give the path of the spec file"
    )


def _unreadable(message: str, hint: str = "") -> UnreadableError:
    return UnreadableError(Problem((), message, hint))
