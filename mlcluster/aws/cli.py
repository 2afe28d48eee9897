"""The AWS CLI on this machine: the eks component and every kubeconfig of EKS call it.

The component asks for its version whenever it is constructed, in a preview too, and refuses one that is older than
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

FIX = "Install AWS CLI 2.7 or newer (of version 1: 1.24 or newer), and put `aws` on PATH."

_SAID = re.compile(r"aws-cli/(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class AwsCli:
    """What was found.

    Attributes:
        path: the program; None when there is none on PATH.
        version: what it says of itself; None when it says nothing that is a version.
        problem: why the eks component would refuse it, as a sentence without a full stop; "" when it fits.
    """

    path: Path | None
    version: Version | None
    problem: str


def find_aws_cli(seconds: float = SECONDS_TO_ANSWER, which: Callable[[str], str | None] = shutil.which) -> AwsCli:
    """Look for `aws` on PATH and ask for its version."""
    found = which("aws")
    if found is None:
        return AwsCli(None, None, "the AWS CLI (`aws`) is not on PATH")
    answer = ask([found, "--version"], seconds)
    if answer.code is None:
        return AwsCli(Path(found), None, f"`{found} --version` did not answer within {seconds:g} s")
    if answer.code:
        said = (answer.stderr or answer.stdout).strip().rpartition("\n")[2][:200]
        return AwsCli(Path(found), None, f"`{found} --version` failed with exit code {answer.code}: {said}")
    version = parse(answer.stdout)
    if version is None:
        said = answer.stdout.strip().partition("\n")[0][:80]
        return AwsCli(Path(found), None, f"`{found} --version` printed {said!r} instead of a version")
    return AwsCli(Path(found), version, "" if fits(version) else f"{found} is the AWS CLI {spell(version)}, too old")


def parse(text: str) -> Version | None:
    """Return the version in what `aws --version` prints, such as `aws-cli/2.7.0 Python/3.9.11 Linux/6.1`."""
    found = _SAID.match(text.strip())
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def fits(version: Version) -> bool:
    """Return whether the eks component takes this version."""
    return version >= (OLDEST_V1 if version[0] == 1 else OLDEST)


def spell(version: Version) -> str:
    """Return a version with dots."""
    return ".".join(map(str, version))
