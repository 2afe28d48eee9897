"""The search at the end of `down` on `eks`: resources of the cluster that are still in the account, and their cost."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mlcluster.aws.session import has_credentials, open_account
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.report.screen import Screen
from mlcluster.report.standard_output import use_color
from mlcluster.spec.eks import EksTarget

if TYPE_CHECKING:
    from mlcluster.aws.session import Account

ATTEMPTS = 4
PAUSE_SECONDS = 20.0
"""AWS deletes network interfaces a minute after their owner, and their security groups are in use until then."""


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search.

    Attributes:
        left: IDs of resources that are left although nothing retains them.
        text: for people: "nothing left", or each thing with the command that removes it.
        document: the same as data.
    """

    left: tuple[str, ...]
    text: str
    document: dict[str, Any] = field(default_factory=dict)


def search(  # noqa: PLR0913 -- the scope of the search and its timing
    workspace: Workspace,
    vpc_id: str | None,
    kept: Collection[str],
    screen: Screen,
    *,
    opened: "Callable[..., Account]" = open_account,
    pause: Callable[[float], object] = time.sleep,
) -> Search:
    """Search the account; without AWS credentials, the result says that it was not searched.

    Args:
        vpc_id: of the VPC that we made, None where we made none.
        kept: IDs of retained resources.
        pause: seconds before it searches again for resources that AWS may be deleting.

    Raises:
        MlclusterError: there are credentials, and AWS does not take them.
    """
    target = workspace.spec.target
    if not isinstance(target, EksTarget):
        raise MlclusterError("looking for leftovers", f"the target {target.kind} has no account")
    if opened is open_account and not has_credentials(target.region, target.profile):
        told = "The account was not searched for leftovers: there are no AWS credentials."
        return Search((), told, {"searched": False})
    from mlcluster.aws.leftovers import leftovers_data, scan
    from mlcluster.report.leftovers_text import leftovers_text

    account = opened(target.region, target.profile, expected_account=target.account_id, progress=screen.progress)
    name = workspace.spec.metadata.name
    with screen.progress.task("looking for leftovers in the account") as task:
        found = scan(account, name, vpc_id, kept)
        for _ in range(ATTEMPTS - 1):
            if not found.left:
                break
            task.update(f"{len(found.left)} resources are still there; AWS may be about to delete them")
            pause(PAUSE_SECONDS)
            found = scan(account, name, vpc_id, kept)
    text = leftovers_text(found, color=use_color())
    return Search(tuple(thing.id for thing in found.left), text, {"searched": True, "leftovers": leftovers_data(found)})
