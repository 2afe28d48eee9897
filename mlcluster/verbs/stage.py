"""One Pulumi stack of a cluster, where it lives, and what it is for."""

from dataclasses import dataclass
from pathlib import Path

from mlcluster.engine.engine import Engine
from mlcluster.engine.home import StackHome
from mlcluster.engine.settings import StackSettings
from mlcluster.spec.targets import LocalTarget
from mlcluster.verbs.reading import Reading

PROJECTS = {
    "eks": ("mlcluster-eks", "mlcluster-platform"),
    "existing": ("mlcluster-platform",),
    "local": ("mlcluster-local", "mlcluster-platform"),
}
"""By target: the Pulumi projects of its stacks."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stack of the cluster, in the order of `up`."""

    title: str
    engine: Engine


def home_of(reading: Reading) -> StackHome:
    """Where the stacks of this spec live."""
    state = reading.spec.state
    return StackHome(
        reading.spec.metadata.name,
        backend_url=state.backend,
        secrets_provider=state.secrets_provider,
        spec=str(reading.path),
    )


def lab_name(reading: Reading) -> str:
    """Return the name of the lab of a `local` spec; "" for another target."""
    target = reading.spec.target
    return (target.lab or reading.spec.metadata.name) if isinstance(target, LocalTarget) else ""


def settings_of(reading: Reading, cluster_uid: str) -> StackSettings:
    """What this run is for; `cluster_uid` is "" while there is no cluster."""
    return StackSettings(
        cluster_uid=cluster_uid,
        provider=reading.plan.cluster.kubernetes_provider,
        target=reading.plan.cluster.target,
        spec_name=reading.spec.metadata.name,
        lab=lab_name(reading),
    )


def stages_without_cluster(reading: Reading, binary: Path) -> list[Stage]:
    """The stacks of a lab that does not run, for a look at their state alone; it is known only where it is in files."""
    home, settings = home_of(reading), settings_of(reading, "")
    if home.state_files is None:
        return []
    return [
        Stage(title, Engine(home, f"mlcluster-{name}", lambda: None, settings, binary))
        for name, title in (("local", "simulated nodes"), ("platform", "platform"))
    ]
