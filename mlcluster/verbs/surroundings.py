"""What `doctor` asks of everything around a spec's cluster: backend, locks, credentials, the cluster itself."""

import os
import tempfile
from functools import partial
from pathlib import Path

from mlcluster.aws.session import open_account, require_credentials
from mlcluster.checks.model import Check, Question, ok, warning
from mlcluster.checks.stacks import BACKEND, file_backend_check, lock_checks, remote_backend_check
from mlcluster.engine.locks import read_locks
from mlcluster.kube.client import Kube
from mlcluster.kube.preflight import preflight
from mlcluster.lab import lock
from mlcluster.lab.toolchain import find_tool
from mlcluster.processes import ask
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs import ownership
from mlcluster.verbs.live import PERMISSIONS, is_eks, kubeconfig_of, lab_of
from mlcluster.verbs.lost_lab import refuse_lost
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import PROJECTS, home_of

CREDENTIALS, CLUSTER, LAB = "AWS credentials", "cluster", "lab"

_BACKEND_SECONDS = 40.0
_SLOW_SECONDS = 60.0
"""Of a question to AWS or to a cluster: a credential helper may be slow."""


def cluster_questions(reading: Reading) -> list[Question]:
    """Return the questions about what the cluster of a spec needs."""
    questions = [
        Question(BACKEND, partial(_backend, reading), _BACKEND_SECONDS + 10),
        Question("locks", partial(_locks, reading)),
    ]
    if is_eks(reading):
        questions.append(Question(CREDENTIALS, partial(_credentials, reading), _SLOW_SECONDS))
    return [*questions, Question(CLUSTER, partial(_cluster, reading), _SLOW_SECONDS)]


def _backend(reading: Reading) -> list[Check]:
    home = home_of(reading)
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


def _locks(reading: Reading) -> list[Check]:
    home = home_of(reading)
    held = [(project, read_locks(home, project)) for project in PROJECTS[reading.plan.cluster.target]]
    checks = lock_checks(held, str(reading.path)) if home.state_files else []
    lab = lab_of(reading)
    if lab is not None and lock.is_held(lab.layout):
        checks.append(warning(LAB, f"another command works on it: {lock.holder(lab.layout)}", "Wait for it to end."))
    return checks


def _credentials(reading: Reading) -> list[Check]:
    target = reading.spec.target
    if not isinstance(target, EksTarget):
        return []
    require_credentials(target.region, target.profile)
    account = open_account(target.region, target.profile, target.account_id)
    return [ok(CREDENTIALS, f"account {account.account_id} as {account.caller} ({account.source})")]


def _cluster(reading: Reading) -> list[Check]:
    lab = lab_of(reading)
    if lab is not None:
        status = lab.status()
        if status.state not in {"running", "absent", "stopped"}:
            fix = f"Run `mlcluster up {reading.path}` again; `mlcluster lab reset --name {lab.name}` deletes it."
            return [warning(CLUSTER, f"lab {lab.name} is {status.state}: {status.note}", fix)]
    found = kubeconfig_of(reading)
    if found is None:
        return [ok(CLUSTER, f"there is no cluster yet; `mlcluster up {reading.path}` creates it")]
    kubeconfig, context = found
    with Kube.from_kubeconfig(Path(kubeconfig), context) as kube:
        if lab is not None:
            refuse_lost(lab, reading, kube.cluster_uid())
        preflight(kube, permissions=PERMISSIONS)
        ownership.check_owner(kube, reading.spec.metadata.name, home_of(reading))
        return [ok(CLUSTER, f"{kube.access.server} answers and allows what `up` does ({kubeconfig})")]
