"""Steps between versions: of Kubernetes on `eks`, and of components everywhere."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from mlcluster.catalog.eks import eks_version
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.findings import Finding, finding
from mlcluster.report.installed_text import upgrades_document, upgrades_text
from mlcluster.report.screen import Screen
from mlcluster.rules.installed import Discovery
from mlcluster.rules.upgrades import Deployed, Upgrade, kubernetes_range, upgrade_findings, upgrades

WHERE = ("target", "kubernetesVersion")
OLDEST_KUBELET = 3
"""A kubelet may be this many minors behind the control plane (kubernetes.io/releases/version-skew-policy)."""


def version_findings(
    workspace: Workspace, outputs: Mapping[str, Any], live: LiveCluster | None, today: date | None = None
) -> tuple[Finding, ...]:
    """Yield VER001 to VER003 for the step from the live version to that of the spec.

    Args:
        outputs: of the AWS stack; `kubernetesVersion` is the version of the last `up`, absent before the first.
        live: the cluster, None before there is one.
        today: for the end of support; default: the day it is, UTC.
    """
    wanted, running = workspace.plan.cluster.kubernetes_version, str(outputs.get("kubernetesVersion") or "")
    made = [*_support(wanted, today or datetime.now(tz=UTC).date())]
    if running and running != wanted:
        made += _step(running, wanted)
        made += _nodes(workspace, wanted, live)
    return tuple(made)


def component_steps(
    workspace: Workspace, deployed: Iterable[Deployed], already: Discovery | None
) -> tuple[Upgrade, ...]:
    """Return every component that gets another version, compared with the state, else with the managed releases found.

    Args:
        already: the installed components; labeled releases count even if the state has lost them.
    """
    known = {(one.namespace, one.name): one for one in deployed if one.version}
    for one in already.seen.releases if already else ():
        if one.cluster == workspace.plan.cluster.name and one.version:
            known.setdefault((one.namespace, one.name), Deployed(one.namespace, one.name, one.chart, one.version))
    return upgrades(workspace.plan, known.values())


def component_findings(
    workspace: Workspace, changing: tuple[Upgrade, ...], already: Discovery | None
) -> tuple[Finding, ...]:
    """Yield UPG001 and UPG002 for the steps, and UPG003 if only the API server knows its version."""
    made = [*upgrade_findings(changing)]
    if already is not None and not workspace.plan.cluster.kubernetes_version:
        made += kubernetes_range(workspace.plan, already.seen.kubernetes)
    return tuple(made)


def show_steps(changing: tuple[Upgrade, ...], screen: Screen) -> None:
    """Show which components change their version, with the steps to take."""
    if changing:
        screen.result("Upgrades", upgrades_text(changing), {"upgrades": upgrades_document(changing)})


def by_hand(workspace: Workspace, changing: tuple[Upgrade, ...]) -> list[str]:
    """Return the components whose manual upgrade steps must be done before `up` continues."""
    if any(entry.id == "UPG002" for entry in workspace.spec.allow):
        return []
    return [f"{one.title} {one.wanted}" for one in changing if one.assessment.verdict == "manual"]


def path_between(running: str, wanted: str) -> list[str]:
    """Return every minor to go through, the last one included: 1.32 to 1.34 is 1.33, 1.34."""
    return [f"1.{minor}" for minor in range(_minor(running) + 1, _minor(wanted) + 1)]


def _minor(version: str) -> int:
    return int(version.lstrip("v").split(".")[1].rstrip("+"))


def _support(wanted: str, today: date) -> Iterator[Finding]:
    pins = eks_version(wanted)
    if pins is None or not pins.standard_support_ends:
        return
    if date.fromisoformat(pins.standard_support_ends) < today:
        message = f"standard support of Kubernetes {wanted} ended on {pins.standard_support_ends}"
        yield finding("VER002", WHERE, message, "go to a newer minor, one at a time; extended support costs more")


def _step(running: str, wanted: str) -> Iterator[Finding]:
    if _minor(wanted) < _minor(running):
        message = f"the cluster runs {running}, and EKS does not downgrade to {wanted}"
        yield finding("VER001", WHERE, message, f'set kubernetesVersion: "{running}"')
    elif len(path_between(running, wanted)) > 1:
        steps = path_between(running, wanted)
        message = f"from {running} to {wanted} are {len(steps)} minors, and EKS takes one at a time"
        yield finding("VER001", WHERE, message, f"run `mlcluster up` with {', then '.join(steps)}")


def _nodes(workspace: Workspace, wanted: str, live: LiveCluster | None) -> Iterator[Finding]:
    if live is None:
        return
    nodes = live.kube.list("v1", "Node")
    oldest = [_minor(node["status"]["nodeInfo"]["kubeletVersion"]) for node in nodes if _tells_version(node)]
    if oldest and _minor(wanted) - min(oldest) > OLDEST_KUBELET:
        message = f"a node runs Kubernetes 1.{min(oldest)}, too old for a control plane of {wanted}"
        yield finding("VER001", WHERE, message, "replace that node first")
    for index, pool in enumerate(workspace.plan.pools):
        mine = [node for node in nodes if _in_pool(node, dict(pool.selector))]
        if pool.capacity_type == "capacityBlock" and mine:
            message = f"pool {pool.name} has {len(mine)} nodes of a capacity block; EKS updates its group only at zero"
            yield finding("VER003", ("nodePools", index, "capacity"), message, "upgrade before or after the block")


def _tells_version(node: Mapping[str, Any]) -> bool:
    return bool(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion"))


def _in_pool(node: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    present = node["metadata"].get("labels") or {}
    return all(present.get(key) == value for key, value in labels.items())
