"""The program of the platform stack with its readiness checks, for the engine."""

from collections.abc import Callable

from mlcluster.errors import MlclusterError
from mlcluster.kube.gates import Gates


class PlatformProgram:
    """A Pulumi program that waits for releases; each run of it begins with fresh gates.

    Args:
        run: registers the resources, given what to ask before those that need a release.
        gates: makes the gates.
    """

    def __init__(self, run: Callable[[Gates], object], gates: Callable[[], Gates]) -> None:
        self._run = run
        self._make = gates
        self._gates: Gates | None = None

    def __call__(self) -> None:
        self._gates = self._make()
        self._run(self._gates)

    @property
    def failure(self) -> MlclusterError | None:
        """Why the first wait of the last run that failed did so."""
        return None if self._gates is None else self._gates.failure

    def stop(self) -> None:
        """Ends every wait of the last run."""
        if self._gates is not None:
            self._gates.stop()
