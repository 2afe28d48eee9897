"""The cloud's half of an `eks` cluster: its stack, and the way from its outputs to the Kubernetes API."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcluster.engine.engine import Engine
from mlcluster.engine.files import write_private
from mlcluster.engine.programs import load
from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import Stage, home_of, settings_of

PROJECT = "mlcluster-eks"
CONTROL_PLANE = "aws:eks/cluster:Cluster"
"""Type of the control plane in the state, which the component of `eks` makes."""


def stage_of(reading: Reading, binary: Path, progress: Progress, cluster_uid: str = "") -> Stage:
    """The stack of the AWS resources.

    Raises:
        MlclusterError: the spec is for another target.
    """
    target = reading.spec.target
    if not isinstance(target, EksTarget):
        raise MlclusterError("opening the cloud's stack", f"the target {target.kind} has none")
    module = load("eks")

    def program() -> None:
        module.program(reading.plan, region=target.region, account_id=target.account_id, profile=target.profile)

    settings = settings_of(reading, cluster_uid)
    engine = Engine(home_of(reading), PROJECT, program, settings, binary, tell=progress.say)
    return Stage("AWS", engine)


def outputs_of(stage: Stage) -> dict[str, Any]:
    """What the stack tells of the cluster; {} before there is a control plane, and after it is gone.

    The engine keeps a stack's outputs until the stack is empty: after a `down` that failed at the VPC they would lead
    to an API server that is no more.
    """
    if not stage.engine.exists():
        return {}
    standing = any(entry.type == CONTROL_PLANE for entry in stage.engine.resources())
    return stage.engine.outputs() if standing else {}


def values_of(stage: Stage) -> Mapping[str, Mapping[str, str]]:
    """What objects of the platform refer to: resource id -> output -> value."""
    found: Mapping[str, Mapping[str, str]] = outputs_of(stage).get("values") or {}
    return found


def write_kubeconfig(reading: Reading, outputs: Mapping[str, Any]) -> Path | None:
    """Writes the kubeconfig for the owner's eyes alone; None before there is a cluster.

    It holds no secret: tokens come from `aws eks get-token`, each time anew.
    """
    found = outputs.get("kubeconfig")
    if not found:
        return None
    text = found if isinstance(found, str) else json.dumps(found, indent=2)
    path = home_of(reading).root / "kubeconfig"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_private(path, text)
    return path
