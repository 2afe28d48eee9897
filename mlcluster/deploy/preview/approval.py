"""Ask the user to approve the changes of a preview; destructive changes are approved by name."""

from collections.abc import Collection

from mlcluster.deploy.preview.destruction import Destruction, refuse_unnamed
from mlcluster.deploy.session.prompts import confirmed, is_interactive, require_answers, typed
from mlcluster.report.numbers import counted


def agreed_to_changes(
    changes: int, going: list[Destruction], named: Collection[str], *, yes: bool, agreed: bool = False
) -> bool:
    """Ask whether to apply the changes; each destructive one is named on the command line or at a prompt.

    Args:
        changes: how many there are.
        going: the resources that they destroy.
        named: the resources that the command line allows to destroy.
        yes: do not ask.
        agreed: the user has already confirmed the plan; only destructive changes need confirmation.

    Raises:
        MlclusterError: an unnamed resource would be destroyed, there is no terminal, or no answer fits.
    """
    if not changes:
        return True
    if yes or not is_interactive():
        refuse_unnamed(going, named)
    if yes:
        return True
    require_answers(yes=yes)
    for one in going:
        if one.key.lower() in {entry.lower() for entry in named}:
            continue
        told = f" with {', '.join(one.live)}" if one.live else ""
        if not typed(f"This deletes {one.key}{told}. Type {one.key} to go on: ", one.key):
            return False
    return agreed or confirmed(f"Apply {counted(changes, 'change', 'changes')}? [y/N] ")
