"""The AWS CLI on this machine, which the eks component and every EKS kubeconfig call.

The component reads its version whenever it is constructed, also in a preview, and refuses a version older than
`OLDEST` (pulumi-eks v4.3.0, nodejs/eks/dependencies.ts, `assertCompatibleAWSCLIExists`).
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlcluster.processes import ask

Version = tuple[int, int, int]

OLDEST_V1: Version = (1, 24, 0)
OLDEST: Version = (2, 7, 0)
SECONDS_TO_ANSWER = 30.0
"""A cold start of AWS CLI 2 on a slow disk takes several seconds."""

FIX = "Install AWS CLI 2.7 or newer (or 1.24 or newer of version 1), and put `aws` on PATH."

_VERSION = re.compile(r"aws-cli/(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class AwsCli:
    """The AWS CLI that PATH contains.

    Attributes:
        path: the program; None if PATH contains none.
        version: the version that it prints; None if it prints no version.
        problem: why the eks component would refuse it, as a sentence without a full stop; "" if it is compatible.
    """

    path: Path | None
    version: Version | None
    problem: str


def find_aws_cli(seconds: float = SECONDS_TO_ANSWER, which: Callable[[str], str | None] = shutil.which) -> AwsCli:
    """Find `aws` on PATH and read its version."""
    found = which("aws")
    if found is None:
        return AwsCli(None, None, "the AWS CLI (`aws`) is not on PATH")
    answer = ask([found, "--version"], seconds)
    if answer.code is None:
        return AwsCli(Path(found), None, f"`{found} --version` did not finish within {seconds:g} s")
    if answer.code:
        output = (answer.stderr or answer.stdout).strip().rpartition("\n")[2][:200]
        return AwsCli(Path(found), None, f"`{found} --version` failed with exit code {answer.code}: {output}")
    version = parse(answer.stdout)
    if version is None:
        output = answer.stdout.strip().partition("\n")[0][:80]
        return AwsCli(Path(found), None, f"`{found} --version` printed {output!r} instead of a version")
    problem = "" if fits(version) else f"{found} is AWS CLI {spell(version)}, which is too old"
    return AwsCli(Path(found), version, problem)


def parse(text: str) -> Version | None:
    """Return the version in the output of `aws --version`, such as `aws-cli/2.7.0 Python/3.9.11 Linux/6.1`."""
    found = _VERSION.match(text.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def fits(version: Version) -> bool:
    """Return whether the eks component accepts this version."""
    return version >= (OLDEST_V1 if version[0] == 1 else OLDEST)


def spell(version: Version) -> str:
    """Return a version with dots."""
    return ".".join(map(str, version))
