"""Queues, event rules, logs, keys, and other tagged resources."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover
from mlcluster.plan import names

LOG_PREFIXES = ("/aws/eks/", "/aws/containerinsights/", "/aws/vpc/", "/aws/vpc-flow-logs/")
_LISTED_HERE = {
    "autoscaling",
    "ec2",
    "eks",
    "elasticfilesystem",
    "elasticloadbalancing",
    "events",
    "fsx",
    "iam",
    "kms",
    "logs",
    "sqs",
}
_OTHER_EC2 = {
    "capacity-reservation",
    "dhcp-options",
    "egress-only-internet-gateway",
    "fleet",
    "image",
    "ipam",
    "key-pair",
    "prefix-list",
    "spot-fleet-request",
    "transit-gateway-attachment",
    "vpc-peering-connection",
    "vpn-gateway",
}
"""Kinds of EC2 that no finder looks for; the others of EC2 go with what finders find."""


def queues(look: Look) -> Iterator[Leftover]:
    """Karpenter's interruption queue."""
    for url in look.every("sqs", "ListQueues", "QueueUrls", QueueNamePrefix=look.owner.cluster):
        why = look.owner.why(tags_of(look.account.ask("sqs", "ListQueueTags", QueueUrl=url).get("Tags")))
        if why:
            name = url.rpartition("/")[2]
            delete = look.aws("sqs", "delete-queue", "--queue-url", url)
            yield look.found("SQS queue", url, [delete], why=why, name=name, arn=look.arn("sqs", name))


def event_rules(look: Look) -> Iterator[Leftover]:
    """What tells the queue of interruptions; their targets first."""
    for rule in look.every("events", "ListRules", "Rules", NamePrefix=look.owner.cluster):
        name, arn = rule["Name"], rule["Arn"]
        why = look.owner.why(tags_of(look.account.ask("events", "ListTagsForResource", ResourceARN=arn).get("Tags")))
        if why:
            targets = [one["Id"] for one in look.every("events", "ListTargetsByRule", "Targets", Rule=name)]
            take_off = [look.aws("events", "remove-targets", "--rule", name, "--ids", *targets)] if targets else []
            delete = look.aws("events", "delete-rule", "--name", name)
            yield look.found("EventBridge rule", name, [*take_off, delete], why=why, name=name, arn=arn)


def log_groups(look: Look) -> Iterator[Leftover]:
    """Groups named after the cluster, as EKS, Container Insights and VPC flow logs name them."""
    if look.owner.namesake:
        return
    for prefix in LOG_PREFIXES:
        name = f"{prefix}{look.owner.cluster}"
        for one in look.every("logs", "DescribeLogGroups", "logGroups", logGroupNamePrefix=name):
            group = one["logGroupName"]
            if look.owner.first_named([group.removeprefix(prefix)]):
                yield look.found(
                    "log group",
                    group,
                    [look.aws("logs", "delete-log-group", "--log-group-name", group)],
                    why="name",
                    name=group,
                    arn=one.get("logGroupArn", ""),
                    hourly_usd=None if one.get("storedBytes") else prices.FREE,
                )


def keys(look: Look) -> Iterator[Leftover]:
    """KMS keys with our tag; one that AWS deletes on a date is no leftover any more."""
    for arn in _tagged(look, ResourceTypeFilters=["kms:key"]):
        about = look.account.ask("kms", "DescribeKey", KeyId=arn)["KeyMetadata"]
        identifier, why = about["KeyId"], f"tag {names.CLUSTER}"
        if about.get("DeletionDate"):
            look.kept.add(arn)
            why = f"AWS deletes it on {about['DeletionDate']:%Y-%m-%d}"
            yield look.found("KMS key", identifier, [], why=why, name=about.get("Description", ""), arn=arn)
            continue
        delete = look.aws("kms", "schedule-key-deletion", "--key-id", identifier, "--pending-window-in-days", "7")
        price = prices.monthly(prices.KMS_KEY)
        name = about.get("Description", "")
        yield look.found("KMS key", identifier, [delete], why=why, name=name, arn=arn, hourly_usd=price)


def others(look: Look) -> Iterator[Leftover]:
    """What carries our tag and no other finder looks for; the tagging API forgets deleted things with a delay."""
    for arn in _tagged(look):
        _, _, service, _, _, resource = arn.split(":", 5)
        kind = resource.replace(":", "/").partition("/")[0]
        if service == "logs":
            name = resource.partition(":")[2].removesuffix(":*")
            if kind == "log-group" and not any(name.startswith(f"{one}{look.owner.cluster}") for one in LOG_PREFIXES):
                delete = look.aws("logs", "delete-log-group", "--log-group-name", name)
                why = f"tag {names.CLUSTER}"
                yield look.found("log group", name, [delete], why=why, name=name, arn=arn, hourly_usd=None)
        elif service not in _LISTED_HERE or (service == "ec2" and kind in _OTHER_EC2):
            why = f"tag {names.CLUSTER}; perhaps deleted a short while ago"
            told = f"{service} {kind}" if kind != resource else service
            yield look.found(told, arn, [], why=why, name=resource, arn=arn, hourly_usd=None)


def _tagged(look: Look, **more: list[str]) -> list[str]:
    filters = [{"Key": names.CLUSTER, "Values": [look.owner.cluster]}]
    found = look.every("resourcegroupstaggingapi", "GetResources", "ResourceTagMappingList", TagFilters=filters, **more)
    return [one["ResourceARN"] for one in found]
