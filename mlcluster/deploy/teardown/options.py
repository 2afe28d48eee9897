"""The arguments of `mlcluster down`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TeardownOptions:
    """What the user asks of a teardown.

    Attributes:
        yes: ask nothing.
        plan: only show what would be deleted.
        delete_retained: plan ids of what is kept unless it is named here.
    """

    yes: bool = False
    plan: bool = False
    delete_retained: tuple[str, ...] = ()
