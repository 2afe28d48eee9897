"""Checks of `doctor` on the surroundings of a cluster: backend, locks, credentials, and the cluster itself."""

import os
import tempfile
from functools import partial
from pathlib import Path

from mlcluster.aws.session import open_account, require_credentials
from mlcluster.checks.model import Check, Question, ok, warning
from mlcluster.checks.stacks import BACKEND, file_backend_check, lock_checks, remote_backend_check
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import PERMISSIONS, is_eks, kubeconfig_of, lab_of
from mlcluster.deploy.session.deleted_lab import refuse_lost
from mlcluster.deploy.session.stack import PROGRAMS, home_of, project_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.locks import read_locks
from mlcluster.kube.client import Kube
from mlcluster.kube.preflight import preflight
from mlcluster.lab import lock
from mlcluster.lab.toolchain import find_tool
from mlcluster.processes import ask
from mlcluster.spec.eks import EksTarget

CREDENTIALS, CLUSTER, LAB = "AWS credentials", "cluster", "lab"

_BACKEND_SECONDS = 40.0
_SLOW_SECONDS = 60.0
"""Of a question to AWS or to a cluster: a credential helper may be slow."""


def cluster_questions(workspace: Workspace) -> list[Question]:
    """Return the checks of the requirements of a spec's cluster."""
    questions = [
        Question(BACKEND, partial(_backend, workspace), _BACKEND_SECONDS + 10),
        Question("locks", partial(_locks, workspace)),
    ]
    if is_eks(workspace):
        questions.append(Question(CREDENTIALS, partial(_credentials, workspace), _SLOW_SECONDS))
    return [*questions, Question(CLUSTER, partial(_cluster, workspace), _SLOW_SECONDS)]


def _backend(workspace: Workspace) -> list[Check]:
    home = home_of(workspace)
    files = home.state_files
    if files is not None:
        return [file_backend_check(files, own=home.owns_backend)]
    binary = find_tool("pulumi")
    if binary is None:
        return [warning(BACKEND, f"{home.backend_url} was not asked: there is no engine yet", "Run this again later.")]
    with tempfile.TemporaryDirectory(prefix="mlcluster-doctor-") as private:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        environment = {**inherited, **home.environment(), "PULUMI_HOME": private}
        argv = [str(binary), "--non-interactive", "stack", "ls", "--all", "--json"]
        answer = ask(argv, _BACKEND_SECONDS, environment, private)
    return [remote_backend_check(home.backend_url, answer, _BACKEND_SECONDS)]


def _locks(workspace: Workspace) -> list[Check]:
    home = home_of(workspace)
    projects = [project_of(name) for name in PROGRAMS[workspace.plan.cluster.target]]
    held = [(project, read_locks(home, project)) for project in projects]
    checks = lock_checks(held, str(workspace.path)) if home.state_files else []
    lab = lab_of(workspace)
    if lab is not None and lock.is_held(lab.layout):
        checks.append(warning(LAB, f"another command works on it: {lock.holder(lab.layout)}", "Wait for it to end."))
    return checks


def _credentials(workspace: Workspace) -> list[Check]:
    target = workspace.spec.target
    if not isinstance(target, EksTarget):
        return []
    require_credentials(target.region, target.profile)
    account = open_account(target.region, target.profile, target.account_id)
    return [ok(CREDENTIALS, f"account {account.account_id} as {account.caller} ({account.source})")]


def _cluster(workspace: Workspace) -> list[Check]:
    lab = lab_of(workspace)
    if lab is not None:
        status = lab.status()
        if status.state not in {"running", "absent", "stopped"}:
            fix = f"Run `mlcluster up {workspace.path}` again; `mlcluster lab reset --name {lab.name}` deletes it."
            return [warning(CLUSTER, f"lab {lab.name} is {status.state}: {status.note}", fix)]
    found = kubeconfig_of(workspace)
    if found is None:
        return [ok(CLUSTER, f"there is no cluster yet; `mlcluster up {workspace.path}` creates it")]
    kubeconfig, context = found
    with Kube.from_kubeconfig(Path(kubeconfig), context) as kube:
        if lab is not None:
            refuse_lost(lab, workspace, kube.cluster_uid())
        preflight(kube, permissions=PERMISSIONS)
        owner.check_owner(kube, workspace.spec.metadata.name, home_of(workspace))
        return [ok(CLUSTER, f"{kube.access.server} answers and allows what `up` does ({kubeconfig})")]
