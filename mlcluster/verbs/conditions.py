"""What must be fine before anything is previewed or applied: the plan, the account, the cluster and what is in it."""

import os

from mlcluster.errors import MlclusterError
from mlcluster.findings import Finding, Severity, found
from mlcluster.report.screen import Screen
from mlcluster.verbs import cloud, ownership
from mlcluster.verbs.adoption import take_over
from mlcluster.verbs.cloud_changes import key_findings
from mlcluster.verbs.discovery import discovered, refuse, releases_of, show
from mlcluster.verbs.live import LiveCluster, is_eks, stages_of
from mlcluster.verbs.prerequisites import require
from mlcluster.verbs.reading import Reading, stop_on_errors
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.tools import Tools
from mlcluster.verbs.upgrades import component_findings, component_steps, show_steps, version_findings


def check(reading: Reading, screen: Screen) -> None:
    """Tells the warnings, and stops on an error that the spec does not allow, or on what this machine lacks."""
    tell(reading, (*reading.findings, *state_findings(reading)), screen)
    require(reading)


def ask_account(reading: Reading, screen: Screen) -> None:
    """On `eks`: the same for what the account answers; without credentials nobody is asked, and that is said."""
    if not is_eks(reading):
        return
    from mlcluster.verbs.preflight import preflight_findings

    found = preflight_findings(reading, screen.progress)
    if found is None:
        screen.say("skipped the AWS preflight: found no AWS credentials")
    else:
        tell(reading, found, screen)


def tell(reading: Reading, findings: tuple[Finding, ...], screen: Screen) -> None:
    """Warnings to the screen; an error that the spec does not allow ends the run."""
    for finding in findings:
        if finding.severity is not Severity.INFO and not finding.blocks:
            accepted = f" (allowed: {finding.allowed})" if finding.allowed else ""
            screen.say(f"{finding.severity.value} {finding.id}: {finding.message}{accepted}")
    stop_on_errors(reading, findings)


def state_findings(reading: Reading) -> tuple[Finding, ...]:
    """STA001: local files as a backend on a CI machine, where they are gone with it."""
    if reading.plan.cluster.target == "local" or not os.environ.get("CI") or not home_of(reading).owns_backend:
        return ()
    message = "the state would be kept in files of this CI machine and be gone with it"
    finding = found("STA001", ("state",), message, "set state.backend, or MLCLUSTER_BACKEND_URL")
    reasons = {allowed.id: allowed.reason for allowed in reading.spec.allow}
    return (finding.allow(reasons.get("STA001", "")),)


def ready(
    reading: Reading, live: LiveCluster | None, tools: Tools, screen: Screen, *, adopt: bool = False
) -> list[Stage]:
    """The stacks, after the checks that nothing may go on without.

    Args:
        adopt: add managed objects that the state misses to it; a preview must not, and stops at them.

    Raises:
        MlclusterError: the lab does not run, the cluster is not ours, or a finding about it is not allowed.
    """
    if live is None and not is_eks(reading):
        raise MlclusterError(
            "opening the cluster", "the lab does not run", f"Run `mlcluster up {home_of(reading).spec}`."
        )
    if live is not None:
        ownership.check_owner(live.kube, reading.spec.metadata.name, home_of(reading))
    stages = stages_of(reading, live, tools.pulumi, screen.progress)
    if is_eks(reading):
        tell(reading, version_findings(reading, cloud.outputs_of(stages[0]), live), screen)
        tell(reading, key_findings(reading, stages[0]), screen)
    if live is not None:
        take_over(reading.plan, live, stages, screen.progress, write=adopt)
        _look_around(reading, live, stages, screen)
    return stages


def _look_around(reading: Reading, live: LiveCluster, stages: list[Stage], screen: Screen) -> None:
    """What is in the cluster already, and what changes its version: shown, and refused where it must be."""
    deployed = releases_of(stages)
    already = discovered(reading, live.kube, deployed)
    changing = component_steps(reading, deployed, already)
    show(reading, already, screen)
    show_steps(changing, screen)
    findings = (*already.findings, *component_findings(reading, changing, already))
    tell(reading, tuple(finding for finding in findings if not finding.blocks), screen)
    refuse(findings, screen)
