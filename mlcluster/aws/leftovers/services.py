"""Queues, event rules, logs, keys, and other tagged resources."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search
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
"""EC2 resource types that no finder lists. All other EC2 types are deleted with resources that finders list."""


def queues(search: Search) -> Iterator[Leftover]:
    """Yield Karpenter's interruption queue."""
    for url in search.every("sqs", "ListQueues", "QueueUrls", QueueNamePrefix=search.owner.cluster):
        why = search.owner.why(tags_of(search.account.ask("sqs", "ListQueueTags", QueueUrl=url).get("Tags")))
        if why:
            name = url.rpartition("/")[2]
            delete = search.aws("sqs", "delete-queue", "--queue-url", url)
            yield search.found("SQS queue", url, [delete], why=why, name=name, arn=search.arn("sqs", name))


def event_rules(search: Search) -> Iterator[Leftover]:
    """Yield the rules that send interruption events to the queue. Their commands remove the targets first."""
    for rule in search.every("events", "ListRules", "Rules", NamePrefix=search.owner.cluster):
        name, arn = rule["Name"], rule["Arn"]
        why = search.owner.why(
            tags_of(search.account.ask("events", "ListTagsForResource", ResourceARN=arn).get("Tags"))
        )
        if why:
            targets = [one["Id"] for one in search.every("events", "ListTargetsByRule", "Targets", Rule=name)]
            take_off = [search.aws("events", "remove-targets", "--rule", name, "--ids", *targets)] if targets else []
            delete = search.aws("events", "delete-rule", "--name", name)
            yield search.found("EventBridge rule", name, [*take_off, delete], why=why, name=name, arn=arn)


def log_groups(search: Search) -> Iterator[Leftover]:
    """Yield log groups with the cluster's name, as EKS, Container Insights and VPC flow logs name them."""
    if search.owner.namesake:
        return
    for prefix in LOG_PREFIXES:
        name = f"{prefix}{search.owner.cluster}"
        for one in search.every("logs", "DescribeLogGroups", "logGroups", logGroupNamePrefix=name):
            group = one["logGroupName"]
            if search.owner.first_named([group.removeprefix(prefix)]):
                yield search.found(
                    "log group",
                    group,
                    [search.aws("logs", "delete-log-group", "--log-group-name", group)],
                    why="name",
                    name=group,
                    arn=one.get("logGroupArn", ""),
                    hourly_usd=None if one.get("storedBytes") else prices.FREE,
                )


def keys(search: Search) -> Iterator[Leftover]:
    """Yield KMS keys with the cluster's tag. A key whose deletion is scheduled counts as kept."""
    for arn in _tagged(search, ResourceTypeFilters=["kms:key"]):
        about = search.account.ask("kms", "DescribeKey", KeyId=arn)["KeyMetadata"]
        identifier, why = about["KeyId"], f"tag {names.CLUSTER}"
        if about.get("DeletionDate"):
            search.kept.add(arn)
            why = f"AWS deletes it on {about['DeletionDate']:%Y-%m-%d}"
            yield search.found("KMS key", identifier, [], why=why, name=about.get("Description", ""), arn=arn)
            continue
        delete = search.aws("kms", "schedule-key-deletion", "--key-id", identifier, "--pending-window-in-days", "7")
        price = prices.monthly(prices.KMS_KEY)
        name = about.get("Description", "")
        yield search.found("KMS key", identifier, [delete], why=why, name=name, arn=arn, hourly_usd=price)


def others(search: Search) -> Iterator[Leftover]:
    """Yield resources with the cluster's tag that no other finder lists.

    The tagging API still returns a deleted resource for some time.
    """
    for arn in _tagged(search):
        _, _, service, _, _, resource = arn.split(":", 5)
        kind = resource.replace(":", "/").partition("/")[0]
        if service == "logs":
            name = resource.partition(":")[2].removesuffix(":*")
            if kind == "log-group" and not any(name.startswith(f"{one}{search.owner.cluster}") for one in LOG_PREFIXES):
                delete = search.aws("logs", "delete-log-group", "--log-group-name", name)
                why = f"tag {names.CLUSTER}"
                yield search.found("log group", name, [delete], why=why, name=name, arn=arn, hourly_usd=None)
        elif service not in _LISTED_HERE or (service == "ec2" and kind in _OTHER_EC2):
            why = f"tag {names.CLUSTER}; possibly deleted recently"
            label = f"{service} {kind}" if kind != resource else service
            yield search.found(label, arn, [], why=why, name=resource, arn=arn, hourly_usd=None)


def _tagged(search: Search, **more: list[str]) -> list[str]:
    filters = [{"Key": names.CLUSTER, "Values": [search.owner.cluster]}]
    found = search.every(
        "resourcegroupstaggingapi", "GetResources", "ResourceTagMappingList", TagFilters=filters, **more
    )
    return [one["ResourceARN"] for one in found]
