"""Every controller that a lab can run."""

from collections.abc import Mapping

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.lab.controllers.controller import Controller
from mlcluster.lab.controllers.jobs import JobSet, KubeRay, MpiOperator, Trainer
from mlcluster.lab.controllers.kueue import Kueue

CONTROLLERS: Mapping[str, Controller] = {
    found.name: found for found in (JobSet(), Trainer(), MpiOperator(), KubeRay(), Kueue())
}
"""Controllers by component name, in start order: Kueue is last, so that it finds the kinds that it manages."""


def controller(name: str) -> Controller:
    """Return the controller of component `name`.

    Raises:
        MlclusterError: a lab cannot run it.
    """
    if name not in CONTROLLERS:
        raise MlclusterError(
            f"starting {name}",
            "a lab cannot run this controller as a process",
            f"Choose one of {', '.join(CONTROLLERS)}.",
            exit_code=ExitCode.USAGE,
        )
    return CONTROLLERS[name]
