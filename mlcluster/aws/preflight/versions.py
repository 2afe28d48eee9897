"""Check that AWS offers the Kubernetes version, the images and the add-ons of the plan."""

import json
from collections.abc import Iterator
from typing import Any

from mlcluster.aws.errors import AwsError
from mlcluster.aws.preflight.facts import Facts, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding
from mlcluster.plan.eks.images import ami_release, ami_type_of

_UNSUPPORTED, _EXTENDED = "UNSUPPORTED", "EXTENDED_SUPPORT"
_HERE = ("target", "kubernetesVersion")


def kubernetes_version(facts: Facts) -> Outcome:
    """Check AWS002: EKS offers the Kubernetes version in the support that `target.upgradePolicy` selects."""
    wanted = facts.target.kubernetes_version
    listed = facts.account.ask_all("eks", "DescribeClusterVersions", "clusterVersions", includeAll=True)
    offered = {entry["clusterVersion"]: entry for entry in listed if _status(entry) != _UNSUPPORTED}
    names = sorted(offered, key=lambda minor: int(minor.partition(".")[2]))
    if wanted not in offered:
        message = f"EKS offers {joined(names)} in {facts.account.region}, not {wanted}"
        return Outcome(f"{wanted} is not offered", (finding("AWS002", _HERE, message, f"Use {joined(names[-3:])}."),))
    entry = offered[wanted]
    ends = entry.get("endOfStandardSupportDate")
    told = f"{wanted} is in {_status(entry).lower().replace('_', ' ')}" + (
        f", standard until {ends:%Y-%m-%d}" if ends else ""
    )
    if _status(entry) == _EXTENDED and facts.target.upgrade_policy == "standard" and not facts.exists_already:
        message = f"{told}; a new cluster with upgradePolicy standard cannot use it"
        hint = f"Use {joined(names[-3:])}, or set `target.upgradePolicy: extended`, which costs more."
        return Outcome(told, (finding("AWS002", _HERE, message, hint),))
    return Outcome(told)


def _status(entry: dict[str, Any]) -> str:
    """Return `versionStatus`, or the older `status` in the newer spelling."""
    return str(entry.get("versionStatus") or entry.get("status", "")).upper().replace("-", "_")


def addons(facts: Facts) -> Outcome:
    """Check AWS008: EKS offers the pinned add-on versions for this Kubernetes version."""
    pinned = {entry.inputs["addonName"]: entry for entry in facts.resources("Addon")}
    if not pinned:
        return Outcome("the plan has no EKS add-ons", needed=False)
    version = facts.target.kubernetes_version
    listed = facts.account.ask_all("eks", "DescribeAddonVersions", "addons", kubernetesVersion=version)
    offered = {entry["addonName"]: [one["addonVersion"] for one in entry["addonVersions"]] for entry in listed}
    problems = []
    for name, entry in pinned.items():
        wanted, there = str(entry.inputs.get("addonVersion", "")), offered.get(name, [])
        if wanted and wanted in there:
            continue
        message = f"add-on {name} {wanted} is not offered for Kubernetes {version}"
        newest = f"; EKS offers {joined(there[:3])}" if there else "; EKS offers no version of it"
        problems.append(finding("AWS008", _HERE, message + newest, "Upgrade mlcluster to a version with newer pins."))
    count = f"{len(pinned)} add-on" + ("s" if len(pinned) > 1 else "")
    return Outcome(f"checked {count}: {joined(pinned)}", tuple(problems))


def images(facts: Facts) -> Outcome:
    """Check AWS008: AWS publishes the pinned image releases in this region."""
    asked: dict[str, tuple[str, list[int]]] = {}
    for ami_type, release, index in _releases(facts):
        parameter = image_parameter(ami_type, facts.target.kubernetes_version, release)
        asked.setdefault(parameter, (f"{ami_type} {release}", []))[1].append(index)
    if not asked:
        return Outcome("the plan pins no image release", needed=False)
    results = [(label, pools, parameter, _image(facts, parameter)) for parameter, (label, pools) in asked.items()]
    problems = tuple(
        problem
        for label, pools, parameter, image in results
        if image is None
        for problem in _unpublished(facts, label, parameter, pools)
    )
    return Outcome("; ".join(f"{label}: {image or 'not published'}" for label, _, _, image in results), problems)


def _unpublished(facts: Facts, label: str, parameter: str, pools: list[int]) -> Iterator[Finding]:
    for index in pools:
        yield finding(
            "AWS008",
            ("nodePools", index, "ami"),
            f"{label} is not published in {facts.account.region} (no SSM parameter {parameter})",
            "Set `nodePools[].ami.release` to a published release, or upgrade mlcluster.",
        )


def _releases(facts: Facts) -> Iterator[tuple[str, str, int]]:
    """Yield AMI type, release and index of every pool whose image the plan pins."""
    groups = {entry.pool: entry.inputs for entry in facts.resources("NodeGroup")}
    for index, pool in enumerate(facts.pools):
        inputs = groups.get(pool.name)
        if inputs and inputs.get("amiType") and inputs.get("releaseVersion"):
            yield str(inputs["amiType"]), str(inputs["releaseVersion"]), index
        elif not inputs and facts.context.spec_pool(pool).ami.family != "al2":
            yield from _provisioned(facts, index)


def _provisioned(facts: Facts, index: int) -> Iterator[tuple[str, str, int]]:
    """Yield the image of a pool that Karpenter provisions: the release of the spec, else of the catalog."""
    pool = facts.pools[index]
    release = ami_release(facts.context, pool)
    if release:
        yield ami_type_of(facts.context, pool), release, index


def image_parameter(ami_type: str, minor: str, release: str) -> str:
    """Return the public SSM parameter of an EKS image release.

    Karpenter requests the same names (aws/karpenter-provider-aws v1.14.1, pkg/providers/amifamily).

    Args:
        ami_type: e.g. AL2023_x86_64_NVIDIA, BOTTLEROCKET_ARM_64.
        minor: Kubernetes version, e.g. "1.34".
        release: "1.34.1-20260728" for AL2023, "1.49.0-0a1b2c3d" or "1.49.0" for Bottlerocket.
    """
    family, _, rest = ami_type.partition("_")
    arch = "arm64" if rest.startswith("ARM_64") else "x86_64"
    variant = rest.removeprefix("ARM_64").removeprefix("x86_64").strip("_").lower()
    if family == "BOTTLEROCKET":
        suffix = f"-{variant}" if variant else ""
        return f"/aws/service/bottlerocket/aws-k8s-{minor}{suffix}/{arch}/{release.removeprefix('v')}/image_id"
    date = release.rpartition("-")[2].removeprefix("v")
    name = f"amazon-eks-node-al2023-{arch}-{variant}-{minor}-v{date}"
    return f"/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{arch}/{variant}/{name}/image_id"


def _image(facts: Facts, parameter: str) -> str | None:
    """Return the image ID, or None if AWS has no such parameter."""
    try:
        value = str(facts.account.ask("ssm", "GetParameter", Name=parameter)["Parameter"]["Value"])
    except AwsError as error:
        if error.code in {"ParameterNotFound", "ParameterVersionNotFound"}:
            return None
        raise
    return str(json.loads(value)["image_id"]) if value.startswith("{") else value
