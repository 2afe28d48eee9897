"""Questions to the user. Without a terminal, `--yes` and names on the command line answer them, or the command fails.

No and an empty line decline. Any other answer that does not fit is named and asked again, three times in all.
"""

import sys
from collections.abc import Collection

from mlcluster.errors import ExitCode, MlclusterError

ATTEMPTS = 3
_YES, _NO = frozenset({"y", "yes"}), frozenset({"", "n", "no"})


def require_answers(*, yes: bool) -> None:
    """Check before anything starts that the questions of a command can be answered.

    Raises:
        MlclusterError: there is no `--yes` and no terminal to ask on.
    """
    if not yes and not is_interactive():
        raise MlclusterError(
            "asking whether to go on", "there is no terminal to ask on", "Add `--yes`.", exit_code=ExitCode.USAGE
        )


def agreed_to_steps(by_hand: Collection[str], *, yes: bool) -> bool:
    """Ask whether the manual steps of these upgrades are done; `--yes` answers yes.

    Raises:
        MlclusterError: there is no terminal, or no answer fits.
    """
    if not by_hand or yes:
        return True
    require_answers(yes=yes)
    return confirmed(f"{', '.join(by_hand)}: are the steps listed above done, or not needed here? [y/N] ")


def agreed_to_start(question: str, *, yes: bool) -> bool:
    """Ask whether to start processes on this machine.

    Raises:
        MlclusterError: there is no terminal, or no answer fits.
    """
    require_answers(yes=yes)
    return yes or confirmed(f"{question} [y/N] ")


def agreed_to_destroy(name: str, *, yes: bool) -> bool:
    """Ask for the name of the cluster before it is deleted; `--yes` stands for it.

    Raises:
        MlclusterError: there is no terminal, or no answer fits.
    """
    require_answers(yes=yes)
    return yes or typed(f"Type {name} to take it down: ", name)


def confirmed(question: str) -> bool:
    """Ask a question until the answer is yes or no; return whether it is yes.

    Raises:
        MlclusterError: no answer fits.
    """
    answer = ""
    for _ in range(ATTEMPTS):
        answer = _ask(question).lower()
        if answer in _YES | _NO:
            return answer in _YES
        _tell(f'"{answer}" is neither yes nor no.')
    raise _no_answer(answer, "type y or n")


def typed(question: str, wanted: str) -> bool:
    """Ask until the answer is the wanted text, or declines; return whether it is the text.

    Raises:
        MlclusterError: no answer fits.
    """
    answer = ""
    for _ in range(ATTEMPTS):
        answer = _ask(question)
        if answer == wanted:
            return True
        if answer.lower() in _NO:
            return False
        _tell(f'"{answer}" is not "{wanted}".')
    raise _no_answer(answer, f"type {wanted}, or n to decline")


def _no_answer(last: str, wanted: str) -> MlclusterError:
    happened = f'no answer out of {ATTEMPTS} fits, the last one was "{last}"; nothing was changed'
    return MlclusterError("asking whether to go on", happened, f"Run the same command again and {wanted}.")


def is_interactive() -> bool:
    """Return whether there is a terminal to ask on."""
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(question: str) -> str:
    _tell(question, end="")
    return sys.stdin.readline().strip()


def _tell(text: str, end: str = "\n") -> None:
    sys.stderr.write(text + end)
    sys.stderr.flush()
