"""The recorded settings of a stack: its cluster, and the provider that wrote its state."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, cast

from mlcluster.engine.files import write_private
from mlcluster.errors import MlclusterError

Provider = Literal["builtin", "official"]


@dataclass(frozen=True, slots=True)
class StackSettings:
    """The settings that the first `up` records.

    Attributes:
        cluster_uid: UID of the kube-system namespace, "" while no cluster is known.
        provider: the Kubernetes provider that wrote the state.
        target: eks, existing or local.
        spec_name: `metadata.name` of the spec.
        lab: on `local`, the name of the lab; "" on other targets, and in settings of earlier versions.
    """

    cluster_uid: str
    provider: Provider
    target: str
    spec_name: str
    lab: str = ""

    def check(self, now: "StackSettings") -> None:
        """Refuse a run for another cluster or with another provider.

        Raises:
            MlclusterError: the recorded settings differ from the present ones.
        """
        doing = f"opening the stack {self.spec_name}"
        if self.provider != now.provider:
            raise MlclusterError(
                doing,
                f"the {self.provider} Kubernetes provider wrote its state, and this run uses the {now.provider} one",
                f"Set `kubernetesProvider: {self.provider}` under `target` in the spec (`eks` and `existing`). "
                f"To change the provider, run `mlcluster down` with that setting first.",
            )
        if self.cluster_uid and now.cluster_uid and self.cluster_uid != now.cluster_uid:
            raise MlclusterError(
                doing,
                f"it belongs to the cluster with UID {self.cluster_uid}, but the kubeconfig leads to {now.cluster_uid}",
                "Choose the context of the first cluster, or give this cluster another metadata.name.",
            )

    def merged(self, now: "StackSettings") -> "StackSettings":
        """Return the settings to record after a run: the newer ones, with the recorded UID if there is one."""
        return replace(now, cluster_uid=now.cluster_uid or self.cluster_uid)


def read_settings(path: Path) -> StackSettings | None:
    """Return the recorded settings; None if the stack has none. Keys of newer versions of mlcluster are ignored.

    Raises:
        MlclusterError: the file exists but is not readable. A guess could change the wrong cluster.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        provider = {"builtin": "builtin", "official": "official"}[found["provider"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MlclusterError(
            "reading the stack's settings",
            f"{path} was not written by mlcluster, or is damaged ({error})",
            "Restore the file from a backup. It identifies the cluster of the stack.",
        ) from error
    text = {key: str(found.get(key, "")) for key in ("cluster_uid", "target", "spec_name", "lab")}
    return StackSettings(provider=cast("Provider", provider), **text)


def write_settings(path: Path, settings: StackSettings) -> None:
    """Write the settings atomically."""
    write_private(path, json.dumps(asdict(settings), indent=2, sort_keys=True) + "\n")
