"""Check that the keys and roles that the spec names exist."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.errors import AwsError
from mlcluster.aws.preflight.facts import Facts, Place, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding

_SPOT_ROLE = "AWSServiceRoleForEC2Spot"


def secrets_key(facts: Facts) -> Outcome:
    """Check AWS007: the KMS key exists, is enabled, and can encrypt Kubernetes secrets."""
    key = facts.target.secrets_key
    if key is None:
        return Outcome("the plan creates its own key", needed=False)
    place: Place = ("target", "secretsKey")
    region = key.split(":")[3]
    if region != facts.account.region:
        message = f"the key is in {region}, the cluster in {facts.account.region}"
        hint = f"Use a key in {facts.account.region}: EKS accepts only keys in the cluster's region."
        return Outcome(message, (finding("AWS007", place, message, hint),))
    try:
        entry = facts.account.ask("kms", "DescribeKey", KeyId=key)["KeyMetadata"]
    except AwsError as error:
        if error.code != "NotFoundException":
            raise
        message = f"the key {key} does not exist"
        hint = "Correct the ARN, or omit it: mlcluster then creates a key."
        return Outcome(message, (finding("AWS007", place, message, hint),))
    spec, usage = entry.get("KeySpec", "SYMMETRIC_DEFAULT"), entry.get("KeyUsage", "ENCRYPT_DECRYPT")
    evidence = f"{entry['KeyId']}: {entry['KeyState']}, {spec}, {usage}"
    problems = []
    if entry["KeyState"] != "Enabled":
        problems.append(finding("AWS007", place, f"the key is {entry['KeyState']}", "Enable it, or use another key."))
    if (spec, usage) != ("SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"):
        message = f"the key is {spec} for {usage}; EKS requires a symmetric key that encrypts and decrypts"
        hint = "Use another key, or omit it: mlcluster then creates a key."
        problems.append(finding("AWS007", place, message, hint))
    return Outcome(evidence, tuple(problems))


def principals(facts: Facts) -> Outcome:
    """Check AWS007: the roles and users of access entries exist. EKS accepts other entries, but they have no effect."""
    named = dict(_named(facts))
    if not named:
        return Outcome("the spec names no roles or users", needed=False)
    own = {arn: place for arn, place in named.items() if arn.split(":")[4] == facts.account.account_id}
    problems = [problem for arn, place in own.items() if (problem := _principal(facts, arn, place)) is not None]
    foreign = len(named) - len(own)
    existing = f"{len(own) - len(problems)} of {len(own)} exist"
    more = f"; {foreign} in other accounts not checked" if foreign else ""
    return Outcome(existing + more, tuple(problems))


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
        hint = f"Correct the ARN, or create the {kind} first."
        return finding("AWS007", place, f"the {kind} {arn} does not exist", hint)
    if there["Arn"] != arn:
        return finding("AWS007", place, f"the {kind} {name} is {there['Arn']}, not {arn}", f"Write `{there['Arn']}`.")
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
    """Check AWS007: the service-linked role of EC2 Spot exists if Karpenter starts spot instances.

    AWS creates the other roles (EKS, its node groups, Auto Scaling) with the first cluster of an account, if the
    caller has iam:CreateServiceLinkedRole.
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
            "Run `aws iam create-service-linked-role --aws-service-name spot.amazonaws.com`, once per account.",
        ),
    )
    later = [name for name in missing if name != _SPOT_ROLE]
    existing = f"{len(roles) - len(missing)} of {len(roles)} exist"
    more = f"; AWS creates {joined(later)} with the cluster (requires iam:CreateServiceLinkedRole)" if later else ""
    return Outcome(existing + more, problems if _SPOT_ROLE in missing else ())
