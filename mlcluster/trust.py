"""Check that no other user of this machine can change a directory in which mlcluster keeps data or programs."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mlcluster.errors import MlclusterError

_ROOT = 0


def require_trusted(path: Path, doing: str, variable: str) -> Path:
    """Return the path if only this user and root can replace it or its contents.

    The check covers the owner of each existing part of the path, and whether all users may write to it. A directory
    with the sticky bit, such as /tmp, passes: in it users replace only their own files. Write access of a group is the
    owner's decision and passes too.

    Args:
        path: a directory that may not exist yet.
        doing: the operation that needs the path, as a phrase for the error.
        variable: the environment variable by which the user chooses another directory.

    Raises:
        MlclusterError: names the first part that another user can change.
    """
    us, trusted = os.geteuid(), _trusted_users()
    for part in _parts(path):
        try:
            facts = part.lstat()
        except OSError:  # the part does not exist, or its parent may not be entered: mlcluster uses nothing from it
            continue
        hint = f"Choose a directory of your own with {variable}"
        if facts.st_uid not in trusted:
            raise MlclusterError(
                doing, f"{part} belongs to user {facts.st_uid}, who can change what is in it", f"{hint}."
            )
        if _open_to_all(facts):
            close = f"`chmod o-w {part}` closes it" if facts.st_uid == us else "its owner can close it"
            happened = f"each user of this machine can change what is in {part}"
            raise MlclusterError(doing, happened, f"{hint}, or check what is in it: {close}.")
    return path


def is_open_to_all(program: Path) -> bool:
    """Return whether each user of this machine can replace or rewrite a program."""
    try:
        return any(_open_to_all(part.lstat()) for part in _parts(program))
    except OSError:
        return True


def _trusted_users() -> set[int]:
    """Return the IDs of this user and root; for root also that of the owner of $HOME, which sudo and CI keep."""
    us = os.geteuid()
    home = os.environ.get("HOME")
    if us != _ROOT or not home:
        return {us, _ROOT}
    try:
        return {_ROOT, Path(home).stat().st_uid}
    except OSError:
        return {_ROOT}


def _parts(path: Path) -> Iterator[Path]:
    """Yield each directory and link on the way to a path, from the root: first unresolved, then with links resolved."""
    seen: set[Path] = set()
    for whole in (path.absolute(), Path(os.path.realpath(path))):
        for part in (*reversed(whole.parents), whole):
            if part not in seen:
                seen.add(part)
                yield part


def _open_to_all(facts: os.stat_result) -> bool:
    if stat.S_ISLNK(facts.st_mode):
        return False
    return bool(facts.st_mode & stat.S_IWOTH) and not (stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX)
