"""The checks of an AWS account that run before `up` creates resources, and find what would make it fail later."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import datetime

from mlcluster.aws.errors import AwsError, CredentialsError, NotAllowedError
from mlcluster.aws.preflight.checks import CHECKS, PERMISSIONS, Check
from mlcluster.aws.preflight.facts import Facts
from mlcluster.aws.preflight.report import Outcome, Report, Result, Status
from mlcluster.aws.session import Account
from mlcluster.findings import finding
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress, Silent
from mlcluster.rules.allowances import with_reasons
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget

__all__ = ["CHECKS", "PERMISSIONS", "Check", "Outcome", "Report", "Result", "Status", "check"]

WORKERS = 6


def check(account: Account, spec: ClusterSpec, plan: Plan, now: datetime, progress: Progress | None = None) -> Report:
    """Run every check, several in parallel. A check whose request AWS rejects is unknown, and the others still run.

    Args:
        account: from `open_account`, without an expected account, because a wrong account is a finding here.
        spec, plan: of an `eks` target.
        now: the time, with a time zone.

    Raises:
        CredentialsError: AWS no longer accepts the credentials.
        TypeError: the spec has another target.
    """
    if not isinstance(spec.target, EksTarget):
        raise TypeError(f"a {spec.target.kind} target has no AWS account")
    facts = Facts(account, spec, spec.target, plan, now, EksContext(spec, spec.target, plan.pools))
    results: dict[str, Result] = {}
    title = f"checking AWS account {account.account_id} in {account.region}"
    with (progress or Silent()).task(title) as task, ThreadPoolExecutor(WORKERS, "preflight") as pool:
        running = {pool.submit(_run, one, facts): one for one in CHECKS}
        for done, future in enumerate(as_completed(running), 1):
            try:
                results[running[future].name] = future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            task.update(running[future].name, done=done, total=len(CHECKS))
    ordered = tuple(_allowed(results[one.name], spec) for one in CHECKS)
    return Report(account.account_id, account.region, account.caller, str(account.source), ordered)


def _run(one: Check, facts: Facts) -> Result:
    try:
        outcome = one.run(facts)
    except CredentialsError:
        raise
    except AwsError as error:
        return _unknown(one, error)
    status = Status.FOUND if outcome.findings else Status.FINE if outcome.needed else Status.NOT_NEEDED
    return Result(one.name, status, one.asks, outcome.evidence, outcome.findings)


def _allowed(result: Result, spec: ClusterSpec) -> Result:
    """Return the result with the reasons from `allow` in the spec."""
    return replace(result, findings=with_reasons(result.findings, spec))


def _unknown(one: Check, error: AwsError) -> Result:
    if isinstance(error, NotAllowedError):
        evidence = f"AWS denied {error.permission} ({error.code})"
        message = f"{one.name}: unknown, because the permission {error.permission} is missing"
    else:
        evidence = error.happened
        message = f"{one.name}: unknown, because {error.doing} failed: {error.happened}"
    return Result(one.name, Status.UNKNOWN, one.asks, evidence, (finding("AWS011", ("target",), message, error.hint),))
