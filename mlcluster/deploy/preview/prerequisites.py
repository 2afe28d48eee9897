"""Prerequisites of the engine on this machine: its plugins, and the AWS CLI for EKS.

The engine finds out late: it asks for a plugin when the first resource of it is registered, and the eks component asks
for the AWS CLI when it is constructed.
"""

from collections.abc import Callable

from mlcluster.aws.cli import find_aws_cli
from mlcluster.checks.model import Check, State
from mlcluster.checks.plugins import plugin_checks
from mlcluster.checks.programs import aws_cli_check
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine import plugins
from mlcluster.engine.plugin_pins import Presence, all_plugins, look_for, needed_plugins
from mlcluster.errors import MlclusterError

Looking = Callable[[Workspace], list[Check]]


def prerequisites(workspace: Workspace) -> list[Check]:
    """Return a check for each plugin that the plan needs, and one for the AWS CLI where the eks component runs.

    An attached eks component (PULUMI_DEBUG_PROVIDERS) looks after its own needs.
    """
    checks = plugin_checks(presences(workspace), str(workspace.path))
    if workspace.plan.cluster.target == "eks" and "eks" not in plugins.attached():
        checks.append(aws_cli_check(find_aws_cli(), needed=True))
    return checks


def require(workspace: Workspace, look: Looking = prerequisites) -> None:
    """Stop a run whose engine would fail because a program or plugin is missing on this machine.

    Raises:
        MlclusterError: names everything that is missing, with the fix of each.
    """
    missing = [check for check in look(workspace) if check.state is State.PROBLEM]
    if missing:
        happened = "\n  ".join(f"{check.name}: {check.found}" for check in missing)
        fixes = " ".join(dict.fromkeys(check.fix for check in missing))
        raise MlclusterError("checking this machine", happened, fixes)


def presences(workspace: Workspace | None) -> list[Presence]:
    """Return where each plugin is that this spec needs; without a spec each that any spec may need."""
    attached = plugins.attached()
    if workspace is None:
        return look_for(all_plugins(), "builtin", {})
    cluster = workspace.plan.cluster
    pins = needed_plugins(cluster.target, cluster.kubernetes_provider, attached)
    return look_for(pins, cluster.kubernetes_provider, attached)
