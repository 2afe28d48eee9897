"""The steps of `down`, in order, for each target.

Each step is idempotent: it deletes the rest of its part. So an interrupted `down` continues when
it is run again, from the first step.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mlcluster.deploy.lab_processes import stop_processes
from mlcluster.deploy.node_labels import take_off_marks
from mlcluster.deploy.ownership.adoption import take_over_rest
from mlcluster.deploy.ownership.baseline import forget_found
from mlcluster.deploy.ownership.unplanned import delete_unplanned
from mlcluster.deploy.removal.namespaces import empty_namespaces, installed_releases
from mlcluster.deploy.removal.queues import hold_queues
from mlcluster.deploy.removal.residue import clean_up, ever_installed
from mlcluster.deploy.session import owner
from mlcluster.deploy.teardown.stacks import destroy, destroy_platform
from mlcluster.deploy.teardown.teardown import Teardown
from mlcluster.deploy.teardown.volumes import delete_load_balancers, delete_volumes


@dataclass(frozen=True, slots=True)
class Step:
    """One idempotent part of a teardown.

    Attributes:
        title: the action of the step.
        needs_cluster: skip the step where the cluster is gone: its objects are gone with it.
    """

    title: str
    run: Callable[[Teardown], None]
    needs_cluster: bool = True


def run_steps(steps: Iterable[Step], teardown: Teardown) -> None:
    """Run the steps in order; the first that fails ends the teardown.

    Raises:
        MlclusterError: a step failed.
    """
    for step in steps:
        if teardown.session.live is not None or not step.needs_cluster:
            step.run(teardown)


def _adopt_objects(teardown: Teardown) -> None:
    session = teardown.session
    take_over_rest(session.plan, session.cluster, session.stacks, session.progress)


def _delete_unplanned(teardown: Teardown) -> None:
    delete_unplanned(teardown.kube, teardown.unplanned, teardown.session.progress)


def _recover_stacks(teardown: Teardown) -> None:
    """An engine of a killed run may still create resources that the next steps delete."""
    for stack in teardown.session.stacks:
        stack.engine.recover_if_owner_dead()


def _list_releases(teardown: Teardown) -> None:
    teardown.releases = ever_installed(teardown.kube, installed_releases(teardown.session.platform))


def _stop_queues(teardown: Teardown) -> None:
    held = teardown.session.platform.engine.resources()
    queues = [entry.identity.name for entry in held if entry.identity.kind == "ClusterQueue"]
    hold_queues(teardown.kube, queues, teardown.session.progress)


def _empty_namespaces(teardown: Teardown) -> None:
    platform = teardown.session.platform
    if releases := installed_releases(platform):
        empty_namespaces(teardown.kube, platform.engine.home.name, releases, teardown.session.progress)


def _delete_load_balancers(teardown: Teardown) -> None:
    delete_load_balancers(teardown.kube, teardown.session.progress)


def _delete_platform(teardown: Teardown) -> None:
    destroy_platform(teardown.kube, teardown.session.platform, teardown.screen, nodes=teardown.has_real_nodes)


def _remove_residue(teardown: Teardown) -> None:
    progress, nodes = teardown.session.progress, teardown.has_real_nodes
    teardown.kept = clean_up(teardown.kube, teardown.releases, progress, nodes=nodes)


def _forget_baseline(teardown: Teardown) -> None:
    forget_found(teardown.kube)


def _restore_nodes(teardown: Teardown) -> None:
    take_off_marks(teardown.kube, teardown.session.progress)


def _stop_lab_processes(teardown: Teardown) -> None:
    stop_processes(teardown.session.cluster, teardown.session.progress)


def _delete_volumes(teardown: Teardown) -> None:
    delete_volumes(teardown.kube, teardown.session.progress)


def _release_ownership(teardown: Teardown) -> None:
    owner.release(teardown.kube)


def _delete_simulated_nodes(teardown: Teardown) -> None:
    for stack in reversed(teardown.session.stacks[:-1]):
        destroy(stack, teardown.screen)


def _stop_retaining(teardown: Teardown) -> None:
    engine = teardown.session.stacks[0].engine
    if teardown.delete_retained and engine.exists():
        engine.stop_retaining(teardown.delete_retained)


def _delete_aws_resources(teardown: Teardown) -> None:
    destroy(teardown.session.stacks[0], teardown.screen)


def _forget_platform(teardown: Teardown) -> None:
    if teardown.platform_state is not None:
        teardown.platform_state.abandon()


_STATE = (
    Step("add objects that the state misses to the state", _adopt_objects),
    Step("delete labeled objects outside of the stacks", _delete_unplanned),
)
_TENANTS = (
    Step("stop the ClusterQueues and drain them", _stop_queues),
    Step("delete the namespaces of teams while the controllers run", _empty_namespaces),
)
_PLATFORM = (
    *_STATE,
    Step("recover stacks that a killed run left locked", _recover_stacks),
    Step("list the Helm releases to uninstall", _list_releases),
    *_TENANTS,
    Step("delete the platform", _delete_platform),
    Step("remove what uninstalled Helm releases left", _remove_residue),
    Step("delete the record of what was installed before", _forget_baseline),
)
STEPS: Mapping[str, tuple[Step, ...]] = {
    "existing": (
        *_PLATFORM,
        Step("remove labels and taints from nodes", _restore_nodes),
        Step("delete the record of the owner", _release_ownership),
    ),
    "local": (
        *_PLATFORM,
        Step("stop the controllers of the lab", _stop_lab_processes),
        Step("delete the simulated nodes", _delete_simulated_nodes),
        Step("delete the record of the owner", _release_ownership),
    ),
    "eks": (
        *_STATE,
        *_TENANTS,
        Step("delete load balancers while their controller runs", _delete_load_balancers),
        Step("delete the platform", _delete_platform),
        Step("delete volumes while their CSI drivers run", _delete_volumes),
        Step("delete the record of the owner", _release_ownership),
        Step("stop retaining what the user named", _stop_retaining, needs_cluster=False),
        Step("delete the AWS resources", _delete_aws_resources, needs_cluster=False),
        Step("forget the platform", _forget_platform, needs_cluster=False),
    ),
}
"""Target -> its steps. Controllers outlive the objects that they delete; the cluster outlives its objects."""
