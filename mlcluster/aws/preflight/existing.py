"""Check that the keys and roles that the spec names exist."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.preflight.facts import Facts, Place, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.aws.refusals import AwsError
from mlcluster.findings import Finding, finding

_SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def secrets_key(facts: Facts) -> Outcome:
    """AWS007: a KMS key that is not there, not enabled, or not of a kind that can encrypt Kubernetes secrets."""
    key = facts.target.secrets_key
    if key is None:
        return Outcome("the plan makes its own key", needed=False)
    place: Place = ("target", "secretsKey")
    region = key.split(":")[3]
    if region != facts.account.region:
        message = f"the key is in {region}, the cluster in {facts.account.region}"
        return Outcome(message, (finding("AWS007", place, message, "EKS takes a key of the cluster's own region"),))
    try:
        entry = facts.account.ask("kms", "DescribeKey", KeyId=key)["KeyMetadata"]
    except AwsError as error:
        if error.code != "NotFoundException":
            raise
        message = f"the key {key} is not there"
        return Outcome(
            message, (finding("AWS007", place, message, "correct the ARN, or leave it out: mlcluster makes one"),)
        )
    spec, usage = entry.get("KeySpec", "SYMMETRIC_DEFAULT"), entry.get("KeyUsage", "ENCRYPT_DECRYPT")
    told = f"{entry['KeyId']}: {entry['KeyState']}, {spec}, {usage}"
    problems = []
    if entry["KeyState"] != "Enabled":
        problems.append(finding("AWS007", place, f"the key is {entry['KeyState']}", "enable it, or name another one"))
    if (spec, usage) != ("SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"):
        message = f"the key is {spec} for {usage}; EKS takes a symmetric one that encrypts and decrypts"
        problems.append(finding("AWS007", place, message, "name another key, or leave it out: mlcluster makes one"))
    return Outcome(told, tuple(problems))


def principals(facts: Facts) -> Outcome:
    """AWS007: a role or user of an access entry that is not there; EKS takes such an entry and it never works."""
    named = dict(_named(facts))
    if not named:
        return Outcome("the spec names no roles or users", needed=False)
    own = {arn: place for arn, place in named.items() if arn.split(":")[4] == facts.account.account_id}
    problems = [problem for arn, place in own.items() if (problem := _principal(facts, arn, place)) is not None]
    foreign = len(named) - len(own)
    told = f"{len(own) - len(problems)} of {len(own)} are there"
    more = f"; {foreign} of other accounts were not asked for" if foreign else ""
    return Outcome(told + more, tuple(problems))


def _named(facts: Facts) -> Iterator[tuple[str, Place]]:
    access = facts.target.access
    for field, arns in (("admins", access.admins), ("viewers", access.viewers)):
        yield from ((arn, ("target", "access", field, index)) for index, arn in enumerate(arns))
    if access.ci:
        yield access.ci, ("target", "access", "ci")
    for number, team in enumerate(facts.spec.teams):
        members = (("admin", team.members.admin), ("edit", team.members.edit), ("view", team.members.view))
        for role, who in members:
            for index, arn in enumerate(who.aws_roles):
                yield arn, ("teams", number, "members", role, "awsRoles", index)


def _principal(facts: Facts, arn: str, place: Place) -> Finding | None:
    kind, _, path = arn.split(":", 5)[5].partition("/")
    name = path.rpartition("/")[2]
    there = _entity(facts, kind, name)
    if there is None:
        return finding("AWS007", place, f"the {kind} {arn} is not there", "correct the ARN, or make it first")
    if there["Arn"] != arn:
        return finding("AWS007", place, f"the {kind} {name} is {there['Arn']}, not {arn}", f"write {there['Arn']}")
    return None


def _entity(facts: Facts, kind: str, name: str) -> dict[str, Any] | None:
    try:
        if kind == "user":
            user: dict[str, Any] = facts.account.ask("iam", "GetUser", UserName=name)["User"]
            return user
        role: dict[str, Any] = facts.account.ask("iam", "GetRole", RoleName=name)["Role"]
    except AwsError as error:
        if error.code in {"NoSuchEntity", "NoSuchEntityException"}:
            return None
        raise
    return role


def service_roles(facts: Facts) -> Outcome:
    """AWS007: Karpenter starts spot instances only where the service-linked role of spot is there.

    The other roles (EKS, its node groups, Auto Scaling) AWS makes itself with the first cluster of an account, when
    the caller may iam:CreateServiceLinkedRole.
    """
    roles = ["AWSServiceRoleForAmazonEKS", "AWSServiceRoleForAmazonEKSNodegroup", "AWSServiceRoleForAutoScaling"]
    spot = any(pool.capacity_type == "spot" for pool in facts.context.provisioned)
    roles += [_SPOT_ROLE] if spot else []
    missing = [name for name in roles if _entity(facts, "role", name) is None]
    problems = (
        finding(
            "AWS007",
            ("target", "autoscaler"),
            f"the account has no {_SPOT_ROLE}: Karpenter cannot start spot instances",
            "once for the account: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
        ),
    )
    later = [name for name in missing if name != _SPOT_ROLE]
    told = f"{len(roles) - len(missing)} of {len(roles)} are there"
    more = f"; AWS makes {joined(later)} with the cluster (needs iam:CreateServiceLinkedRole)" if later else ""
    return Outcome(told + more, problems if _SPOT_ROLE in missing else ())
