"""Auto Scaling groups, instances, launch templates and placement groups."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search

GONE = {"terminated", "shutting-down"}


def scaling_groups(search: Search) -> Iterator[Leftover]:
    """Yield Auto Scaling groups. They are deleted first, because they would start new instances."""
    filters = [{"Name": "tag-key", "Values": search.owner.tag_keys}]
    for group in search.every("autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups", Filters=filters):
        why = search.owner.why(tags_of(group.get("Tags")))
        if why and group.get("Status") != "Delete in progress":
            name = group["AutoScalingGroupName"]
            delete = search.aws(
                "autoscaling", "delete-auto-scaling-group", "--auto-scaling-group-name", name, "--force-delete"
            )
            yield search.found(
                "Auto Scaling group", name, [delete], why=why, name=name, arn=group["AutoScalingGroupARN"]
            )


def instances(search: Search) -> Iterator[Leftover]:
    """Yield instances, also stopped ones: their volumes cost money, and their interfaces block the subnet."""
    reservations = search.ec2_answers("DescribeInstances", "Reservations", "vpc-id")
    every = {one["InstanceId"]: one for answer in reservations for one in answer.get("Instances", [])}
    for identifier, one in every.items():
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        state = one.get("State", {}).get("Name", "")
        if why and state not in GONE:
            yield search.found(
                "instance",
                identifier,
                [
                    search.aws("ec2", "terminate-instances", "--instance-ids", identifier),
                    search.aws("ec2", "wait", "instance-terminated", "--instance-ids", identifier),
                ],
                why=why,
                tags=one.get("Tags"),
                arn=search.arn("ec2", f"instance/{identifier}"),
                zone=one.get("Placement", {}).get("AvailabilityZone", ""),
                hourly_usd=prices.instance(one["InstanceType"], state, one.get("InstanceLifecycle", "")),
            )


def launch_templates(search: Search) -> Iterator[Leftover]:
    """Yield the launch templates of mlcluster, and the copies that EKS makes of them."""
    for one in search.ec2("DescribeLaunchTemplates", "LaunchTemplates", "LaunchTemplateId", ""):
        why = search.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier, name = one["LaunchTemplateId"], one.get("LaunchTemplateName", "")
            delete = search.aws("ec2", "delete-launch-template", "--launch-template-id", identifier)
            arn = search.arn("ec2", f"launch-template/{identifier}")
            yield search.found("launch template", identifier, [delete], why=why, name=name, arn=arn)


def placement_groups(search: Search) -> Iterator[Leftover]:
    """Yield placement groups. The API deletes them by name, not by ID."""
    filters = [{"Name": "tag-key", "Values": search.owner.tag_keys}]
    answer = search.account.ask("ec2", "DescribePlacementGroups", Filters=filters)
    for one in answer.get("PlacementGroups", []):
        why = search.owner.why(tags_of(one.get("Tags")))
        if why and one.get("State") not in {"deleting", "deleted"}:
            name = one["GroupName"]
            delete = search.aws("ec2", "delete-placement-group", "--group-name", name)
            yield search.found(
                "placement group", one.get("GroupId", name), [delete], why=why, name=name, arn=one.get("GroupArn", "")
            )
