"""One Pulumi stack of a cluster, where it lives, and what it is for."""

import os
from dataclasses import dataclass

from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.verbs.reading import Reading

ATTACH_VARIABLE = "MLCLUSTER_ATTACH_PROVIDERS"
"""Ports of Pulumi providers that run already, e.g. "aws:5001,eks:5002": for stand-ins and debuggers."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stack of the cluster, in the order of `up`."""

    title: str
    engine: Engine


def home_of(reading: Reading) -> StackHome:
    """Where the stacks of this spec live."""
    state = reading.spec.state
    return StackHome(reading.spec.metadata.name, backend_url=state.backend, secrets_provider=state.secrets_provider)


def settings_of(reading: Reading, cluster_uid: str) -> StackSettings:
    """What this run is for; `cluster_uid` is "" while there is no cluster."""
    return StackSettings(
        cluster_uid=cluster_uid,
        provider=reading.plan.cluster.kubernetes_provider,
        target=reading.plan.cluster.target,
        spec_name=reading.spec.metadata.name,
    )


def attached() -> dict[str, int]:
    """Package -> port, from the environment; {} as a rule.

    Raises:
        MlclusterError: the variable is not a list of package:port.
    """
    found: dict[str, int] = {}
    for entry in filter(None, os.environ.get(ATTACH_VARIABLE, "").split(",")):
        package, _, port = entry.partition(":")
        if not package or not port.isdecimal():
            happened = f"{ATTACH_VARIABLE} has {entry!r}, which is not package:port"
            raise MlclusterError("attaching providers", happened, exit_code=ExitCode.USAGE)
        found[package] = int(port)
    return found
