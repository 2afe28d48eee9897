"""The stack of the AWS resources of an `eks` cluster, and the kubeconfig from its outputs."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from mlcluster.deploy.session.stack import AWS, TITLES, Stack, home_of, project_of, settings_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.engine.files import write_private
from mlcluster.engine.programs import load
from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress
from mlcluster.spec.eks import EksTarget

CONTROL_PLANE = "aws:eks/cluster:Cluster"
"""Type of the control plane in the state, which the component of `eks` makes."""


def open_cloud_stack(workspace: Workspace, binary: Path, progress: Progress, cluster_uid: str = "") -> Stack:
    """Return the stack of the AWS resources.

    Raises:
        MlclusterError: the spec is for another target.
    """
    target = workspace.spec.target
    if not isinstance(target, EksTarget):
        raise MlclusterError("opening the stack of the AWS resources", f"the target {target.kind} has none")
    module = load(AWS)

    def program() -> None:
        module.program(workspace.plan, region=target.region, account_id=target.account_id, profile=target.profile)

    settings = settings_of(workspace, cluster_uid)
    engine = Engine(home_of(workspace), project_of(AWS), program, settings, binary, tell=progress.say)
    return Stack(TITLES[AWS], engine)


def outputs_of(stack: Stack) -> dict[str, Any]:
    """Return the outputs of the stack; {} before there is a control plane, and after it is deleted.

    The engine keeps a stack's outputs until the stack is empty: after a `down` that failed at the VPC they would lead
    to an API server that is no more.
    """
    if not stack.engine.exists():
        return {}
    has_cluster = any(entry.type == CONTROL_PLANE for entry in stack.engine.resources())
    return stack.engine.outputs() if has_cluster else {}


def values_of(stack: Stack) -> Mapping[str, Mapping[str, str]]:
    """Return the values that objects of the platform refer to: resource id -> output -> value."""
    found: Mapping[str, Mapping[str, str]] = outputs_of(stack).get("values") or {}
    return found


def write_kubeconfig(workspace: Workspace, outputs: Mapping[str, Any]) -> Path | None:
    """Write the kubeconfig with access for its owner only, and return its path; None before there is a cluster.

    It holds no secret: `aws eks get-token` creates a new token for each call, with the profile of the spec.
    """
    found = outputs.get("kubeconfig")
    if not found:
        return None
    config = json.loads(found) if isinstance(found, str) else found
    target = workspace.spec.target
    text = json.dumps(with_profile(config, target.profile if isinstance(target, EksTarget) else None), indent=2)
    path = home_of(workspace).root / "kubeconfig"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_private(path, text)
    return path


def with_profile(config: Mapping[str, Any], profile: str | None) -> dict[str, Any]:
    """Return the kubeconfig whose calls of `aws` name this profile; None leaves the choice to the environment.

    The eks component exports the form without a profile (pulumi-eks, cluster.ts: kubeconfigWithoutProfile). `--profile`
    and not AWS_PROFILE: keys in the environment win over the variable, and not over the option.
    """
    changed: dict[str, Any] = deepcopy(dict(config))
    for user in changed.get("users") or []:
        plugin = (user.get("user") or {}).get("exec") or {}
        if profile and plugin.get("command") == "aws":
            plugin["args"] = [*_without_profile(plugin.get("args") or []), "--profile", profile]
    return changed


def _without_profile(arguments: list[str]) -> list[str]:
    """Return the arguments without `--profile NAME` and `--profile=NAME`."""
    names = [place + 1 for place, argument in enumerate(arguments) if argument == "--profile"]
    return [
        argument
        for place, argument in enumerate(arguments)
        if place not in names and argument != "--profile" and not argument.startswith("--profile=")
    ]
