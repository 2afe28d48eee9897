"""Apply the changes of a preview: the prerequisites of the stacks, the stacks, and the steps after them."""

from collections.abc import Iterable

from mlcluster.deploy.apply.outputs import outputs_document, outputs_text
from mlcluster.deploy.apply.quota_counts import wait_until_counted
from mlcluster.deploy.apply.readiness import wait_until_settled
from mlcluster.deploy.lab_processes import start_processes, stop_processes, stop_unwanted
from mlcluster.deploy.node_labels import put_labels_first, put_marks
from mlcluster.deploy.ownership.adoption import restart_releases
from mlcluster.deploy.ownership.baseline import note_found
from mlcluster.deploy.ownership.foreign_fields import remove_added
from mlcluster.deploy.preview.changes import Preview
from mlcluster.deploy.preview.chart_failures import charts_explained
from mlcluster.deploy.preview.checks import check_cluster
from mlcluster.deploy.removal.namespaces import installed_releases
from mlcluster.deploy.removal.queues import hold_queues
from mlcluster.deploy.removal.residue import clean_up_removed
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.session import Session, open_session
from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.engine.events import Changes
from mlcluster.errors import MlclusterError
from mlcluster.report.screen import Screen


def apply(session: Session, found: Preview, screen: Screen, *, refresh: bool, done: int = 0) -> None:
    """Apply a preview to the cluster of a session, and print the result.

    Args:
        refresh: the engine reads the live objects first.
        done: how many changes the same command has made before.
    """
    plan, live, progress = session.plan, session.cluster, session.progress
    done += len(found.nodes)
    owner.claim(live.kube, session.workspace.spec.metadata.name, home_of(session.workspace))
    start_processes(plan, live, session.tools, progress)
    hold_queues(live.kube, [one.name for one in found.destroyed if one.kind == "namespace"], progress)
    note_found(plan, live.kube, _held(session.stacks))
    before = installed_releases(session.platform)
    put_labels_first(session.workspace, live.kube, progress)
    restarted = restart_releases(plan, live, session.stacks, progress)
    for stack, changes in zip(session.stacks, found.changes, strict=True):
        if changes or restarted or not stack.engine.exists():
            done += _apply_stack(stack, changes, session, screen, refresh=refresh)
    clean_up_removed(live.kube, before, session.platform, progress, nodes=live.lab is None)
    remove_added(plan, live.kube, progress)
    put_marks(session.workspace, live.kube, progress)
    stop_unwanted(plan, live, progress)
    wait_until_settled(plan, live.kube, progress)
    wait_until_counted(plan, live.kube, progress)
    outputs = outputs_document(session.workspace, live, done)
    screen.result("UpResult", outputs_text(session.workspace, live), outputs)


def apply_from_nothing(session: Session, found: Preview, screen: Screen, *, refresh: bool) -> None:
    """Apply the stack of the AWS resources, then open the cluster that it made and apply the planned platform."""
    workspace = session.workspace
    done = _apply_stack(session.stacks[0], found.changes[0], session, screen, refresh=refresh)
    with open_session(workspace, session.progress, start=True, tools=session.tools) as opened:
        if opened.live is None:
            raise MlclusterError("opening the cluster", "its stack tells no kubeconfig", "run up again")
        check_cluster(opened, screen, adopt=True)
        platform = Session(workspace, opened.tools, opened.live, opened.stacks[1:], opened.progress)
        planned = Preview([Changes(()) for _ in platform.stacks], [], [])
        apply(platform, planned, screen, refresh=refresh, done=done)


def stop_started_lab(session: Session) -> None:
    """Stop the lab if this run started it: a declined `up` leaves nothing running that it started."""
    live = session.live
    if live is not None and live.started and live.lab is not None:
        stop_processes(live, session.progress)
        live.lab.stop(session.progress)


def _held(stacks: Iterable[Stack]) -> set[str]:
    """Return the plan ids that the stacks hold already."""
    return {resource.plan_id for stack in stacks for resource in stack.engine.resources()}


def _apply_stack(stack: Stack, changes: Changes, session: Session, screen: Screen, *, refresh: bool) -> int:
    """Apply one stack; return how many resources changed."""
    title = f"applying {stack.title}"
    with charts_explained(session.plan), screen.operation(title, len(changes.effective)) as take:
        return len(stack.engine.up(take, refresh=refresh).changes.effective)
