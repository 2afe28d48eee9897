"""Questions to the user. Without a terminal nothing is asked: `--yes` and names on the command line, or an error."""

import sys
from collections.abc import Collection

from mlcluster.errors import MlclusterError
from mlcluster.verbs.destruction import Destruction, refuse_unnamed


def agreed_to_changes(changes: int, going: list[Destruction], named: Collection[str], *, yes: bool) -> bool:
    """Whether to go on with `changes` changes; what would be destroyed has to be named, on the command line or here.

    Raises:
        MlclusterError: something would be destroyed that nobody named, or there is nobody to ask.
    """
    if not changes:
        return True
    if yes or not _interactive():
        refuse_unnamed(going, named)
    if yes:
        return True
    if not _interactive():
        raise MlclusterError("asking whether to go on", "there is no terminal to ask on", "add --yes")
    for one in going:
        if one.key.lower() in {entry.lower() for entry in named}:
            continue
        told = f" with {', '.join(one.live)}" if one.live else ""
        if _ask(f"This deletes {one.key}{told}. Type {one.key} to go on: ") != one.key:
            return False
    return _ask(f"Apply {changes} changes? [y/N] ").lower() in {"y", "yes"}


def agreed_to_steps(by_hand: Collection[str], *, yes: bool) -> bool:
    """Whether the steps by hand of these upgrades are done; `--yes` says so.

    Raises:
        MlclusterError: there is nobody to ask.
    """
    if not by_hand or yes:
        return True
    if not _interactive():
        raise MlclusterError("asking whether the steps by hand are done", "there is no terminal to ask on", "add --yes")
    question = f"{', '.join(by_hand)}: are the steps listed above done, or not needed here? [y/N] "
    return _ask(question).lower() in {"y", "yes"}


def agreed_to_destroy(name: str, *, yes: bool) -> bool:
    """Whether to take the whole cluster down: its name is typed, or `--yes` stands for it.

    Raises:
        MlclusterError: there is nobody to ask.
    """
    if yes:
        return True
    if not _interactive():
        raise MlclusterError("asking whether to go on", "there is no terminal to ask on", "add --yes")
    return _ask(f"Type {name} to take it down: ") == name


def _interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()
