"""Programs that a command needs: the engine, on `local` those of the lab, and Helm for releases."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress

if TYPE_CHECKING:
    from mlcluster.lab.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class Tools:
    """Paths of programs; `toolchain` only where a lab is needed."""

    pulumi: Path
    toolchain: "Toolchain | None"


def tools_of(workspace: Workspace, progress: Progress) -> Tools:
    """Find the programs, and build those that are missing (about ten minutes, announced first).

    On `local` the controllers that the plan runs as processes are among them.
    """
    from mlcluster.lab.toolchain import ensure, ensure_optional, find_tool, optional

    if workspace.plan.cluster.target != "local":
        found = find_tool("pulumi")
        if found is not None:
            _provide_helm(workspace, progress)
            return Tools(found, None)
    running = {release.name for release in workspace.plan.releases if release.realisation == "process"}
    controllers = [name for name in optional.NAMES if name in running]
    toolchain = ensure(progress, keep_caches=bool(controllers))  # they share most of their source modules
    ensure_optional(controllers, progress)
    return Tools(toolchain.path("pulumi"), toolchain)


def engine_of(progress: Progress) -> Path:
    """Return the Pulumi engine alone, built when it is missing: all that a command on plugins needs."""
    from mlcluster.lab.toolchain import ensure_tool

    return ensure_tool("pulumi", progress)


def _provide_helm(workspace: Workspace, progress: Progress) -> None:
    """Find the Helm executable that the built-in provider runs, or build it; the official plugin brings its own.

    Raises:
        MlclusterError: `MLCLUSTER_HELM` names no program, or Helm cannot be built.
    """
    from mlcluster.kubernetes_provider.helm import HELM, find_helm
    from mlcluster.lab.toolchain import ensure_tool

    releases = [release.name for release in workspace.plan.releases if release.realisation == "helm"]
    if workspace.plan.cluster.kubernetes_provider == "official" or not releases or find_helm() is not None:
        return
    doing, needed = "looking for Helm", f"{', '.join(releases)} need it"
    given = os.environ.get(HELM)
    if given:
        hint = f"Name a Helm 3 executable in {HELM}, or unset it."
        raise MlclusterError(doing, f"{HELM} is {given}, which is not a program; {needed}", hint)
    try:
        ensure_tool("helm", progress)
    except MlclusterError as error:
        hint = f"Put Helm 3 on PATH, or name it in {HELM}."
        raise MlclusterError(
            doing, f"there is no Helm 3 on PATH ({needed}), and it could not be built: {error}", hint
        ) from error
