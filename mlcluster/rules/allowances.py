"""The one place that applies `allow` of a spec to findings."""

from collections.abc import Iterable

from mlcluster.findings import Finding
from mlcluster.spec.cluster import ClusterSpec


def with_reasons(findings: Iterable[Finding], spec: ClusterSpec) -> tuple[Finding, ...]:
    """Return the findings without duplicates; a finding that the spec allows has the reason of the spec."""
    reasons = {allowed.id: allowed.reason for allowed in spec.allow}
    return tuple(dict.fromkeys(finding.allow(reasons.get(finding.id, "")) for finding in findings))
